"""Names are stored and returned unchanged, with any characters and length."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from bridge.cli.main import app as command
from bridge.intake.file_ingester import FileIngester
from mappers.canonical.identity import MAX_KEY_CHARACTERS, bounded_key
from tests import factories as make
from tests.api.service import RunningService, settings_for
from tests.fuzz.hostile_names import HOSTILE
from tests.stores import Json, Store, as_bytes
from tests.system.service import write_events

NAMES = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


def hostile_events(text: str) -> list[Json]:
    """Events that contain a text in every field."""
    facets: dict[str, Json] = {
        "schema": make.facet(fields=[{"name": text, "type": text, "description": text, "fields": [{"name": text}]}]),
        "columnLineage": make.columns(
            {text: [make.field(text, text, make.transformation(text, text), namespace=text)]}
        ),
        "ownership": make.facet(owners=[{"name": text, "type": "team"}]),
        "documentation": make.facet(description=text),
        "version": make.facet(datasetVersion=text),
        "symlinks": make.symlinks("alias of " + text, namespace=text, kind=text),
        "tags": make.facet(tags=[{"key": text, "value": text, "source": text, "field": text}]),
        "lineageBridge_path": make.facet(path=text),
        "lineageBridge_registration": make.registration(by=text, reviewer=text, note=text),
        text: make.facet(value=text),
    }
    source = make.dataset(text, text, input_facets={text: make.facet(value=text)}, version=facets["version"])
    own = {"lineageBridge_idempotencyKey": make.facet(key=text), text: make.facet(value=text)}
    target = make.dataset("made of " + text, text, output_facets=own, **facets)
    assertions = make.facet(assertions=[{"assertion": text, "success": True, "column": text, "name": text}])
    source["facets"]["dataQualityAssertions"] = assertions
    job_facets = {text: make.facet(value=text), "jobType": make.facet(integration=text, jobType=text)}
    run_facets = {text: make.facet(value=text), "parent": make.parent(2, text, text)}
    run = make.run_event(
        job=text, namespace=text, inputs=[source], outputs=[target], run_facets=run_facets, job_facets=job_facets
    )
    return [run, make.dataset_event(1, target), make.job_event(2, job=text, inputs=[source], outputs=[target])]


def export_tables(store: Store) -> dict[str, list[Json]]:
    tables: dict[str, list[Json]] = {}
    for line in store.export().splitlines():
        table, row = msgspec.json.decode(line)
        tables.setdefault(table, []).append(row)
    return tables


def column_values(tables: dict[str, list[Json]], table: str, name: str) -> set[Any]:
    return {row[name] for row in tables[table] if row.get(name) is not None}


@NAMES
def test_names_are_stored_unchanged(store: Store, text: str) -> None:
    store.apply(*hostile_events(text))
    tables = export_tables(store)
    assert text in column_values(tables, "ol_namespace", "namespace_uri")
    assert {text, "made of " + text} <= column_values(tables, "ol_dataset", "name")
    assert text in column_values(tables, "ol_job", "name")
    assert (
        column_values(tables, "column_lineage", "source_field")
        == {text}
        == column_values(tables, "column_lineage", "target_field")
    )
    assert (
        column_values(tables, "ol_dataset", "owner_team")
        == {text}
        == column_values(tables, "ol_dataset", "description")
    )
    assert text in column_values(tables, "quality_check_def", "field_name")
    assert column_values(tables, "dataset_registration", "submitted_by") == {text}
    assert text in column_values(tables, "dataset_version", "path")
    bodies = [msgspec.json.decode(row["body"]) for row in tables["facet"] if row["body"]]
    assert {"key": text, "value": text, "source": text, "field": text} in [
        t for b in bodies for t in b.get("tags", ())
    ]
    assert {body["value"] for body in bodies if "value" in body} == {text}
    fields = {name for (name,) in store.rows("SELECT field_name FROM ol_dataset_field")}
    assert {text, f"{bounded_key(text)}.{text}"} <= fields


@NAMES
def test_key_names_are_bounded(store: Store, text: str) -> None:
    store.apply(*hostile_events(text))
    tables = export_tables(store)
    names = column_values(tables, "facet", "name")
    assert {bounded_key(prefix + text) for prefix in ("", "input:", "output:")} <= names
    assert column_values(tables, "dataset_symlink", "identifier_type") == {bounded_key(text.upper())}
    assert bounded_key(text) in column_values(tables, "dataset_version", "version_tag")
    assert column_values(tables, "ol_run_input", "version") == {bounded_key(text)}
    notes_ = [
        n for (notes,) in store.rows("SELECT notes_json FROM run_event") for n in msgspec.json.decode(notes or "[]")
    ]
    assert any("truncated, with a hash of the full text" in note for note in notes_) == (
        len(text) > MAX_KEY_CHARACTERS
    )


@pytest.mark.system("postgres")
def test_sqlite_and_postgres_export_the_same(postgres_store: Store) -> None:
    events = [event for text in HOSTILE.values() for event in hostile_events(text)]
    with Store() as embedded:
        assert postgres_store.apply(*events).export() == embedded.apply(*events).export()


def test_bounded_keys_of_long_texts_differ() -> None:
    long = "x" * 3000
    texts = [
        long,
        long + "y",
        long[:MAX_KEY_CHARACTERS],
        long[: MAX_KEY_CHARACTERS + 1],
        bounded_key(long),
        bounded_key(long + "y"),
    ]
    assert len({bounded_key(text) for text in texts}) == len(texts)
    assert bounded_key(long) == bounded_key(long)
    assert all(len(bounded_key("\U0010ffff" * size).encode()) < 2000 for size in (1, 400, 401, 20_000))


@NAMES
def test_commands_find_and_print_names(tmp_path: Path, text: str) -> None:
    with RunningService(settings_for(tmp_path)) as api:
        source, target = make.dataset(text, text), make.dataset("made of " + text, text)
        event = make.run_event(job=text, namespace=text, inputs=[source], outputs=[target])
        assert api.post(event).status_code == 201
        url = api.settings.store.url
    run = CliRunner(env={"LINEAGE_BRIDGE__STORE__URL": url}).invoke
    lineage = run(command, ["lineage", "--", text, "made of " + text], catch_exceptions=False)
    assert lineage.exit_code == 0
    lines = [f"{_escaped(text)} {_escaped('made of ' + text)}", "└─ <- {0} {0}   [{0} {0}, inferred]"]
    assert lineage.stdout_bytes.decode() == "".join(line.replace("{0}", _escaped(text)) + "\n" for line in lines)
    export = run(command, ["export", "--canonical"], catch_exceptions=False)
    assert text in {msgspec.json.decode(line)[1].get("name") for line in export.stdout_bytes.splitlines()}


def test_file_with_long_path_is_ingested_once(store: Store, tmp_path: Path) -> None:
    text = HOSTILE["20,000 characters"]
    folder = tmp_path.joinpath(*(text[start : start + 200] for start in range(0, 3400, 200)))
    folder.mkdir(parents=True)
    file = write_events(folder / "events.ndjson", [as_bytes(make.run_event())])
    assert len(str(file)) > 3400
    ingester = FileIngester(store.reader, store.writer)
    assert [ingester.ingest_file(file).accepted for _ in range(2)] == [1, 0]
    assert store.value("SELECT source FROM intake_ledger") == bounded_key(str(file))


def _escaped(text: str) -> str:
    """A name as printed in the tree, with escaped control characters."""
    controls = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
    return controls.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
