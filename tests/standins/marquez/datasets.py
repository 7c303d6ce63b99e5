"""Calls about datasets."""

from tests.standins.marquez import dataset_views, namespaces
from tests.standins.marquez.errors import failed, not_found, plain
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.tables import ColumnEdge, Dataset, Json, Name, Store

#: How much of a name the server looks at when it finds a dataset by any of its names.
_COMPARED = 255


def asked(call: Call) -> tuple[Dataset, Name]:
    """Give the dataset of a path, and the name it was asked by."""
    namespace, name = namespaces.checked(call).name, call.args["dataset"]
    if not name.strip():
        raise plain(404)
    found = call.store.dataset(namespace, name)
    if found is None:
        raise not_found("Dataset", name)
    return found, (namespace, name)


def get(call: Call) -> Answer:
    dataset, name = asked(call)
    return Answer(body=shown(call.store, dataset, name, call.store.columns))


def shown(store: Store, dataset: Dataset, name: Name, edges: list[ColumnEdge] | None = None) -> Json:
    """Show one dataset; fails if another has the same beginning."""
    alike = {
        id(other)
        for (namespace, own), other in store.symlinks.items()
        if namespace == name[0] and own[:_COMPARED] == name[1][:_COMPARED] and not other.hidden
    }
    if len(alike) > 1:
        raise failed()
    return dataset_views.shown(dataset, name, edges)


def listed(call: Call) -> Answer:
    namespace = namespaces.checked(call).name
    ordered = sorted(
        name for name, dataset in call.store.symlinks.items() if name[0] == namespace and not dataset.hidden
    )
    page = [
        dataset_views.shown(call.store.symlinks[name], name, call.store.columns, alone=False)
        for name in call.page(ordered)
    ]
    return Answer(body={"totalCount": len(ordered), "datasets": page})


def delete(call: Call) -> Answer:
    """Hide a dataset; gives it as it was."""
    dataset, name = asked(call)
    body = shown(call.store, dataset, name)
    if (dataset.namespace, dataset.name) == name:
        dataset.hidden = True
    return Answer(body=body)
