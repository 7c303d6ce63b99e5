"""Writes datasets from events: names, fields, versions, facets."""

from tests.standins.marquez import names
from tests.standins.marquez.column_rows import column_edges
from tests.standins.marquez.errors import Conflict
from tests.standins.marquez.shapes import to_stored
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import Dataset, Facet, Field, Json, Name, Run, Source, Version, new_uuid

_NO_SCHEMA = "no fields"


def dataset_names(datasets: list[Json] | None) -> list[Name]:
    """Validated names of the datasets of an event."""
    return [
        (names.namespace(dataset["namespace"]), names.checked_name(dataset["name"])) for dataset in datasets or ()
    ]


def write(store: Store, body: Json, at: int, run: Run | None, reading: bool) -> Version:
    """Write a dataset of an event, and return the version that was read or written."""
    facets = body["facets"] or {}
    store.namespace(body["namespace"], at)
    source = _source(store, facets.get("dataSource"), at)
    store.namespace(names.stored_namespace(body["namespace"]), at)
    dataset = _row(store, body, facets, source, at)
    schema = (facets.get("schema") or {}).get("fields")
    fields = [_field(dataset, column) for column in schema or ()]
    version = dataset.current if reading else None
    if version is None:
        version = _version(store, dataset, body, schema, at, run, reading)
    version.fields.update({id(column): column for column in fields})
    if reading and run is not None:
        run.inputs.setdefault(version.uuid, version)
        if dataset.current is None:
            dataset.current, dataset.updated = version, at
    if not reading:
        column_edges(facets, fields, version, run)
    _facets(version, body, at, run, reading)
    return version


def _source(store: Store, facet: Json | None, at: int) -> str:
    name, url = ("default", None) if facet is None else (facet["name"] or "", facet["uri"])
    found = store.sources.setdefault(name, Source(name, "POSTGRESQL", at, at, url))
    if facet is not None:
        found.updated, found.url = at, url
    return name


def _row(store: Store, body: Json, facets: Json, source: str, at: int) -> Dataset:
    own = (body["namespace"], body["name"])
    row_namespace = names.stored_namespace(body["namespace"])
    found = store.symlinks.get(own)
    if found is None:
        if (row_namespace, body["name"]) in store.rows:
            raise Conflict("datasets_namespace_uuid_name_key")
        found = Dataset(new_uuid(), [own], row_namespace, body["name"], "DB_TABLE", body["name"], at, at, source)
        store.add_name(found, own)
        store.rows[row_namespace, body["name"]] = found
    for symlink in (facets.get("symlinks") or {}).get("identifiers") or ():
        store.namespace(symlink["namespace"], at)
        store.add_name(found, (symlink["namespace"], symlink["name"]))
    found.type, found.physical, found.updated, found.hidden = "DB_TABLE", body["name"], at, False
    found.description = (facets.get("documentation") or {}).get("description")
    found.deleted = _lifecycle(facets).upper() == "DROP"
    return found


def _lifecycle(facets: Json) -> str:
    return (facets.get("lifecycleStateChange") or {}).get("lifecycleStateChange") or ""


def _field(dataset: Dataset, column: Json) -> Field:
    key = (column["name"], column["type"])
    found = dataset.fields.setdefault(key, Field(column["name"], column["type"], column["description"], dataset))
    found.description = column["description"]
    return found


def _version(
    store: Store, dataset: Dataset, body: Json, schema: list[Json] | None, at: int, run: Run | None, reading: bool
) -> Version:
    lifecycle = _lifecycle(body["facets"] or {})
    columns = [f"{column['name']}:{column['type']}:{column['description']}" for column in schema or ()]
    run_id = "" if run is None else run.uuid
    key = names.name_uuid(body["namespace"], dataset.source, body["name"], lifecycle, ",".join(columns), run_id)
    found = store.versions.get(key)
    if found is None:
        schema_key = names.name_uuid(dataset.uuid, ",".join(columns) or _NO_SCHEMA)
        name = (body["namespace"], body["name"])
        found = Version(new_uuid(), key, dataset, name, at, schema, schema_key, lifecycle, None)
        store.versions[key] = found
        dataset.versions.append(found)
    if not reading and found.run is not run and run is not None:
        found.run = run
        run.outputs.append(found)
    return found


def _facets(version: Version, body: Json, at: int, run: Run | None, reading: bool) -> None:
    for member, kind in (("facets", "dataset"), ("inputFacets", "input") if reading else ("outputFacets", "output")):
        for name, value in (body[member] or {}).items():
            if value is not None:
                version.facets.append(Facet(at, kind, name, to_stored(value), run))
