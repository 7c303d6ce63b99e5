"""Handlers of dataset versions."""

from tests.standins.marquez import dataset_views, datasets, names, run_views, times
from tests.standins.marquez.errors import internal_error, not_found
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.tables import Dataset, Json, Name, Version


def list_versions(call: Call) -> ApiResponse:
    """List the versions of a dataset, newest first."""
    dataset, name = datasets.resolve(call)
    is_alias = (dataset.namespace, dataset.name) != name
    ordered = [] if is_alias else sorted(dataset.versions, key=lambda version: -version.created)
    page = [_render(version, dataset, name) for version in call.page(ordered)]
    return ApiResponse(body={"versions": page, "totalCount": len(ordered)})


def get(call: Call) -> ApiResponse:
    version_id = names.path_uuid(call.args["version"])
    dataset, name = datasets.resolve(call)
    found = next((version for version in dataset.versions if version.uuid == version_id), None)
    if found is None:
        raise not_found("Dataset version", version_id)
    if len(dataset.names) > 1:  # the server joins by name, so aliases make the dataset ambiguous
        raise internal_error()
    return ApiResponse(body=_render(found, dataset, name))


def _render(version: Version, dataset: Dataset, name: Name) -> Json:
    out = dataset_views.base(dataset, name)
    out |= {
        "createdAt": times.format_micros(version.created),
        "version": version.uuid,
        "fields": [dataset_views.column(field) for field in version.fields.values()],
        "lifecycleState": version.lifecycle,
        "description": dataset.description,
        "currentSchemaVersion": version.schema_hash,
        "createdByRun": None if version.run is None else run_views.render(version.run),
        "facets": dataset_views.version_facets(version),
    }
    del out["updatedAt"]
    return out
