"""Problems that `process validate` finds without Spark."""

from pathlib import Path

import pytest

from bridge.process.validation import read_valid_definition
from connectors.errors import ConfigError

HEAD = """\
process: {name: p}
params: {day: {type: date}}
inputs:
  - {dataset: raw, as: raw, format: csv, pin: live, columns: {id: int, amount: double}}
  - {dataset: orders, as: orders, columns: {id: int}}
steps:
"""
VALID = (
    HEAD
    + """\
  - {name: made, sql: "SELECT id, amount, :day AS day FROM raw"}
outputs:
  - {dataset: o, from: made, partition_by: [day]}
quality:
  - {on: o, check: not_null, column: ID}
"""
)
PROBLEMS = {
    "SQL syntax": (("FROM raw", "FRM raw"), "7: steps.made: line 1, column"),
    "unknown view": (("FROM raw", "FROM rwa"), "7: steps.made: reads unknown view rwa; did you mean raw?"),
    "undeclared parameter": ((":day", ":dya"), "7: steps.made: uses undeclared parameter :dya; declared: day"),
    "missing column": (("SELECT id, amount", "SELECT id, amout"), "7: steps.made: line 1, column 12"),
    "check on missing column": (("column: ID", "column: amout"), "11: quality.0: o has no column amout; did you mean amount?"),
    "referenced column": (("not_null, column: ID", "referential, column: id, references: raw.key"),
                          "11: quality.0: raw has no column key; columns: id, amount"),
    "SQL of a check": (("not_null, column: ID", "sql, sql: 'SELECT :x', expected: 1"),
                       "11: quality.0: uses undeclared parameter :x; declared: day"),
    "unknown view of a check": (("not_null, column: ID", "sql, sql: 'SELECT count(*) FROM ordrs', expected: 1"),
                                "11: quality.0: reads unknown view ordrs; did you mean orders?"),
    "input in place of an output": (("o, from: made, partition_by: [day]}\nquality:\n  - {on: o, check: not_null, column: ID",
                                     "raw, from: made}\nquality:\n  - {on: raw, check: sql, sql: 'SELECT 1 FROM raw_nwe', expected: 1"),
                                    "11: quality.0: reads unknown view raw_nwe; did you mean raw_new?"),
    "partition column": (("[day]", "[month]"), "9: outputs.0: made has no column month; did you mean amount?"),
    "unknown check": (("not_null", "notnull"),
                      ("11: quality.0.check: Input should be 'not_null', 'unique', 'accepted_values', 'range', 'row_count', "
                       "'freshness', 'referential' or 'sql' (got 'notnull'); did you mean not_null?")),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_problem_is_reported_with_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in VALID
    file = tmp_path / "p.yaml"
    file.write_text(VALID.replace(*change), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        read_valid_definition(file)
    assert str(error.value).startswith(f"{file}:{message}")


@pytest.mark.parametrize(
    "steps",
    [
        '  - {name: made, sql: "SELECT id, amount, day FROM orders"}\n',
        '  - {name: made, sql: "WITH x AS (SELECT id FROM raw) SELECT x.id, o.amount, :day AS day FROM x JOIN orders o"}\n',
    ],
    ids=["declared columns of a version may be a subset", "common table expression"],
)
def test_valid_file_has_no_problems(tmp_path: Path, steps: str) -> None:
    file = tmp_path / "p.yaml"
    _, _, rest = VALID.partition('FROM raw"}\n')
    file.write_text(HEAD + steps + rest, encoding="utf-8")
    assert read_valid_definition(file).process.name == "p"


READABLE = {
    "input, step and output": (VALID, "SELECT count(*) FROM raw, made, O"),
    "common table expression": (VALID, "WITH x AS (SELECT 1) SELECT * FROM x"),
    "catalog table": (VALID, "SELECT count(*) FROM db.rates"),
    "last part of a dataset name": (VALID.replace("o, from", "lake/o-1, from").replace("on: o", "on: lake/o-1"),
                                    "SELECT count(*) FROM o_1"),
    "output named by a parameter": (VALID.replace("o, from", "'o_{day}', from").replace("on: o", "on: 'o_{day}'"),
                                    "SELECT count(*) FROM o_20260101"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "sql"), READABLE.values(), ids=READABLE)
def test_check_can_read_views_and_outputs(tmp_path: Path, text: str, sql: str) -> None:
    file = tmp_path / "p.yaml"
    check = f"sql, sql: '{sql}', expected: 1"
    file.write_text(text.replace("not_null, column: ID", check), encoding="utf-8")
    assert read_valid_definition(file).quality[0].sql == sql
