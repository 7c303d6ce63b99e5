"""What is sent, checked against the models that OpenMetadata's own package brings."""

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
        ("services/databaseServices", {"name": "s", "serviceType": "Iceberg"}, "serviceType: none of its values: 'Iceberg'"),
        ("databases", {"name": "d"}, "service: Field required"),
        ("databaseSchemas", {"name": "s" * 257, "database": "a.b"}, "name: String should have at most 256 characters: 'sss"),
        ("tables", {**TABLE, "colour": "red"}, "colour: Extra inputs are not permitted: 'red'"),
        ("tables", {**TABLE, "columns": [{"name": "x", "dataType": "TEXTS"}]}, "columns.0.dataType: none of its values: 'TEXTS'"),
        ("tables", {"name": "t"}, "columns: Field required (and 1 more)"),
        ("tables", [], "the body: Input should be a valid dictionary"),
        ("containers", {"name": "c", "service": "s", "dataModel": {"columns": None}}, "dataModel.columns: "),
        ("topics", {"name": "t", "service": "s", "partitions": 0}, "partitions: Input should be greater than or equal to 1: 0"),
        ("apiEndpoints", {"name": "e", "apiCollection": "a.b", "endpointURL": "/x"}, "endpointURL: Input should be a valid URL"),
        ("mlmodels", {"name": "m"}, "service: Field required"),
        ("pipelines", {"name": "p", "service": "s", "tasks": [{"taskSQL": "x"}]}, "tasks.0.name: Field required"),
        ("lineage", {"edge": {"fromEntity": {"id": "1", "type": "table"}}}, "edge.fromEntity.id: Input should be a valid UUID"),
        ("pipelineStatus", {"timestamp": 1, "executionStatus": "Fine"}, "executionStatus: none of its values: 'Fine'"),
        ("dataQuality/testDefinitions", {"name": "d", "entityType": "TABLE", "testPlatforms": ["Great"]}, "testPlatforms.0: none of its values: 'Great'"),
        ("dataQuality/testDefinitions", {"name": "d", "entityType": "TABLE"}, "testPlatforms: Field required"),
        ("dataQuality/testCases", {"name": "c", "testDefinition": "d", "entityLink": "table.t"}, "entityLink: String should match pattern"),
        ("dataQuality/testCases", {**CASE, "parameterValues": [{"name": "min", "value": 1}]}, "parameterValues.0.value: Input should be a valid string: 1"),
        ("testCaseResult", {**RESULT, "testCaseStatus": "Warning"}, "testCaseStatus: none of its values: 'Warning'"),
        ("testCaseResult", {"timestamp": 1, "testCaseStatus": "Success"}, "testResultValue: Field required"),
        ("tableProfile", {"systemProfile": []}, "tableProfile: Field required"),
        ("tableProfile", {"tableProfile": {"timestamp": 1}, "systemProfile": [{"operation": "OVERWRITE"}]}, "systemProfile.0.operation: none of its values: 'OVERWRITE'"),
        ("tableProfile", {"tableProfile": {"timestamp": 1}, "columnProfile": [{"name": "id"}]}, "columnProfile.0.timestamp: Field required"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_its_field(collection: str, body: Any, reason: str) -> None:
    told = body_validation.validation_error(collection, body)
    assert told is not None
    assert told.startswith(reason)
    assert "\n" not in told


@installed
def test_a_check_changes_nothing_of_a_body() -> None:
    body = {**TABLE, "name": 'a::b>"c', "columns": [{"name": "x::y", "dataType": "INT"}]}
    before = json.dumps(body)
    assert body_validation.validation_error("tables", body) is None
    assert json.dumps(body) == before


def run(code: str) -> subprocess.CompletedProcess[str]:
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
def test_a_check_loads_no_profiler_and_costs_little(collection: str, body: Any) -> None:
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
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")
    heavy, spent = json.loads(done.stdout)
    assert heavy == []
    assert spent < 2.5


@installed
def test_many_threads_may_check_at_once() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
from connectors.openmetadata import body_validation
with ThreadPoolExecutor(8) as pool:
    told = list(pool.map(lambda collection: body_validation.validation_error(collection, {}), sorted(body_validation.VALIDATED_COLLECTIONS) * 8))
assert all("Field required" in reason for reason in told), told
"""
    assert (run(code).returncode, run(code).stderr) == (0, "")


@installed
def test_a_package_that_somebody_imported_before_is_taken_as_it_is() -> None:
    code = """
import importlib.machinery, sys, types
theirs = types.ModuleType("metadata")
theirs.__path__ = list(importlib.machinery.PathFinder.find_spec("metadata").submodule_search_locations)
sys.modules["metadata"] = theirs
from connectors.openmetadata import body_validation
assert body_validation.validation_error("databases", {"name": "d", "service": "s"}) is None
assert sys.modules["metadata"] is theirs
from metadata.ingestion.models.custom_pydantic import transform_entity_names
assert transform_entity_names.__name__ == "transform_entity_names"
"""
    assert run(code).returncode == 0


@pytest.mark.parametrize(
    "hidden",
    [
        "sys.modules['metadata'] = None",
        "import importlib.util; find = importlib.util.find_spec; importlib.util.find_spec = lambda name, package=None: find('email')",
        "import importlib.util; importlib.util.find_spec = lambda name, package=None: None",
    ],
    ids=["forbidden", "another package of the name", "not installed"],
)
def test_what_is_not_installed_is_told_with_the_remedy(hidden: str) -> None:
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
    done = run(code)
    assert done.stderr == ""
    assert done.stdout.startswith("checking requests needs openmetadata-ingestion (")
    assert done.stdout.endswith("pip install 'lineage-bridge[openmetadata]'\n")


@pytest.mark.parametrize("command", ["--help", "version", "--version"])
def test_commands_that_push_nothing_load_no_model(command: str) -> None:
    code = f"""
import sys
sys.argv = ["lineage-bridge", "{command}"]
from bridge.cli.main import main
try:
    main()
finally:
    print([name for name in sys.modules if name.partition(".")[0] == "metadata"], file=sys.stderr)
"""
    assert run(code).stderr.splitlines()[-1] == "[]"
