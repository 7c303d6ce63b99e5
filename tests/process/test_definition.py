"""Process files: what may stand in them, and what is said of what may not."""

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


def test_the_example_is_taken_whole() -> None:
    found = read_model(EXAMPLE, ProcessDefinition)
    assert [one.name for one in found.steps] == ["enriched", "exposures"]
    assert [one.pin for one in found.inputs] == ["published", "published"]
    assert (found.quality[1].min, found.quality[1].severity) == (1, "warn")


def test_the_published_schema_is_that_of_the_code_and_takes_the_example() -> None:
    published = (ROOT / "configs" / "process.schema.json").read_text(encoding="utf-8")
    assert published == json_schema(ProcessDefinition, "A process file of lineage-bridge")
    validator = jsonschema_rs.validator_for(json.loads(published))
    assert validator.is_valid(parse_yaml(EXAMPLE, EXAMPLE.read_text(encoding="utf-8")).values)
    assert not validator.is_valid({"process": {"name": "p", "ownr": "x"}})


WRONG = {
    "an unknown key": (HEAD.replace("name: p", "name: p, ownr: x") + OUT, "a.yaml:1: unknown key process.ownr; did you mean owner?"),
    "nothing is written": (HEAD, "a.yaml:1: outputs is missing"),
    "a step without a way": (HEAD + "steps:\n  - name: s\n" + OUT, "a.yaml:4: steps.0: requires exactly one of sql, sql_file and python"),
    "a step with two ways": (HEAD + "steps:\n  - {name: s, sql: x, python: 'm:f'}\n" + OUT, "a.yaml:4: steps.0: requires exactly one of"),
    "a name that SQL cannot use": (HEAD.replace("as: a", "as: a-b") + OUT, "a.yaml:2: inputs.0.as: must be a valid SQL identifier"),
    "a merge without keys": (HEAD + OUT.replace("from: a", "from: a, mode: merge"), "a.yaml:3: outputs.0: keys are required for mode merge"),
    "keys without a merge": (HEAD + OUT.replace("from: a", "from: a, keys: [k]"), "a.yaml:3: outputs.0: keys are required for mode merge"),
    "an output of nothing": (HEAD + OUT.replace("from: a", "from: b"), "outputs: o refers to unkn"),
    "a check of nothing": (HEAD + OUT + "quality: [{on: x, check: unique, column: k}]\n", "quality: unique refers to"),
    "a name twice": (HEAD + "steps: [{name: a, sql: x}]\n" + OUT, "two inputs or steps have the name a"),
    "a check that nobody knows": (HEAD + OUT + "quality: [{on: a, check: uniqe}]\n", "quality.0.check: Input should be 'not_null', 'unique'"),
    "a default that is never used": (HEAD + OUT + "params: {d: {required: true, default: x}}\n", "params.d: cannot be required and have a default"),
    "an unknown key of a parameter": (HEAD + OUT + "params: {d: {typ: date}}\n", "unknown key params.d.typ; did you mean type?"),
    "a check without what it needs": (HEAD + OUT + "quality:\n  - {on: o, check: range, column: k}\n", "a.yaml:5: quality.0: range requires min or max"),
    "a check with what it cannot use": (HEAD + OUT + "quality: [{on: o, check: not_null, column: k, max: 3}]\n", "quality.0: not_null does not support max"),
    "a check of no columns": (HEAD + OUT + "quality: [{on: o, check: unique}]\n", "quality.0: unique requires either column or columns"),
    "an age that is none": (HEAD + OUT + "quality: [{on: o, check: freshness, column: k, max_age: 3 weeks}]\n", "must be like 90m, 26h or 2d"),
    "rows that are no number": (HEAD + OUT + "quality: [{on: o, check: row_count, min: few}]\n", "min and max of row_count must be integers"),
    "a reference to nothing": (HEAD + OUT + "quality: [{on: o, check: referential, column: k, references: b.k}]\n", "referential ref"),
    "python that reads nothing": (HEAD + "steps: [{name: s, python: 'm:f'}]\n" + OUT, "steps.0: reads is required for python"),
    "SQL that says what it reads": (HEAD + "steps: [{name: s, sql: x, reads: [a]}]\n" + OUT, "steps.0: reads is required for python"),
    "a merged database": (HEAD + OUT.replace("from: a", "from: a, format: jdbc, mode: merge, keys: [k]"), "outputs.0: format jdbc does not su"),
    "files without a manifest": (HEAD.replace("as: a", "as: a, format: files") + OUT, "inputs.0: manifest is required for format files"),
    "names that differ in case": (HEAD + "steps: [{name: A, sql: x}]\n" + OUT, "two inputs or steps have the name"),
    "an output twice": (HEAD + "outputs: [{dataset: o, from: a}, {dataset: o, from: a}]\n", "two outputs write the dataset o"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_model(file, ProcessDefinition)
    assert said in str(caught.value)
