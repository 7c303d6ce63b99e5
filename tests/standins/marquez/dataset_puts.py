"""PUT of datasets."""

from tests.standins.marquez import names, namespaces
from tests.standins.marquez.datasets import render_dataset
from tests.standins.marquez.errors import invalid_body, not_found
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import Dataset, Field, Json, Version, new_uuid

_TYPES = ("DB_TABLE", "STREAM")


def put(call: Call) -> ApiResponse:
    """Create a dataset, or add a version."""
    body = call.object()
    if body.get("type") not in _TYPES:
        raise invalid_body("Could not resolve subtype of `marquez.service.models.DatasetMeta`")
    namespace = namespaces.resolve(call).name
    if body.get("sourceName") not in call.store.sources:
        raise not_found("Source", str(body.get("sourceName")))
    name = (namespace, call.args["dataset"])
    now = call.store.now()
    dataset = call.store.symlinks.get(name)
    if dataset is None:
        physical, source = body.get("physicalName") or name[1], body["sourceName"]
        row_namespace = names.stored_namespace(namespace)
        dataset = Dataset(new_uuid(), [name], row_namespace, name[1], body["type"], physical, now, now, source)
        call.store.add_name(dataset, name)
        call.store.rows[row_namespace, name[1]] = dataset
    dataset.updated, dataset.hidden = now, False
    dataset.description = body.get("description") or dataset.description
    for tag in body.get("tags") or ():
        call.store.tags.setdefault(tag, None)
        dataset.tags[tag] = None
    _version(call.store, dataset, body, now)
    return ApiResponse(body=render_dataset(call.store, dataset, name))


def _version(store: Store, dataset: Dataset, body: Json, now: int) -> None:
    columns = body.get("fields") or []
    key = names.name_uuid(dataset.uuid, *(f"{column['name']}:{column.get('type')}" for column in columns))
    version = store.versions.get(key)
    if version is None:
        version = Version(new_uuid(), key, dataset, dataset.names[0], now, columns, key, None, None)
        store.versions[key] = version
        dataset.versions.append(version)
    version.location = body.get("schemaLocation")
    for column in columns:
        field = dataset.fields.setdefault(
            (column["name"], column.get("type")), Field(column["name"], column.get("type"), None, dataset)
        )
        field.description = column.get("description")
        field.tags.update(dict.fromkeys(column.get("tags") or ()))
        version.fields[id(field)] = field
    dataset.current = version
