"""Calls about datasets."""

from tests.standins.marquez import dataset_views, namespaces
from tests.standins.marquez.errors import failed, not_found, plain
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.store import COMPARED, Store
from tests.standins.marquez.tables import Dataset, Json, Name


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
    return Answer(body=shown(call.store, dataset, name, columns=True))


def shown(store: Store, dataset: Dataset, name: Name, columns: bool = False) -> Json:
    """Show one dataset; fails if another has the same beginning."""
    alike = store.alike.get((name[0], name[1][:COMPARED]), ())
    if len({other.uuid for other in alike if not other.hidden}) > 1:
        raise failed()
    return dataset_views.shown(dataset, name, columns=columns)


def listed(call: Call) -> Answer:
    namespace = namespaces.checked(call).name
    ordered = sorted(
        name for name, dataset in call.store.symlinks.items() if name[0] == namespace and not dataset.hidden
    )
    page = [
        dataset_views.shown(call.store.symlinks[name], name, columns=True, alone=False) for name in call.page(ordered)
    ]
    return Answer(body={"totalCount": len(ordered), "datasets": page})


def delete(call: Call) -> Answer:
    """Hide a dataset; gives it as it was."""
    dataset, name = asked(call)
    body = shown(call.store, dataset, name)
    if (dataset.namespace, dataset.name) == name:
        dataset.hidden = True
    return Answer(body=body)
