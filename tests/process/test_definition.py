"""Process files: the example, the JSON schema, and errors."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from bridge.process.definition import ProcessDefinition
from bridge.settings.yaml_model import json_schema, read_model
from bridge.settings.yaml_tree import parse_yaml
from connectors.errors import ConfigError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "configs" / "processes" / "daily_positions.yaml"
HEAD = "process: {name: p}\ninputs: [{dataset: a, as: a}]\n"
OUT = "outputs: [{dataset: o, from: a}]\n"


def test_read_example() -> None:
    definition = read_model(EXAMPLE, ProcessDefinition)
    assert [step.name for step in definition.steps] == ["enriched", "exposures"]
    assert [input_.pin for input_ in definition.inputs] == ["published", "published"]
    assert (definition.quality[1].min, definition.quality[1].severity) == (1, "warn")


def test_published_json_schema_is_up_to_date() -> None:
    published = (ROOT / "configs" / "process.schema.json").read_text(encoding="utf-8")
    assert published == json_schema(ProcessDefinition, "A process file of lineage-bridge")
    validator = jsonschema_rs.validator_for(json.loads(published))
    assert validator.is_valid(parse_yaml(EXAMPLE, EXAMPLE.read_text(encoding="utf-8")).values)
    assert not validator.is_valid({"process": {"name": "p", "ownr": "x"}})


INVALID = {
    "unknown key": (HEAD.replace("name: p", "name: p, ownr: x") + OUT, "a.yaml:1: unknown key process.ownr; did you mean owner?"),
    "no outputs": (HEAD, "a.yaml:1: outputs is missing"),
    "step without code": (HEAD + "steps:\n  - name: s\n" + OUT, "a.yaml:4: steps.0: requires exactly one of sql, sql_file and python"),
    "step with SQL and Python": (HEAD + "steps:\n  - {name: s, sql: x, python: 'm:f'}\n" + OUT, "a.yaml:4: steps.0: requires exactly one of"),
    "invalid SQL identifier": (HEAD.replace("as: a", "as: a-b") + OUT, "a.yaml:2: inputs.0.as: must be a valid SQL identifier"),
    "merge without keys": (HEAD + OUT.replace("from: a", "from: a, mode: merge"), "a.yaml:3: outputs.0: keys are required if mode is merge"),
    "keys without a merge": (HEAD + OUT.replace("from: a", "from: a, keys: [k]"), "a.yaml:3: outputs.0: keys are required if mode is merge"),
    "output of an unknown view": (HEAD + OUT.replace("from: a", "from: b"), "a.yaml:3: outputs.0.from: refers to unknown name b; known: a"),
    "check of an unknown dataset": (HEAD + OUT + "quality: [{on: x, check: unique, column: k}]\n", "a.yaml:4: quality.0.on: refers to unknown name x; known: o"),
    "duplicate name": (HEAD + "steps: [{name: a, sql: x}]\n" + OUT, "a.yaml:3: steps.0.name: two inputs or steps have the name a"),
    "unknown check": (HEAD + OUT + "quality: [{on: a, check: uniqe}]\n", "quality.0.check: Input should be 'not_null', 'unique'"),
    "default of a required parameter": (HEAD + OUT + "params: {d: {required: true, default: x}}\n", "params.d: cannot be required and have a default"),
    "unknown key of a parameter": (HEAD + OUT + "params: {d: {typ: date}}\n", "unknown key params.d.typ; did you mean type?"),
    "check without required option": (HEAD + OUT + "quality:\n  - {on: o, check: range, column: k}\n", "a.yaml:5: quality.0: range requires min or max"),
    "check with unsupported option": (HEAD + OUT + "quality: [{on: o, check: not_null, column: k, max: 3}]\n", "quality.0: not_null does not support max"),
    "check without columns": (HEAD + OUT + "quality: [{on: o, check: unique}]\n", "quality.0: unique requires either column or columns"),
    "invalid age": (HEAD + OUT + "quality: [{on: o, check: freshness, column: k, max_age: 3 weeks}]\n", "must be like 90m, 26h or 2d"),
    "invalid row count": (HEAD + OUT + "quality: [{on: o, check: row_count, min: few}]\n", "min and max of row_count must be integers"),
    "reference to an unknown view": (HEAD + OUT + "quality: [{on: o, check: referential, column: k, references: b.k}]\n", "a.yaml:4: quality.0.references: ref"),
    "python without reads": (HEAD + "steps: [{name: s, python: 'm:f'}]\n" + OUT, "steps.0: reads is required for python"),
    "SQL with reads": (HEAD + "steps: [{name: s, sql: x, reads: [a]}]\n" + OUT, "steps.0: reads is required for python"),
    "merge into a database": (HEAD + OUT.replace("from: a", "from: a, format: jdbc, mode: merge, keys: [k]"), "outputs.0: format jdbc does not su"),
    "files without a manifest": (HEAD.replace("as: a", "as: a, format: files") + OUT, "inputs.0: manifest is required if format is files"),
    "names that differ in case": (HEAD + "steps: [{name: A, sql: x}]\n" + OUT, "two inputs or steps have the name"),
    "duplicate output": (HEAD + "outputs: [{dataset: o, from: a}, {dataset: o, from: a}]\n", "two outputs write the dataset o"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID)
def test_errors_have_location(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        read_model(file, ProcessDefinition)
    assert message in str(error.value)
