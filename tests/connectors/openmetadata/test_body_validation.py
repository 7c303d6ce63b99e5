"""Validation of request bodies with the models of openmetadata-ingestion."""

import json
import subprocess
import sys
from typing import Any

import pytest

from connectors.openmetadata import body_validation

installed = pytest.mark.system("openmetadata-ingestion")

TABLE: dict[str, Any] = {"name": "t", "databaseSchema": "a.b.c", "columns": [{"name": "x", "dataType": "INT"}]}
CASE: dict[str, Any] = {"name": "c", "testDefinition": "d", "entityLink": "<#E::table::a.b.c.t>"}
RESULT: dict[str, Any] = {"timestamp": 1, "testCaseStatus": "Success", "testResultValue": []}
PROFILE: dict[str, Any] = {"tableProfile": {"timestamp": 1, "rowCount": 2}}


@installed
@pytest.mark.parametrize(
    ("collection", "body", "reason"),
    [
        ("services/databaseServices", {"name": "s", "serviceType": "Iceberg"}, "serviceType: not one of its values: 'Iceberg'"),
        ("databases", {"name": "d"}, "service: Field required"),
        ("databaseSchemas", {"name": "s" * 257, "database": "a.b"}, "name: String should have at most 256 characters: 'sss"),
        ("tables", {**TABLE, "colour": "red"}, "colour: Extra inputs are not permitted: 'red'"),
        ("tables", {**TABLE, "columns": [{"name": "x", "dataType": "TEXTS"}]}, "columns.0.dataType: not one of its values: 'TEXTS'"),
        ("tables", {"name": "t"}, "columns: Field required (and 1 more)"),
        ("tables", [], "the body: Input should be a valid dictionary"),
        ("containers", {"name": "c", "service": "s", "dataModel": {"columns": None}}, "dataModel.columns: "),
        ("topics", {"name": "t", "service": "s", "partitions": 0}, "partitions: Input should be greater than or equal to 1: 0"),
        ("apiEndpoints", {"name": "e", "apiCollection": "a.b", "endpointURL": "/x"}, "endpointURL: Input should be a valid URL"),
        ("mlmodels", {"name": "m"}, "service: Field required"),
        ("pipelines", {"name": "p", "service": "s", "tasks": [{"taskSQL": "x"}]}, "tasks.0.name: Field required"),
        ("lineage", {"edge": {"fromEntity": {"id": "1", "type": "table"}}}, "edge.fromEntity.id: Input should be a valid UUID"),
        ("pipelineStatus", {"timestamp": 1, "executionStatus": "Fine"}, "executionStatus: not one of its values: 'Fine'"),
        ("dataQuality/testDefinitions", {"name": "d", "entityType": "TABLE", "testPlatforms": ["Great"]}, "testPlatforms.0: not one of its values: 'Great'"),
        ("dataQuality/testDefinitions", {"name": "d", "entityType": "TABLE"}, "testPlatforms: Field required"),
        ("dataQuality/testCases", {"name": "c", "testDefinition": "d", "entityLink": "table.t"}, "entityLink: String should match pattern"),
        ("dataQuality/testCases", {**CASE, "parameterValues": [{"name": "min", "value": 1}]}, "parameterValues.0.value: Input should be a valid string: 1"),
        ("testCaseResult", {**RESULT, "testCaseStatus": "Warning"}, "testCaseStatus: not one of its values: 'Warning'"),
        ("testCaseResult", {"timestamp": 1, "testCaseStatus": "Success"}, "testResultValue: Field required"),
        ("tableProfile", {"systemProfile": []}, "tableProfile: Field required"),
        ("tableProfile", {"tableProfile": {"timestamp": 1}, "systemProfile": [{"operation": "OVERWRITE"}]}, "systemProfile.0.operation: not one of its values: 'OVERWRITE'"),
        ("tableProfile", {"tableProfile": {"timestamp": 1}, "columnProfile": [{"name": "id"}]}, "columnProfile.0.timestamp: Field required"),
    ],
)  # fmt: skip
def test_error_names_the_field(collection: str, body: Any, reason: str) -> None:
    error = body_validation.validation_error(collection, body)
    assert error is not None
    assert error.startswith(reason)
    assert "\n" not in error


