"""Datasets in job definitions: flows, names, and datasets that cannot be resolved."""

import json
import logging

import pytest

from mappers.legacy.jil.dataset_scanner import find_datasets
from mappers.legacy.jil.job_events import ScanOptions, build_job_event
from mappers.legacy.jil.lint import unsupported_definitions
from mappers.sql.table_lineage import script_tables
from tests.mappers.legacy.jil.test_job_catalog import build_catalog, build_job

SQL = "job_type: SQL\nconnect_string: jdbc:mysql://h/\nsql_command: "
FLOWS = {
    "two copies": ("command: cp /a /x && mv /b /y", {"/x": {"/a"}, "/y": {"/b"}}),
    "two copies in a shell": ("command: ksh -c 'cp /a /x; cp /b /y'", {"/x": {"/a"}, "/y": {"/b"}}),
    "several into a folder": ("command: cp /a/1 /b/2 /d", {"/d/1": {"/a/1"}, "/d/2": {"/b/2"}}),
    "into a folder of an option": ("command: cp -pt /d /a/1 /b/2", {"/d/1": {"/a/1"}, "/d/2": {"/b/2"}}),
    "into a folder of a long option": ("command: mv --target-directory=/d /a/1", {"/d/1": {"/a/1"}}),
    "one into a folder": ("command: cp /a/1.csv /d/", {"/d/1.csv": {"/a/1.csv"}}),
    "with a wildcard": ("command: cp /a/*.csv /d/", {"/d": set()}),
    "contents of a folder": ("command: rsync -a /a/ /d/", {"/d": {"/a"}}),
    "installed": ("command: install -m 644 -o root /a/1 /d/2", {"/d/2": {"/a/1"}}),
    "sorted": ("command: sort -k 2 -o /y < /a", {"/y": {"/a"}}),
    "a pipe": ("command: x --input /a | tee /y", {"/y": {"/a"}}),
    "a pipe, and another": ("command: x --input /a | y > /x && z --input /b > /y", {"/x": {"/a"}, "/y": {"/b"}}),
    "only the last of a list writes there": ("command: x --input /a && y --input /b > /y", {"/y": {"/b"}}),
    "all commands of a group write there": ("command: (x --input /a; y --input /b) > /y", {"/y": {"/a", "/b"}}),
    "standard input of one command": ("std_in_file: /a\ncommand: cd /; x --output /y", {"/y": {"/a"}}),
    "standard input of two commands": ("std_in_file: /a\ncommand: x; y --output /y", {"/y": set()}),
    "standard input of a copy": ("std_in_file: /a\ncommand: cp /b /y", {"/y": {"/b"}}),
    "standard output": ("std_out_file: /y.csv\ncommand: ksh -c 'x --input /a'", {"/y.csv": {"/a"}}),
    "two statements": (SQL + "insert into y select * from a; insert into z select * from b", {"y": {"a"}, "z": {"b"}}),
    "emptied and loaded": (SQL + "truncate table y; insert into y select * from a", {"y": {"a"}}),
    "emptied": (SQL + "truncate table y", {"y": set()}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FLOWS.values(), ids=FLOWS)
def test_outputs_are_derived_from_the_inputs_of_their_flow(text: str, expected: dict[str, set[str]]) -> None:
    entries = json.loads(build_job_event(build_job(text), (), ScanOptions("PRD", "2026-01-01T00:00:00Z")))["job"][
        "facets"
    ]["lineage"]
    sources_by_output = {
        entry["name"]: {source["name"] for source in entry["inputs"] if source["type"] == "DATASET"}
        for entry in entries["entries"]
        if entry["type"] == "DATASET"
    }
    assert sources_by_output == expected


TABLES: dict[str, list[tuple[set[str], set[str]]]] = {
    "TRUNCATE TABLE s.t": [(set(), {"s.t"})],
    "truncate table s.t immediate": [(set(), {"s.t"})],
    "TRUNCATE TABLE s.t; INSERT INTO s.t SELECT * FROM a": [(set(), {"s.t"}), ({"a"}, {"s.t"})],
    "DROP TABLE s.q": [],
    "DROP TABLE s.q; CREATE TABLE s.q AS SELECT * FROM a": [({"a"}, {"s.q"})],
    "DELETE FROM s.t": [(set(), {"s.t"})],
    "DELETE FROM s.t WHERE i IN (SELECT i FROM a)": [({"a"}, {"s.t"})],
    "ALTER TABLE s.t ADD c int; GRANT SELECT ON s.t TO u; COMMENT ON TABLE s.t IS 'x'; CREATE INDEX i ON s.t(c)": [],
    "UPDATE x SET c = 1 FROM s.t x JOIN a ON x.i = a.i": [({"a"}, {"s.t"})],
    "SELECT * INTO s.t FROM a": [({"a"}, {"s.t"})],
    "INSERT INTO t SELECT * FROM t": [({"t"}, {"t"})],
    "INSERT INTO t WITH c AS (SELECT * FROM a) SELECT * FROM c": [({"a"}, {"t"})],
    "MERGE INTO t USING a ON t.i = a.i WHEN MATCHED THEN UPDATE SET c = 1": [({"a"}, {"t"})],
    "INSERT ALL INTO t VALUES (1) INTO u VALUES (2) SELECT * FROM a": [({"a"}, {"t", "u"})],
    ";;": [],
}  # fmt: skip


@pytest.mark.parametrize(("text", "tables"), TABLES.items())
def test_tables_of_statements(text: str, tables: list[tuple[set[str], set[str]]]) -> None:
    result = script_tables(text)
    assert (
        [(set(statement.reads), set(statement.writes)) for statement in result.statements],
        result.unparsed_numbers,
    ) == (
        tables,
        [],
    )


UNPARSED = {
    "SELEC broken": [1], "((((": [1], "'x": [1], "CALL p(1)": [1], "DELETE FROM t; SELEC broken b c; DELETE FROM u": [2],
    "alter user u identified by x": [],
}  # fmt: skip


@pytest.mark.parametrize(("text", "numbers"), UNPARSED.items())
def test_unparsed_statements_are_counted_and_affect_no_others(text: str, numbers: list[int]) -> None:
    result = script_tables(text)
    assert (result.unparsed_numbers, len(result.statements)) == (numbers, 2 if "DELETE" in text else 0)


def test_statements_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        script_tables("alter user u identified by SEKRET; CALL p('SEKRET'); grant connect to u identified by SEKRET")
    assert "SEKRET" not in caplog.text


DELETE = "job_type: SQL\nsql_command: DELETE FROM s.t\nconnect_string: "
DATABASES = {
    "": [], "PRODDB": [("sql://PRODDB", "s.t")], "HRDB": [("sql://HRDB", "s.t")],
    "scott/tiger@PRODDB": [("sql://PRODDB", "s.t")], "scott/tiger@//h:1521/svc": [("sql://h:1521/svc", "s.t")],
    "scott/tiger": [], "DSN=X;UID=u;PWD=p": [], "jdbc:x": [],
    "jdbc:oracle:thin:@PRODDB": [("oracle://PRODDB", "s.t")], "jdbc:oracle:thin:scott/tiger@prod.world": [("oracle://prod.world", "s.t")],
    "jdbc:oracle:thin:scott/tiger": [], "jdbc:oracle:thin:@h:1521:sid": [("oracle://h:1521", "sid.s.t")],
}  # fmt: skip


@pytest.mark.parametrize(("connect_string", "expected"), DATABASES.items())
def test_tables_require_a_known_database(connect_string: str, expected: list[tuple[str, str]]) -> None:
    candidates = find_datasets(build_job(DELETE + connect_string))
    assert [(candidate.namespace, candidate.name) for candidate in candidates.datasets] == expected
    certain = bool(expected) and expected[0][0] == "oracle://h:1521"
    assert (len(candidates.warnings), "tiger" in str(candidates)) == (0 if certain else 1, False)


WARNINGS = {
    "a Windows path": ('job_type: f\nwatch_file: "C:\\data\\in.csv"', "/C:/data/in.csv", None),
    "a Windows path with slashes": ("job_type: f\nwatch_file: C\\:/data/in.csv", "/C:/data/in.csv", None),
    "a global": ("job_type: f\nwatch_file: $$IN/a.csv", None, "watch_file contains variables that only the scheduler or a shell can resolve"),
    "a relative path": ("job_type: f\nwatch_file: a.csv", None, "watch_file is not an absolute path"),
    "a device": ("std_in_file: /dev/null", None, None),
    "an invalid statement": ("job_type: SQL\nconnect_string: jdbc:mysql://h/\nsql_command: SELEC broken", None, "sql_command: statement 1 cannot be parsed"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name", "warning"), WARNINGS.values(), ids=WARNINGS)
def test_dataset_is_resolved_or_a_warning_explains_why_not(text: str, name: str | None, warning: str | None) -> None:
    assert [candidate.name for candidate in find_datasets(build_job(text)).datasets] == ([name] if name else [])
    assert [
        diagnostic.message.startswith(f"J {warning}")
        for diagnostic in unsupported_definitions(build_catalog(f"insert_job: J\n{text}\n"))
    ] == ([True] if warning else [])


def test_confidence_of_a_pattern_is_rounded_to_two_digits() -> None:
    (candidate,) = find_datasets(build_job("job_type: f\nwatch_file: /in/*.csv")).datasets
    assert str(candidate.confidence) == "0.66"
