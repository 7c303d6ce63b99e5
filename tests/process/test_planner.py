"""Plans of runs: resolved inputs and outputs, or errors, before Spark starts."""

import hashlib
import json
from pathlib import Path

import pytest

from bridge.errors import ProcessNotReady
from bridge.process.input_resolver import verify_delivery
from bridge.process.manifest import VersionRoot
from bridge.process.planner import Planner
from bridge.versions.version_commands import InvalidateCommand, PinCommand, PinItem
from connectors.errors import ConfigError, InvalidData
from tests import factories as make
from tests.factories import facet, run_event
from tests.process.process_lake import NOW, ProcessHarness

COPY_PROCESS = """
inputs: [{dataset: trades, as: trades}]
outputs: [{dataset: positions, from: trades}]
"""


def process_with_input(**options: str) -> str:
    text = "".join(f", {name}: {value}" for name, value in options.items())
    return f"inputs: [{{dataset: trades, as: trades{text}}}]\noutputs: [{{dataset: positions, from: trades}}]\n"


def process_with_output(**options: str) -> str:
    text = "".join(f", {name}: {value}" for name, value in options.items())
    return f"inputs: [{{dataset: trades, as: trades}}]\noutputs: [{{dataset: positions, from: trades{text}}}]\n"


def test_plan_contains_input_version_and_output_folder(harness: ProcessHarness) -> None:
    folder = harness.write_version("trades", "t1", 1)
    plan = harness.plan(COPY_PROCESS)
    (input_,), (output,) = plan.inputs, plan.outputs
    assert (input_.version, input_.resolved_by, input_.rows, input_.roots) == (
        "t1",
        "published",
        3,
        [str(folder)],
    )
    assert output.folder == f"{harness.lake}/positions/_version=20260201T060000-00000001"
    assert (output.published_tag, output.base_manifest, output.existing_version) == (None, None, None)
    assert not plan.all_outputs_exist


