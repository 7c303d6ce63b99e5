"""Datasets as the server shows them."""

from tests.standins.marquez import names, times
from tests.standins.marquez.run_views import merged
from tests.standins.marquez.tables import Dataset, Field, Json, Name, Version

_SHOWN = ("dataset", "input")


def shown(dataset: Dataset, name: Name, *, columns: bool = False, alone: bool = True) -> Json:
    """Show a dataset under one of its names; alone or in a list, with or without what its columns are made of."""
    own = (dataset.namespace, dataset.name) == name
    out = base(dataset, name)
    out |= {
        "lastModifiedAt": times.written(dataset.modified),
        "lastLifecycleState": None if dataset.current is None else dataset.current.lifecycle,
        "description": dataset.description,
        "currentVersion": None if dataset.current is None else dataset.current.uuid,
        "columnLineage": _columns(dataset.current) if columns and name == dataset.names[0] else None,
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


def version_facets(version: Version) -> Json:
    """Put those facets of a version together that are not of one reading or writing."""
    return merged((one.time, one.name, one.value) for one in version.facets if one.kind == "dataset")


def _columns(version: Version | None) -> list[Json] | None:
    out: dict[str, Json] = {}
    for edge in () if version is None else version.columns.values():
        how = {"transformationDescription": edge.description, "transformationType": edge.type}
        entry = out.setdefault(edge.to.name, {"name": edge.to.name, "inputFields": [], **how})
        namespace, dataset_name = edge.version.name
        one = {"namespace": namespace, "dataset": dataset_name, "field": edge.source.name, **how}
        entry["inputFields"].append(one)
    return list(out.values()) or None
