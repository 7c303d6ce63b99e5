"""Datasets as the server shows them."""

from tests.standins.marquez import names, times
from tests.standins.marquez.run_views import merged
from tests.standins.marquez.tables import Dataset, Field, Json, Name, Store, Version

_SHOWN = ("dataset", "input")


def shown(store: Store, dataset: Dataset, name: Name, alone: bool = True) -> Json:
    """Show a dataset under one of its names; alone or in a list."""
    own = (dataset.namespace, dataset.name) == name
    out = base(dataset, name)
    out |= {
        "lastModifiedAt": times.written(dataset.modified),
        "lastLifecycleState": None if dataset.current is None else dataset.current.lifecycle,
        "description": dataset.description,
        "currentVersion": None if dataset.current is None else dataset.current.uuid,
        "columnLineage": _columns(store, dataset, name),
        "facets": facets(dataset.current) if own or not alone else {},
    }
    if dataset.type == "STREAM":
        out["schemaLocation"] = None if dataset.current is None else dataset.current.location
    return out | {"deleted": dataset.deleted}


def base(dataset: Dataset, name: Name) -> Json:
    """Show what datasets have in common wherever they are shown."""
    namespace, own = names.namespace(name[0]), names.named(name[1])
    return {
        "id": {"namespace": namespace, "name": own},
        "type": dataset.type,
        "name": own,
        "physicalName": names.named(dataset.physical),
        "createdAt": times.written(dataset.created),
        "updatedAt": times.written(dataset.updated),
        "namespace": namespace,
        "sourceName": dataset.source,
        "fields": [] if dataset.current is None else [column(one) for one in dataset.current.fields.values()],
        "tags": list(dataset.tags),
    }


def column(field: Field) -> Json:
    return {"name": field.name, "type": field.type, "tags": list(field.tags), "description": field.description}


def facets(version: Version | None) -> Json:
    """Put the facets of a version together."""
    if version is None:
        return {}
    return merged((one.time, one.name, one.value) for one in version.facets if one.kind in _SHOWN)


def _columns(store: Store, dataset: Dataset, name: Name) -> list[Json] | None:
    if name != dataset.names[0]:
        return None
    edges = [edge for edge in store.columns if edge.to_version is dataset.current]
    out: dict[str, Json] = {}
    for edge in edges:
        how = {"transformationDescription": edge.description, "transformationType": edge.type}
        entry = out.setdefault(edge.to.name, {"name": edge.to.name, "inputFields": [], **how})
        namespace, dataset_name = edge.version.name
        one = {"namespace": namespace, "dataset": dataset_name, "field": edge.source.name, **how}
        entry["inputFields"].append(one)
    return list(out.values()) or None
