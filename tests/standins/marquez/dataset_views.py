"""JSON of datasets."""

from tests.standins.marquez import names, times
from tests.standins.marquez.run_views import merge_facets
from tests.standins.marquez.tables import Dataset, Field, Json, Name, Version

_VERSION_FACET_KINDS = ("dataset", "input")


def render(dataset: Dataset, name: Name, *, columns: bool = False, in_list: bool = False) -> Json:
    """Render a dataset under one of its names, optionally with column lineage."""
    own = (dataset.namespace, dataset.name) == name
    out = base(dataset, name)
    out |= {
        "lastModifiedAt": times.format_micros(dataset.modified),
        "lastLifecycleState": None if dataset.current is None else dataset.current.lifecycle,
        "description": dataset.description,
        "currentVersion": None if dataset.current is None else dataset.current.uuid,
        "columnLineage": _columns(dataset.current) if columns and name == dataset.names[0] else None,
        "facets": facets(dataset.current) if own or in_list else {},
    }
    if dataset.type == "STREAM":
        out["schemaLocation"] = None if dataset.current is None else dataset.current.location
    return out | {"deleted": dataset.deleted}


def base(dataset: Dataset, name: Name) -> Json:
    """Members that all representations of a dataset share."""
    namespace, own = names.namespace(name[0]), names.checked_name(name[1])
    return {
        "id": {"namespace": namespace, "name": own},
        "type": dataset.type,
        "name": own,
        "physicalName": names.checked_name(dataset.physical),
        "createdAt": times.format_micros(dataset.created),
        "updatedAt": times.format_micros(dataset.updated),
        "namespace": namespace,
        "sourceName": dataset.source,
        "fields": [] if dataset.current is None else [column(field) for field in dataset.current.fields.values()],
        "tags": list(dataset.tags),
    }


def column(field: Field) -> Json:
    return {"name": field.name, "type": field.type, "tags": list(field.tags), "description": field.description}


def facets(version: Version | None) -> Json:
    """Merge the facets of a version."""
    if version is None:
        return {}
    return merge_facets(
        (facet.time, facet.name, facet.value) for facet in version.facets if facet.kind in _VERSION_FACET_KINDS
    )


def version_facets(version: Version) -> Json:
    """Merge the facets of a version that are not input or output facets."""
    return merge_facets((facet.time, facet.name, facet.value) for facet in version.facets if facet.kind == "dataset")


def _columns(version: Version | None) -> list[Json] | None:
    out: dict[str, Json] = {}
    for edge in () if version is None else version.columns.values():
        transformation = {"transformationDescription": edge.description, "transformationType": edge.type}
        entry = out.setdefault(edge.to.name, {"name": edge.to.name, "inputFields": [], **transformation})
        namespace, dataset_name = edge.version.name
        input_field = {"namespace": namespace, "dataset": dataset_name, "field": edge.source.name, **transformation}
        entry["inputFields"].append(input_field)
    return list(out.values()) or None
