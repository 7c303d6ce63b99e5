"""Calls about versions of datasets."""

from tests.standins.marquez import dataset_views, datasets, names, run_views, times
from tests.standins.marquez.errors import failed, not_found
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.tables import Dataset, Json, Name, Version


def listed(call: Call) -> Answer:
    """List the versions of a dataset, the last first."""
    dataset, name = datasets.asked(call)
    ordered = sorted(dataset.versions, key=lambda version: -version.created)
    page = [_shown(version, dataset, name) for version in call.page(ordered)]
    return Answer(body={"versions": page, "totalCount": len(ordered)})


def get(call: Call) -> Answer:
    wanted = names.asked_uuid(call.args["version"])
    dataset, name = datasets.asked(call)
    found = next((version for version in dataset.versions if version.uuid == wanted), None)
    if found is None:
        raise not_found("Dataset version", wanted)
    if len(dataset.names) > 1:  # cannot be told from itself
        raise failed()
    return Answer(body=_shown(found, dataset, name))


def _shown(version: Version, dataset: Dataset, name: Name) -> Json:
    out = dataset_views.base(dataset, name)
    out |= {
        "createdAt": times.written(version.created),
        "version": version.uuid,
        "fields": [dataset_views.column(one) for one in version.fields.values()],
        "lifecycleState": version.lifecycle,
        "description": dataset.description,
        "currentSchemaVersion": version.schema_hash,
        "createdByRun": None if version.run is None else run_views.shown(version.run),
        "facets": dataset_views.version_facets(version),
    }
    del out["updatedAt"]
    return out