def test_pins_resolve_to_versions(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    harness.write_version("trades", "t2", 2, publish=False)
    pins = {"published": "t1", "latest": "t2", "t2": "t2", "version:t1": "t1", "as_of:1999-01-01": None}
    for pin, tag in pins.items():
        if tag is None:
            with pytest.raises(ProcessNotReady, match=r"no version of the dataset in the store at that time"):
                harness.plan(process_with_input(pin=f"'{pin}'"))
        else:
            assert harness.plan(process_with_input(pin=f"'{pin}'")).inputs[0].version == tag


def test_unknown_dataset_error_has_remedy(harness: ProcessHarness) -> None:
    with pytest.raises(
        ProcessNotReady,
        match=r"inputs.trades \(.*/lake/trades\): no dataset .*check its name and whether its job ran",
    ):
        harness.plan(COPY_PROCESS)


def test_unpublished_dataset_error_has_remedy(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1, publish=False)
    with pytest.raises(
        ProcessNotReady, match=r"no version of the dataset is published: publish one with .* or use pin: latest"
    ):
        harness.plan(COPY_PROCESS)


def test_invalid_version_is_not_read(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    command = InvalidateCommand(
        namespace="file", name=harness.path("trades"), version="t1", reason="rates of the wrong day"
    )
    harness.backend.execute(command)
    for pin in ("published", "t1"):
        with pytest.raises(ProcessNotReady, match=r"t1.*(must not be read|is invalid): .*rates of the wrong day"):
            harness.plan(process_with_input(pin=pin))


def test_invalid_partition_prevents_reading_all_partitions(harness: ProcessHarness) -> None:
    subset = facet(outputCondition={"type": "location", "locations": ["/x/day=1", "/x/day=2"]})
    harness.write_version("trades", "t1", 1, subset=subset)
    dataset = {"namespace": "file", "name": harness.path("trades")}
    harness.backend.execute(InvalidateCommand(**dataset, version="t1", partition="day=1", reason="rows are missing"))
    with pytest.raises(ProcessNotReady, match="partition day=1 of version 't1' is invalid: rows are missing"):
        harness.plan(COPY_PROCESS)
    assert harness.plan(process_with_input(partition="day=2")).inputs[0].version == "t1"


def test_overwritten_version_is_not_read(harness: ProcessHarness) -> None:
    harness.apply_version_event("trades", "t1", 1)
    harness.publish("trades", "t1")
    (harness.lake / "trades").mkdir(parents=True)
    (harness.lake / "trades" / "part-0.parquet").write_bytes(b"rows")
    assert harness.plan(COPY_PROCESS).inputs[0].version == "t1"
    harness.apply_version_event("trades", "t2", 2)
    with pytest.raises(
        ProcessNotReady, match="version 't1' was overwritten in place by 't2': publish that version, or use pin: live"
    ):
        harness.plan(COPY_PROCESS)
    assert harness.plan(process_with_input(pin="live")).inputs[0].resolved_by == "live"


def test_missing_files_are_an_error(harness: ProcessHarness) -> None:
    harness.apply_version_event("trades", "t1", 1)
    harness.publish("trades", "t1")
    with pytest.raises(ProcessNotReady, match="version 't1' is in the registry, but there are no files at"):
        harness.plan(COPY_PROCESS)
    with pytest.raises(ProcessNotReady, match="there are no files"):
        harness.plan(process_with_input(pin="live"))


def test_named_pin(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    harness.write_version("trades", "t2", 2)
    item = PinItem(namespace="file", name=harness.path("trades"), version="t1")
    harness.backend.execute(PinCommand(pin="audit", until=NOW.replace(year=2099), datasets=[item]))
    assert harness.plan(process_with_input(pin="'pin:audit'")).inputs[0].version == "t1"
    with pytest.raises(ProcessNotReady, match="no pin 'none' of the dataset"):
        harness.plan(process_with_input(pin="'pin:none'"))


CONTRACTS = {
    "missing column": ("{quantity: int}", "column quantity is missing; columns: id, amount"),
    "misspelled column": ("{amont: double}", "column amont is missing; did you mean amount?"),
    "other column type": ("{amount: string}", "column amount has type double, expected string"),
}


@pytest.mark.parametrize(("columns", "message"), CONTRACTS.values(), ids=CONTRACTS)
def test_column_mismatch_is_an_error(harness: ProcessHarness, columns: str, message: str) -> None:
    harness.write_version("trades", "t1", 1)
    with pytest.raises(ProcessNotReady, match=r"inputs.trades \(") as error:
        harness.plan(process_with_input(columns=columns))
    assert message in str(error.value)


def test_type_aliases_are_equal(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1, columns={"id": "bigint", "amount": "decimal(10,2)"})
    assert harness.plan(process_with_input(columns="{id: long, AMOUNT: 'decimal(10, 2)'}")).inputs


def test_unknown_column_in_sql_is_an_error(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    text = """
    inputs: [{dataset: trades, as: trades}]
    steps:
      - {name: one, sql: "SELECT id, amout FROM trades"}
      - {name: two, sql: "SELECT id FROM one"}
    outputs: [{dataset: positions, from: two}]
    """
    with pytest.raises(ProcessNotReady, match=r"steps.one: line 1, column 12: .*amout.*amount"):
        harness.plan(text)


def test_errors_of_all_inputs_are_reported_together(harness: ProcessHarness) -> None:
    text = """
    inputs: [{dataset: trades, as: trades}, {dataset: customers, as: customers}]
    outputs: [{dataset: positions, from: trades}]
    """
    with pytest.raises(ProcessNotReady) as error:
        harness.plan(text)
    assert len(str(error.value).splitlines()) == 2


def test_cycle_through_other_processes_is_an_error(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    positions, trades = (make.dataset(harness.path(name), "file") for name in ("positions", "trades"))
    harness.store.apply(run_event("COMPLETE", 9, run=9, job="back", inputs=[positions], outputs=[trades]))
    with pytest.raises(ProcessNotReady, match="cycle: other processes derive it from output positions"):
        harness.plan(COPY_PROCESS)
    assert harness.plan(process_with_input(feedback="true")).inputs
    assert harness.plan(process_with_input(pin="t1")).inputs, "a fixed version is not part of the cycle"


def test_process_may_read_its_own_output(harness: ProcessHarness) -> None:
    harness.write_version("positions", "p1", 1)
    assert harness.plan("inputs: [{dataset: positions, as: a}]\noutputs: [{dataset: positions, from: a}]\n").inputs


def test_key_depends_on_inputs_parameters_and_definition(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    text = "params: {day: {type: date}}\n" + COPY_PROCESS
    first = harness.plan(text, params={"day": "2026-01-31"})
    assert harness.plan(text, params={"day": "2026-01-31"}).key == first.key
    other_keys = [
        harness.plan(text, params={"day": "2026-02-01"}).key,
        harness.plan(text.replace("from: trades", "from: trades, format: json"), params={"day": "2026-01-31"}).key,
        harness.plan(text, params={"day": "2026-01-31"}, key="mine").key,
    ]
    harness.write_version("trades", "t2", 2)
    other_keys.append(harness.plan(text, params={"day": "2026-01-31"}).key)
    assert len({first.key, *other_keys}) == 5


def test_key_depends_on_content_of_unversioned_files(harness: ProcessHarness) -> None:
    folder = harness.lake / "trades"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n", encoding="utf-8")
    text = process_with_input(pin="live", format="csv")
    first = harness.plan(text).key
    assert harness.plan(text).key == first
    (folder / "b.csv").write_text("id\n2\n", encoding="utf-8")
    assert harness.plan(text).key != first


def test_key_is_unique_with_live_table(harness: ProcessHarness) -> None:
    url = "{url: 'jdbc:postgresql://db/shop'}"
    text = process_with_input(format="jdbc", options=url)
    assert harness.plan(text).key != harness.plan(text).key
    with pytest.raises(ProcessNotReady, match="changes in place, so its versions cannot be read: use pin: live"):
        harness.plan(process_with_input(format="jdbc", options=url, pin="latest"))


def test_existing_output_is_found_by_key(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    key = harness.plan(COPY_PROCESS).outputs[0].key
    harness.write_version("positions", "p1", 2, key=key, publish=False)
    plan = harness.plan(COPY_PROCESS)
    assert (plan.outputs[0].existing_version, plan.all_outputs_exist, plan.is_up_to_date) == ("p1", True, False)
    harness.publish("positions", "p1")
    assert harness.plan(COPY_PROCESS).is_up_to_date


def test_output_of_failed_run_is_ignored(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    key = harness.plan(COPY_PROCESS).outputs[0].key
    harness.write_version("positions", "p1", 2, key=key, publish=False, kind="FAIL")
    assert not harness.plan(COPY_PROCESS).all_outputs_exist


@pytest.mark.parametrize("options", [{"mode": "append"}, {"mode": "merge", "keys": "[id]"}, {"partition_by": "[id]"}])
def test_incremental_output_is_found_in_published_version(harness: ProcessHarness, options: dict[str, str]) -> None:
    harness.write_version("trades", "t1", 1)
    first = harness.plan(process_with_output(**options)).outputs[0]
    assert (first.base_manifest, first.key[-1]) == (None, "@")
    key = f"{first.key}p0"
    harness.write_version(
        "positions", "p1", 2, key=key, roots=[VersionRoot(harness.path("positions/_version=p1"), "p1", key)]
    )
    repeated = harness.plan(process_with_output(**options)).outputs[0]
    assert (repeated.existing_version, repeated.published_tag) == ("p1", "p1")
    harness.write_version("trades", "t2", 3)
    next_output = harness.plan(process_with_output(**options)).outputs[0]
    assert next_output.base_manifest is not None
    assert (next_output.existing_version, next_output.base_manifest.version, next_output.key[-3:]) == (
        None,
        "p1",
        "@p1",
    )


def test_rows_are_not_appended_twice(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    key = harness.plan(process_with_output(mode="append")).outputs[0].key
    roots = [
        VersionRoot(harness.path(f"positions/_version={tag}"), tag, root_key)
        for tag, root_key in (("p1", key), ("p2", "other"))
    ]
    harness.write_version("positions", "p2", 2, roots=roots)
    assert harness.plan(process_with_output(mode="append")).outputs[0].existing_version == "p2"


def write_delivery(harness: ProcessHarness, **changes: str | int) -> None:
    folder = harness.lake / "brought"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n", encoding="utf-8")
    entry = {"path": "a.csv", "size": 5, "sha256": hashlib.sha256(b"id\n1\n").hexdigest()} | changes
    (folder / "manifest.json").write_text(json.dumps({"files": [entry], "rows": 1, "columns": {"id": "int"}}))


DELIVERY_PROCESS = (
    "inputs: [{dataset: brought, as: a, format: files, manifest: manifest.json}]\noutputs: [{dataset: o, from: a}]\n"
)


def test_delivery_version_is_checksum_of_manifest(harness: ProcessHarness) -> None:
    write_delivery(harness)
    input_ = harness.plan(DELIVERY_PROCESS).inputs[0]
    text = (harness.lake / "brought" / "manifest.json").read_bytes()
    assert (input_.version, input_.rows, input_.columns) == (
        hashlib.sha256(text).hexdigest()[:16],
        1,
        {"id": "int"},
    )


MANIFEST_ERRORS = {
    "missing file": ({"path": "b.csv"}, "b.csv: is missing; a.csv: is not in the manifest"),
    "other size": ({"size": 6}, "a.csv: has 5 bytes, the manifest says 6"),
    "other content": ({"sha256": "0" * 64}, "a.csv: checksum differs from the manifest"),
}


@pytest.mark.parametrize(("changes", "message"), MANIFEST_ERRORS.values(), ids=MANIFEST_ERRORS)
def test_files_different_from_manifest_are_an_error(
    harness: ProcessHarness, changes: dict[str, str | int], message: str
) -> None:
    write_delivery(harness, **changes)
    with pytest.raises(InvalidData) as error:
        verify_delivery(harness.plan(DELIVERY_PROCESS).inputs[0], harness.storage)
    assert str(error.value).endswith(message)


def test_invalid_or_missing_manifest_is_an_error(harness: ProcessHarness) -> None:
    write_delivery(harness)
    (harness.lake / "brought" / "manifest.json").write_text('{"files": [{"path": "a"}]}')
    with pytest.raises(ConfigError, match=r"manifest.json: Object missing required field `size`"):
        harness.plan(DELIVERY_PROCESS)
    (harness.lake / "brought" / "manifest.json").unlink()
    with pytest.raises(ProcessNotReady, match="there is no manifest"):
        harness.plan(DELIVERY_PROCESS)


def test_invalid_sql_is_reported_before_resolving_inputs(harness: ProcessHarness) -> None:
    text = COPY_PROCESS + "steps: [{name: s, sql: SELECT FROM WHERE}]\n"
    with pytest.raises(ConfigError, match=r"p.yaml: steps.s: line 1, column"):
        harness.plan(text)


def test_parameters_in_dataset_names(harness: ProcessHarness) -> None:
    harness.write_version("trades/2026-01-31", "t1", 1)
    text = """
    params: {day: {type: date, required: true}}
    inputs: [{dataset: "trades/{day}", as: trades}]
    outputs: [{dataset: "positions/{day}", from: trades}]
    quality: [{on: "positions/{day}", check: not_null, column: id}]
    """
    plan = harness.plan(text, params={"day": "2026-01-31"})
    assert plan.outputs[0].location.name == harness.path("positions/2026-01-31")
    assert [check.check for check in plan.outputs[0].checks] == ["not_null"]


def test_materialized_steps_are_outputs(harness: ProcessHarness) -> None:
    harness.write_version("trades", "t1", 1)
    text = """
    inputs: [{dataset: trades, as: trades}]
    steps:
      - {name: kept, sql: "SELECT * FROM trades", materialize: true}
      - {name: passed, sql: "SELECT * FROM kept"}
    outputs: [{dataset: positions, from: passed}]
    """
    plan = harness.plan(text)
    step, positions = plan.outputs
    assert (step.output.dataset, step.is_step_output, positions.is_step_output) == ("p/kept", True, False)
    assert [source.name for source in plan.source_datasets(positions)] == [step.location.name]
    assert [source.name for source in plan.source_datasets(step)] == [harness.path("trades")]


def test_lake_of_process_file_overrides_settings(harness: ProcessHarness, tmp_path: Path) -> None:
    harness.write_version("trades", "t1", 1)
    request = harness.make_request(COPY_PROCESS)
    process = request.definition.process.model_copy(update={"lake": str(tmp_path / "other")})
    changed = request._replace(definition=request.definition.model_copy(update={"process": process}))
    with pytest.raises(ProcessNotReady, match="other/trades"):
        Planner(harness.backend, harness.storage, NOW).plan(changed)
