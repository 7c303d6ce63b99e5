"""Datasets as events write them: names, fields, versions, facets."""

from tests.standins.marquez import names
from tests.standins.marquez.column_rows import column_edges
from tests.standins.marquez.errors import Conflict
from tests.standins.marquez.shapes import kept
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import Dataset, Facet, Field, Json, Name, Run, Source, Version, new_uuid

_NO_SCHEMA = "no fields"


def ids(datasets: list[Json] | None) -> list[Name]:
    """Give the names of datasets of an event; a bad one ends the event."""
    return [(names.namespace(told["namespace"]), names.named(told["name"])) for told in datasets or ()]


def write(store: Store, told: Json, at: int, run: Run | None, reading: bool) -> Version:
    """Take over what an event tells of a dataset; gives the version that was read or written."""
    facets = told["facets"] or {}
    store.namespace(told["namespace"], at)
    source = _source(store, facets.get("dataSource"), at)
    store.namespace(names.replaced(told["namespace"]), at)
    dataset = _row(store, told, facets, source, at)
    schema = (facets.get("schema") or {}).get("fields")
    fields = [_field(dataset, column) for column in schema or ()]
    version = dataset.current if reading else None
    if version is None:
        version = _version(store, dataset, told, schema, at, run, reading)
    version.fields.update({id(column): column for column in fields})
    if reading and run is not None:
        run.inputs.setdefault(version.uuid, version)
        if dataset.current is None:
            dataset.current, dataset.updated = version, at
    if not reading:
        column_edges(facets, fields, version, run)
    _facets(version, told, at, run, reading)
    return version


def _source(store: Store, told: Json | None, at: int) -> str:
    name, url = ("default", None) if told is None else (told["name"] or "", told["uri"])
    found = store.sources.setdefault(name, Source(name, "POSTGRESQL", at, at, url))
    if told is not None:
        found.updated, found.url = at, url
    return name


def _row(store: Store, told: Json, facets: Json, source: str, at: int) -> Dataset:
    own = (told["namespace"], told["name"])
    stored = names.replaced(told["namespace"])
    found = store.symlinks.get(own)
    if found is None:
        if (stored, told["name"]) in store.rows:
            raise Conflict("datasets_namespace_uuid_name_key")
        found = Dataset(new_uuid(), [own], stored, told["name"], "DB_TABLE", told["name"], at, at, source)
        store.call(found, own)
        store.rows[stored, told["name"]] = found
    for other in (facets.get("symlinks") or {}).get("identifiers") or ():
        store.namespace(other["namespace"], at)
        store.call(found, (other["namespace"], other["name"]))
    found.type, found.physical, found.updated, found.hidden = "DB_TABLE", told["name"], at, False
    found.description = (facets.get("documentation") or {}).get("description")
    found.deleted = _lifecycle(facets).upper() == "DROP"
    return found


def _lifecycle(facets: Json) -> str:
    return (facets.get("lifecycleStateChange") or {}).get("lifecycleStateChange") or ""


def _field(dataset: Dataset, told: Json) -> Field:
    key = (told["name"], told["type"])
    found = dataset.fields.setdefault(key, Field(told["name"], told["type"], told["description"], dataset))
    found.description = told["description"]
    return found


def _version(
    store: Store, dataset: Dataset, told: Json, schema: list[Json] | None, at: int, run: Run | None, reading: bool
) -> Version:
    lifecycle = _lifecycle(told["facets"] or {})
    columns = [f"{column['name']}:{column['type']}:{column['description']}" for column in schema or ()]
    run_id = "" if run is None else run.uuid
    key = names.name_uuid(told["namespace"], dataset.source, told["name"], lifecycle, ",".join(columns), run_id)
    found = store.versions.get(key)
    if found is None:
        schema_key = names.name_uuid(dataset.uuid, ",".join(columns) or _NO_SCHEMA)
        name = (told["namespace"], told["name"])
        found = Version(new_uuid(), key, dataset, name, at, schema, schema_key, lifecycle, None)
        store.versions[key] = found
        dataset.versions.append(found)
    if not reading and found.run is not run and run is not None:
        found.run = run
        run.outputs.append(found)
    return found


def _facets(version: Version, told: Json, at: int, run: Run | None, reading: bool) -> None:
    for member, kind in (("facets", "dataset"), ("inputFacets", "input") if reading else ("outputFacets", "output")):
        for name, value in (told[member] or {}).items():
            if value is not None:
                version.facets.append(Facet(at, kind, name, kept(value), run))
