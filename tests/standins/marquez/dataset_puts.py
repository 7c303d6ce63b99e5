"""PUT of a dataset: told by a person, not by an event."""

from tests.standins.marquez import names, namespaces
from tests.standins.marquez.datasets import shown
from tests.standins.marquez.errors import not_found, unreadable
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import Dataset, Field, Json, Version, new_uuid

_TYPES = ("DB_TABLE", "STREAM")


def put(call: Call) -> Answer:
    """Make a dataset, or another version of it."""
    told = call.object()
    if told.get("type") not in _TYPES:
        raise unreadable("Could not resolve subtype of `marquez.service.models.DatasetMeta`")
    namespace = namespaces.checked(call).name
    if told.get("sourceName") not in call.store.sources:
        raise not_found("Source", str(told.get("sourceName")))
    name = (namespace, call.args["dataset"])
    now = call.store.now()
    dataset = call.store.symlinks.get(name)
    if dataset is None:
        physical, source = told.get("physicalName") or name[1], told["sourceName"]
        stored = names.replaced(namespace)
        dataset = Dataset(new_uuid(), [name], stored, name[1], told["type"], physical, now, now, source)
        call.store.call(dataset, name)
        call.store.rows[stored, name[1]] = dataset
    dataset.updated, dataset.hidden = now, False
    dataset.description = told.get("description") or dataset.description
    for tag in told.get("tags") or ():
        call.store.tags.setdefault(tag, None)
        dataset.tags[tag] = None
    _version(call.store, dataset, told, now)
    return Answer(body=shown(call.store, dataset, name))


def _version(store: Store, dataset: Dataset, told: Json, now: int) -> None:
    columns = told.get("fields") or []
    key = names.name_uuid(dataset.uuid, *(f"{one['name']}:{one.get('type')}" for one in columns))
    version = store.versions.get(key)
    if version is None:
        version = Version(new_uuid(), key, dataset, dataset.names[0], now, columns, key, None, None)
        store.versions[key] = version
        dataset.versions.append(version)
    version.location = told.get("schemaLocation")
    for one in columns:
        column = dataset.fields.setdefault(
            (one["name"], one.get("type")), Field(one["name"], one.get("type"), None, dataset)
        )
        column.description = one.get("description")
        column.tags.update(dict.fromkeys(one.get("tags") or ()))
        version.fields[id(column)] = column
    dataset.current = version
