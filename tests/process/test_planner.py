"""Plans: what a run will read and write is known, or refused with the reason, before Spark starts."""

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
from tests.process.process_lake import NOW, Workshop

COPY = """
inputs: [{dataset: trades, as: trades}]
outputs: [{dataset: positions, from: trades}]
"""


def copy(**more: str) -> str:
    given = "".join(f", {name}: {value}" for name, value in more.items())
    return f"inputs: [{{dataset: trades, as: trades{given}}}]\noutputs: [{{dataset: positions, from: trades}}]\n"


def out(**more: str) -> str:
    given = "".join(f", {name}: {value}" for name, value in more.items())
    return f"inputs: [{{dataset: trades, as: trades}}]\noutputs: [{{dataset: positions, from: trades{given}}}]\n"


def test_a_plan_names_what_is_read_and_where_the_new_version_will_lie(workshop: Workshop) -> None:
    folder = workshop.version("trades", "t1", 1)
    plan = workshop.plan(COPY)
    (read,), (written,) = plan.inputs, plan.outputs
    assert (read.version, read.resolved_by, read.rows, read.roots) == ("t1", "published", 3, [str(folder)])
    assert written.folder == f"{workshop.lake}/positions/_version=20260201T060000-00000001"
    assert (written.published, written.base_manifest, written.existing_version) == (None, None, None)
    assert not plan.all_outputs_exist


