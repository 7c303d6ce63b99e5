"""Spark agrees with the test cases of the SQL parser: columns, views and errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from connectors.spark.submit import LOCAL_CONF, find_spark, submit_job
from mappers.sql.parser import referenced_views
from tests.mappers.sql.test_lineage import COLUMNS, DATASET_LEVEL, PROBLEMS, SCHEMAS

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

#: Values of view columns that are not numbers.
VALUES = {"arr": "array(1)", "m": "map(1, 2)", "s": "named_struct('f', named_struct('g', 1))"}
#: Spark rejects unknown views and functions of the cases; only Spark knows the struct fields in INNER.
UNKNOWN = {"TABLE_OR_VIEW_NOT_FOUND", "UNRESOLVED_ROUTINE"}
INNER = "SELECT z FROM (SELECT s.* FROM t)"


@pytest.fixture(scope="module")
def analyses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Analysis of every query by one Spark job."""
    folder = tmp_path_factory.mktemp("columns")
    request, response, log = folder / "request.json", folder / "response.json", folder / "log"
    queries = [sql for sql, _ in (*COLUMNS, *DATASET_LEVEL, *PROBLEMS)]
    views = {view: {name: VALUES.get(name, "1") for name in columns} for view, columns in SCHEMAS.items()}
    request.write_text(json.dumps({"views": views, "queries": queries}))
    job = Path(__file__).with_name("analyze_queries.py")
    with submit_job(find_spark(), job, [str(request), str(response)], dict(LOCAL_CONF), folder, log) as process:
        assert process.wait(250) == 0, log.read_text()[-3000:]
    return dict(zip(queries, json.loads(response.read_text()), strict=True))


@pytest.mark.parametrize(("sql", "columns"), [*COLUMNS, *((sql, None) for sql, _ in DATASET_LEVEL)])
def test_spark_finds_same_columns_and_views(
    analyses: dict[str, Any], sql: str, columns: dict[str, str] | None
) -> None:
    analysis = analyses[sql]
    if analysis.get("error") in UNKNOWN or sql == INNER:
        return
    assert set(analysis["views"]) == referenced_views(sql)
    assert columns is None or analysis["columns"] == list(columns)


@pytest.mark.parametrize(("sql", "problems"), PROBLEMS)
def test_spark_rejects_invalid_queries(analyses: dict[str, Any], sql: str, problems: list[str]) -> None:
    assert "error" in analyses[sql]
