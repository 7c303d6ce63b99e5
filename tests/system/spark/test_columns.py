"""The tables of what queries read and of their columns against Spark itself: names, views, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from connectors.spark.submit import LOCAL_CONF, find_spark, submit_job
from mappers.sql.parser import referenced_views
from tests.mappers.sql.test_lineage import COLUMNS, DATASET_LEVEL, PROBLEMS, SCHEMAS

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

#: What the columns of the views hold, where it is not a number.
VALUES = {"arr": "array(1)", "m": "map(1, 2)", "s": "named_struct('f', named_struct('g', 1))"}
#: Spark knows all views and functions that it runs; the columns of a structure are known to it alone.
UNKNOWN = {"TABLE_OR_VIEW_NOT_FOUND", "UNRESOLVED_ROUTINE"}
INNER = "SELECT z FROM (SELECT s.* FROM t)"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Ask Spark about every query: one start of Java for all."""
    folder = tmp_path_factory.mktemp("columns")
    asked, said, log = folder / "asked.json", folder / "said.json", folder / "log"
    queries = [sql for sql, _ in (*COLUMNS, *DATASET_LEVEL, *PROBLEMS)]
    views = {view: {name: VALUES.get(name, "1") for name in columns} for view, columns in SCHEMAS.items()}
    asked.write_text(json.dumps({"views": views, "queries": queries}))
    job = Path(__file__).with_name("ask_columns.py")
    with submit_job(find_spark(), job, [str(asked), str(said)], dict(LOCAL_CONF), folder, log) as running:
        assert running.wait(250) == 0, log.read_text()[-3000:]
    return dict(zip(queries, json.loads(said.read_text()), strict=True))


@pytest.mark.parametrize(("sql", "columns"), [*COLUMNS, *((sql, None) for sql, _ in DATASET_LEVEL)])
def test_spark_names_the_same_columns_and_reads_the_same_views(
    answers: dict[str, Any], sql: str, columns: dict[str, str] | None
) -> None:
    told = answers[sql]
    if told.get("refused") in UNKNOWN or sql == INNER:
        return
    assert set(told["views"]) == referenced_views(sql)
    assert columns is None or told["columns"] == list(columns)


@pytest.mark.parametrize(("sql", "problems"), PROBLEMS)
def test_spark_refuses_what_is_refused_here(answers: dict[str, Any], sql: str, problems: list[str]) -> None:
    assert "refused" in answers[sql]