def test_each_way_to_pin_an_input_finds_its_version(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    workshop.version("trades", "t2", 2, publish=False)
    pins = {"published": "t1", "latest": "t2", "t2": "t2", "version:t1": "t1", "as_of:1999-01-01": None}
    for pin, tag in pins.items():
        if tag is None:
            with pytest.raises(ProcessNotReady, match=r"no version of the dataset in the store at that time"):
                workshop.plan(copy(pin=f"'{pin}'"))
        else:
            assert workshop.plan(copy(pin=f"'{pin}'")).inputs[0].version == tag


def test_a_dataset_that_nobody_knows_is_told_with_what_to_do(workshop: Workshop) -> None:
    with pytest.raises(
        ProcessNotReady,
        match=r"inputs.trades \(.*/lake/trades\): no dataset .*check its name and whether its job ran",
    ):
        workshop.plan(COPY)


def test_a_version_that_was_never_published_is_told_with_what_to_do(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1, publish=False)
    with pytest.raises(
        ProcessNotReady, match=r"no version of the dataset is published: publish one with .* or use pin: latest"
    ):
        workshop.plan(COPY)


def test_what_is_marked_as_not_to_be_read_is_not_read(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    order = InvalidateCommand(
        namespace="file", name=workshop.path("trades"), version="t1", reason="rates of the wrong day"
    )
    workshop.link.execute(order)
    for pin in ("published", "t1"):
        with pytest.raises(ProcessNotReady, match=r"t1.*(must not be read|is invalid): .*rates of the wrong day"):
            workshop.plan(copy(pin=pin))


def test_a_partition_that_is_marked_keeps_the_whole_from_being_read(workshop: Workshop) -> None:
    subset = facet(outputCondition={"type": "location", "locations": ["/x/day=1", "/x/day=2"]})
    workshop.version("trades", "t1", 1, subset=subset)
    where = {"namespace": "file", "name": workshop.path("trades")}
    workshop.link.execute(InvalidateCommand(**where, version="t1", partition="day=1", reason="rows are missing"))
    with pytest.raises(ProcessNotReady, match="partition day=1 of version 't1' is invalid: rows are missing"):
        workshop.plan(COPY)
    assert workshop.plan(copy(partition="day=2")).inputs[0].version == "t1"


def test_a_version_that_was_written_over_in_place_is_not_promised(workshop: Workshop) -> None:
    workshop.told("trades", "t1", 1)
    workshop.publish("trades", "t1")
    (workshop.lake / "trades").mkdir(parents=True)
    (workshop.lake / "trades" / "part-0.parquet").write_bytes(b"rows")
    assert workshop.plan(COPY).inputs[0].version == "t1"
    workshop.told("trades", "t2", 2)
    with pytest.raises(
        ProcessNotReady, match="version 't1' was overwritten in place by 't2': publish that version, or use pin: live"
    ):
        workshop.plan(COPY)
    assert workshop.plan(copy(pin="live")).inputs[0].resolved_by == "live"


def test_files_that_are_gone_are_told(workshop: Workshop) -> None:
    workshop.told("trades", "t1", 1)
    workshop.publish("trades", "t1")
    with pytest.raises(ProcessNotReady, match="version 't1' is in the registry, but there are no files at"):
        workshop.plan(COPY)
    with pytest.raises(ProcessNotReady, match="there are no files"):
        workshop.plan(copy(pin="live"))


def test_a_pin_by_name_is_read_until_it_expires(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    workshop.version("trades", "t2", 2)
    audited = PinItem(namespace="file", name=workshop.path("trades"), version="t1")
    workshop.link.execute(PinCommand(pin="audit", until=NOW.replace(year=2099), datasets=[audited]))
    assert workshop.plan(copy(pin="'pin:audit'")).inputs[0].version == "t1"
    with pytest.raises(ProcessNotReady, match="no pin 'none' of the dataset"):
        workshop.plan(copy(pin="'pin:none'"))


CONTRACTS = {
    "a column is gone": ("{quantity: int}", "column quantity is missing; columns: id, amount"),
    "a column is called otherwise": ("{amont: double}", "column amont is missing; did you mean amount?"),
    "a column is of another type": ("{amount: string}", "column amount has type double, expected string"),
}


@pytest.mark.parametrize(("columns", "said"), CONTRACTS.values(), ids=CONTRACTS)
def test_a_contract_that_is_broken_is_told(workshop: Workshop, columns: str, said: str) -> None:
    workshop.version("trades", "t1", 1)
    with pytest.raises(ProcessNotReady, match=r"inputs.trades \(") as caught:
        workshop.plan(copy(columns=columns))
    assert said in str(caught.value)


def test_spellings_of_types_are_no_broken_contract(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1, columns={"id": "bigint", "amount": "decimal(10,2)"})
    assert workshop.plan(copy(columns="{id: long, AMOUNT: 'decimal(10, 2)'}")).inputs


def test_sql_that_wants_columns_that_are_not_there_is_told(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    text = """
    inputs: [{dataset: trades, as: trades}]
    steps:
      - {name: one, sql: "SELECT id, amout FROM trades"}
      - {name: two, sql: "SELECT id FROM one"}
    outputs: [{dataset: positions, from: two}]
    """
    with pytest.raises(ProcessNotReady, match=r"steps.one: line 1, column 12: .*amout.*amount"):
        workshop.plan(text)


def test_what_is_wrong_with_several_inputs_is_told_at_once(workshop: Workshop) -> None:
    text = """
    inputs: [{dataset: trades, as: trades}, {dataset: customers, as: customers}]
    outputs: [{dataset: positions, from: trades}]
    """
    with pytest.raises(ProcessNotReady) as caught:
        workshop.plan(text)
    assert len(str(caught.value).splitlines()) == 2


def test_an_input_that_is_made_from_an_output_goes_round(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    positions, trades = (make.dataset(workshop.path(name), "file") for name in ("positions", "trades"))
    workshop.store.apply(run_event("COMPLETE", 9, run=9, job="back", inputs=[positions], outputs=[trades]))
    with pytest.raises(ProcessNotReady, match="cycle: other processes derive it from output positions"):
        workshop.plan(COPY)
    assert workshop.plan(copy(feedback="true")).inputs
    assert workshop.plan(copy(pin="t1")).inputs, "a version that is named goes nowhere"


def test_a_process_may_read_what_it_wrote_before(workshop: Workshop) -> None:
    workshop.version("positions", "p1", 1)
    assert workshop.plan("inputs: [{dataset: positions, as: a}]\noutputs: [{dataset: positions, from: a}]\n").inputs


def test_the_same_run_has_the_same_key_and_any_other_another(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    text = "params: {day: {type: date}}\n" + COPY
    first = workshop.plan(text, params={"day": "2026-01-31"})
    assert workshop.plan(text, params={"day": "2026-01-31"}).key == first.key
    others = [
        workshop.plan(text, params={"day": "2026-02-01"}).key,
        workshop.plan(text.replace("from: trades", "from: trades, format: json"), params={"day": "2026-01-31"}).key,
        workshop.plan(text, params={"day": "2026-01-31"}, rerun=True).key,
        workshop.plan(text, params={"day": "2026-01-31"}, key="mine").key,
    ]
    workshop.version("trades", "t2", 2)
    others.append(workshop.plan(text, params={"day": "2026-01-31"}).key)
    assert len({first.key, *others}) == 6


def test_files_that_nobody_keeps_versions_of_are_known_by_what_they_are(workshop: Workshop) -> None:
    folder = workshop.lake / "trades"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n", encoding="utf-8")
    text = copy(pin="live", format="csv")
    first = workshop.plan(text).key
    assert workshop.plan(text).key == first
    (folder / "b.csv").write_text("id\n2\n", encoding="utf-8")
    assert workshop.plan(text).key != first


def test_a_live_table_makes_every_run_another(workshop: Workshop) -> None:
    url = "{url: 'jdbc:postgresql://db/shop'}"
    text = copy(format="jdbc", options=url)
    assert workshop.plan(text).key != workshop.plan(text).key
    with pytest.raises(ProcessNotReady, match="changes in place, so its versions cannot be read: use pin: live"):
        workshop.plan(copy(format="jdbc", options=url, pin="latest"))


def test_what_is_made_already_is_found_by_its_key(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    key = workshop.plan(COPY).outputs[0].key
    workshop.version("positions", "p1", 2, key=key, publish=False)
    plan = workshop.plan(COPY)
    assert (plan.outputs[0].existing_version, plan.all_outputs_exist, plan.is_up_to_date) == ("p1", True, False)
    workshop.publish("positions", "p1")
    assert workshop.plan(COPY).is_up_to_date


def test_what_a_failed_run_left_is_not_found(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    key = workshop.plan(COPY).outputs[0].key
    workshop.version("positions", "p1", 2, key=key, publish=False, kind="FAIL")
    assert not workshop.plan(COPY).all_outputs_exist


@pytest.mark.parametrize("more", [{"mode": "append"}, {"mode": "merge", "keys": "[id]"}, {"partition_by": "[id]"}])
def test_what_is_built_upon_another_version_is_found_in_what_is_published(
    workshop: Workshop, more: dict[str, str]
) -> None:
    workshop.version("trades", "t1", 1)
    first = workshop.plan(out(**more)).outputs[0]
    assert (first.base_manifest, first.key[-1]) == (None, "@")
    key = f"{first.key}p0"
    workshop.version(
        "positions", "p1", 2, key=key, roots=[VersionRoot(workshop.path("positions/_version=p1"), "p1", key)]
    )
    again = workshop.plan(out(**more)).outputs[0]
    assert (again.existing_version, again.published) == ("p1", "p1")
    workshop.version("trades", "t2", 3)
    other = workshop.plan(out(**more)).outputs[0]
    assert other.base_manifest is not None
    assert (other.existing_version, other.base_manifest.version, other.key[-3:]) == (None, "p1", "@p1")


def test_rows_that_were_appended_long_ago_are_not_appended_again(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    key = workshop.plan(out(mode="append")).outputs[0].key
    roots = [
        VersionRoot(workshop.path(f"positions/_version={tag}"), tag, of) for tag, of in (("p1", key), ("p2", "other"))
    ]
    workshop.version("positions", "p2", 2, roots=roots)
    assert workshop.plan(out(mode="append")).outputs[0].existing_version == "p2"


def manifest(workshop: Workshop, **changed: str | int) -> None:
    folder = workshop.lake / "brought"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n", encoding="utf-8")
    piece = {"path": "a.csv", "size": 5, "sha256": hashlib.sha256(b"id\n1\n").hexdigest()} | changed
    (folder / "manifest.json").write_text(json.dumps({"files": [piece], "rows": 1, "columns": {"id": "int"}}))


BROUGHT = (
    "inputs: [{dataset: brought, as: a, format: files, manifest: manifest.json}]\noutputs: [{dataset: o, from: a}]\n"
)


def test_files_with_a_manifest_are_a_version_by_its_checksum(workshop: Workshop) -> None:
    manifest(workshop)
    found = workshop.plan(BROUGHT).inputs[0]
    text = (workshop.lake / "brought" / "manifest.json").read_bytes()
    assert (found.version, found.rows, found.columns) == (hashlib.sha256(text).hexdigest()[:16], 1, {"id": "int"})


MISTAKES = {
    "a file that is not there": ({"path": "b.csv"}, "b.csv: is missing; a.csv: is not in the manifest"),
    "another size": ({"size": 6}, "a.csv: has 5 bytes, the manifest says 6"),
    "another content": ({"sha256": "0" * 64}, "a.csv: checksum differs from the manifest"),
}


@pytest.mark.parametrize(("changed", "said"), MISTAKES.values(), ids=MISTAKES)
def test_files_that_are_not_as_their_manifest_says_are_told(
    workshop: Workshop, changed: dict[str, str | int], said: str
) -> None:
    manifest(workshop, **changed)
    with pytest.raises(InvalidData) as caught:
        verify_delivery(workshop.plan(BROUGHT).inputs[0], workshop.storage)
    assert str(caught.value).endswith(said)


def test_a_manifest_that_is_none_is_told(workshop: Workshop) -> None:
    manifest(workshop)
    (workshop.lake / "brought" / "manifest.json").write_text('{"files": [{"path": "a"}]}')
    with pytest.raises(ConfigError, match=r"manifest.json: Object missing required field `size`"):
        workshop.plan(BROUGHT)
    (workshop.lake / "brought" / "manifest.json").unlink()
    with pytest.raises(ProcessNotReady, match="there is no manifest"):
        workshop.plan(BROUGHT)


def test_a_file_that_is_wrong_is_told_before_anything_is_asked(workshop: Workshop) -> None:
    text = COPY + "steps: [{name: s, sql: SELECT FROM WHERE}]\n"
    with pytest.raises(ConfigError, match=r"p.yaml: steps.s: line 1, column"):
        workshop.plan(text)


def test_datasets_take_parameters(workshop: Workshop) -> None:
    workshop.version("trades/2026-01-31", "t1", 1)
    text = """
    params: {day: {type: date, required: true}}
    inputs: [{dataset: "trades/{day}", as: trades}]
    outputs: [{dataset: "positions/{day}", from: trades}]
    quality: [{on: "positions/{day}", check: not_null, column: id}]
    """
    plan = workshop.plan(text, params={"day": "2026-01-31"})
    assert plan.outputs[0].location.name == workshop.path("positions/2026-01-31")
    assert [one.check for one in plan.outputs[0].checks] == ["not_null"]


def test_steps_that_are_written_down_are_datasets_of_their_own(workshop: Workshop) -> None:
    workshop.version("trades", "t1", 1)
    text = """
    inputs: [{dataset: trades, as: trades}]
    steps:
      - {name: kept, sql: "SELECT * FROM trades", materialize: true}
      - {name: passed, sql: "SELECT * FROM kept"}
    outputs: [{dataset: positions, from: passed}]
    """
    plan = workshop.plan(text)
    kept, positions = plan.outputs
    assert (kept.output.dataset, kept.is_step, positions.is_step) == ("p/kept", True, False)
    assert [one.name for one in plan.source_datasets(positions)] == [kept.location.name]
    assert [one.name for one in plan.source_datasets(kept)] == [workshop.path("trades")]


def test_where_the_lake_lies_the_file_says_before_the_settings(workshop: Workshop, tmp_path: Path) -> None:
    workshop.version("trades", "t1", 1)
    wanted = workshop.wanted(COPY)
    process = wanted.definition.process.model_copy(update={"lake": str(tmp_path / "other")})
    changed = wanted._replace(definition=wanted.definition.model_copy(update={"process": process}))
    with pytest.raises(ProcessNotReady, match="other/trades"):
        Planner(workshop.link, workshop.storage, NOW).plan(changed)