@installed
def test_validation_does_not_change_body() -> None:
    body = {**TABLE, "name": 'a::b>"c', "columns": [{"name": "x::y", "dataType": "INT"}]}
    before = json.dumps(body)
    assert body_validation.validation_error("tables", body) is None
    assert json.dumps(body) == before


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@installed
@pytest.mark.parametrize(
    ("collection", "body"),
    [
        ("tables", TABLE),
        ("dataQuality/testDefinitions", {"name": "d", "entityType": "COLUMN", "testPlatforms": ["Other"]}),
        ("dataQuality/testCases", CASE),
        ("testCaseResult", RESULT),
        ("tableProfile", PROFILE),
    ],
)
def test_validation_is_fast_and_imports_no_profiler(collection: str, body: Any) -> None:
    code = f"""
import json, sys, time
from connectors.openmetadata import body_validation
before = time.process_time()
assert body_validation.is_available()
assert body_validation.validation_error("{collection}", {body}) is None
spent = time.process_time() - before
heavy = [name for name in sys.modules if name.startswith(("metadata.profiler", "metadata.sampler", "metadata.utils"))]
print(json.dumps([heavy, spent]))
"""
    completed = run_python(code)
    assert (completed.returncode, completed.stderr) == (0, "")
    heavy, spent = json.loads(completed.stdout)
    assert heavy == []
    assert spent < 2.5


@installed
def test_validation_is_thread_safe() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
from connectors.openmetadata import body_validation
with ThreadPoolExecutor(8) as pool:
    errors = list(pool.map(lambda collection: body_validation.validation_error(collection, {}), sorted(body_validation.VALIDATED_COLLECTIONS) * 8))
assert all("Field required" in reason for reason in errors), errors
"""
    assert (run_python(code).returncode, run_python(code).stderr) == (0, "")


@installed
def test_imported_package_is_not_replaced() -> None:
    code = """
import importlib.machinery, sys, types
imported = types.ModuleType("metadata")
imported.__path__ = list(importlib.machinery.PathFinder.find_spec("metadata").submodule_search_locations)
sys.modules["metadata"] = imported
from connectors.openmetadata import body_validation
assert body_validation.validation_error("databases", {"name": "d", "service": "s"}) is None
assert sys.modules["metadata"] is imported
from metadata.ingestion.models.custom_pydantic import transform_entity_names
assert transform_entity_names.__name__ == "transform_entity_names"
"""
    assert run_python(code).returncode == 0


@pytest.mark.parametrize(
    "hidden",
    [
        "sys.modules['metadata'] = None",
        "import importlib.util; find = importlib.util.find_spec; importlib.util.find_spec = lambda name, package=None: find('email')",
        "import importlib.util; importlib.util.find_spec = lambda name, package=None: None",
    ],
    ids=["forbidden", "other package of this name", "not installed"],
)
def test_missing_package_is_an_error_with_remedy(hidden: str) -> None:
    code = f"""
import sys
{hidden}
from connectors.openmetadata import body_validation
from connectors.errors import MissingDependency
assert not body_validation.is_available()
assert sys.modules.get("metadata") is None
try:
    body_validation.validation_error("tables", {{}})
except MissingDependency as missing:
    print(missing)
"""
    completed = run_python(code)
    assert completed.stderr == ""
    assert completed.stdout.startswith("request validation needs openmetadata-ingestion (")
    assert completed.stdout.endswith("pip install 'lineage-bridge[openmetadata]'\n")


@pytest.mark.parametrize("command", ["--help", "version", "--version"])
def test_commands_without_push_import_no_models(command: str) -> None:
    code = f"""
import sys
sys.argv = ["lineage-bridge", "{command}"]
from bridge.cli.main import main
try:
    main()
finally:
    print([name for name in sys.modules if name.partition(".")[0] == "metadata"], file=sys.stderr)
"""
    assert run_python(code).stderr.splitlines()[-1] == "[]"
