"""Calls about namespaces."""

from tests.standins.marquez import names, times
from tests.standins.marquez.errors import not_found, unreadable
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import Json, Namespace


def checked(call: Call) -> Namespace:
    """Give the namespace of a path, which must be there; a deleted one is."""
    name = names.asked_namespace(call.args["namespace"])
    found = call.store.namespaces.get(name)
    if found is None:
        raise not_found("Namespace", name)
    return found


def listed(call: Call) -> Answer:
    ordered = sorted(call.store.namespaces.values(), key=lambda one: (one.name.casefold(), one.name))
    return Answer(body={"namespaces": [_shown(one) for one in call.page(ordered)]})


def get(call: Call) -> Answer:
    return Answer(body=_shown(checked(call)))


def put(call: Call) -> Answer:
    name = names.asked_namespace(call.args["namespace"])
    told = call.object()
    owner = told.get("ownerName")
    if owner is None:
        raise unreadable("Cannot construct instance of `marquez.service.models.NamespaceMeta`")
    now = call.store.now()
    found = call.store.namespaces.get(name)
    if found is None:
        found = Namespace(name, now, now, owner, told.get("description"))
        call.store.namespaces[name] = found
    found.owner, found.updated, found.hidden = owner, now, False
    return Answer(body=_shown(found))


def delete(call: Call) -> Answer:
    """Hide a namespace with all that is in it; gives it as it was."""
    found = checked(call)
    body = _shown(found)
    hide(call.store, found)
    return Answer(body=body)


def hide(store: Store, namespace: Namespace) -> None:
    namespace.hidden = True
    for job in store.jobs.values():
        if job.namespace == namespace.name:
            job.hidden = True
    for dataset in store.rows.values():
        if dataset.namespace == namespace.name:
            dataset.hidden = True


def _shown(namespace: Namespace) -> Json:
    return {
        "name": names.namespace(namespace.name),
        "createdAt": times.written(namespace.created),
        "updatedAt": times.written(namespace.updated),
        "ownerName": namespace.owner,
        "description": namespace.description,
        "isHidden": namespace.hidden,
    }
