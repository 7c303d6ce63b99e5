"""Handlers of datasets."""

from tests.standins.marquez import dataset_views, namespaces
from tests.standins.marquez.errors import internal_error, not_found, standard_error
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.store import COMPARED_LENGTH, Store
from tests.standins.marquez.tables import Dataset, Json, Name


def resolve(call: Call) -> tuple[Dataset, Name]:
    """Find the dataset named in the path; returns it with that name."""
    namespace, name = namespaces.resolve(call).name, call.args["dataset"]
    if not name.strip():
        raise standard_error(404)
    found = call.store.dataset(namespace, name)
    if found is None:
        raise not_found("Dataset", name)
    return found, (namespace, name)


def get(call: Call) -> ApiResponse:
    dataset, name = resolve(call)
    return ApiResponse(body=render_dataset(call.store, dataset, name, columns=True))


def render_dataset(store: Store, dataset: Dataset, name: Name, columns: bool = False) -> Json:
    """Render a dataset; fails if another name has the same first COMPARED_LENGTH characters."""
    same_prefix = store.by_compared_name.get((name[0], name[1][:COMPARED_LENGTH]), ())
    if len({other.uuid for other in same_prefix if not other.hidden}) > 1:
        raise internal_error()
    return dataset_views.render(dataset, name, columns=columns)


def list_datasets(call: Call) -> ApiResponse:
    namespace = namespaces.resolve(call).name
    ordered = sorted(
        name for name, dataset in call.store.symlinks.items() if name[0] == namespace and not dataset.hidden
    )
    page = [
        dataset_views.render(call.store.symlinks[name], name, columns=True, in_list=True)
        for name in call.page(ordered)
    ]
    return ApiResponse(body={"totalCount": len(ordered), "datasets": page})


def delete(call: Call) -> ApiResponse:
    """Hide a dataset and return its previous state."""
    dataset, name = resolve(call)
    body = render_dataset(call.store, dataset, name)
    if (dataset.namespace, dataset.name) == name:
        dataset.hidden = True
    return ApiResponse(body=body)
