"""Handlers of namespaces."""

from tests.standins.marquez import names, times
from tests.standins.marquez.errors import invalid_body, not_found
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import Json, Namespace


def resolve(call: Call) -> Namespace:
    """Find the namespace named in the path; a deleted one counts."""
    name = names.path_namespace(call.args["namespace"])
    found = call.store.namespaces.get(name)
    if found is None:
        raise not_found("Namespace", name)
    return found


def list_namespaces(call: Call) -> ApiResponse:
    ordered = sorted(
        call.store.namespaces.values(), key=lambda namespace: (namespace.name.casefold(), namespace.name)
    )
    return ApiResponse(body={"namespaces": [_render(namespace) for namespace in call.page(ordered)]})


def get(call: Call) -> ApiResponse:
    return ApiResponse(body=_render(resolve(call)))


def put(call: Call) -> ApiResponse:
    name = names.path_namespace(call.args["namespace"])
    body = call.object()
    owner = body.get("ownerName")
    if owner is None:
        raise invalid_body("Cannot construct instance of `marquez.service.models.NamespaceMeta`")
    now = call.store.now()
    found = call.store.namespaces.get(name)
    if found is None:
        found = Namespace(name, now, now, owner, body.get("description"))
        call.store.namespaces[name] = found
    found.owner, found.updated, found.hidden = owner, now, False
    return ApiResponse(body=_render(found))


def delete(call: Call) -> ApiResponse:
    """Hide a namespace and its contents, and return its previous state."""
    found = resolve(call)
    body = _render(found)
    hide(call.store, found)
    return ApiResponse(body=body)


def hide(store: Store, namespace: Namespace) -> None:
    namespace.hidden = True
    for job in store.jobs.values():
        if job.namespace == namespace.name:
            job.hidden = True
    for dataset in store.rows.values():
        if dataset.namespace == namespace.name:
            dataset.hidden = True


def _render(namespace: Namespace) -> Json:
    return {
        "name": names.namespace(namespace.name),
        "createdAt": times.format_micros(namespace.created),
        "updatedAt": times.format_micros(namespace.updated),
        "ownerName": namespace.owner,
        "description": namespace.description,
        "isHidden": namespace.hidden,
    }
