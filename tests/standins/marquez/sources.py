"""Calls about sources: where datasets lie."""

from tests.standins.marquez import times
from tests.standins.marquez.errors import failed, not_found, unreadable
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.tables import Json, Source


def listed(call: Call) -> Answer:
    """List sources; fails as soon as one has no address."""
    known = sorted(call.store.sources.values(), key=lambda one: one.name)
    return Answer(body={"sources": call.page([_shown(one) for one in known])})


def get(call: Call) -> Answer:
    name = call.args["source"]
    found = call.store.sources.get(name)
    if found is None:
        raise not_found("Source", name)
    return Answer(body=_shown(found))


def put(call: Call) -> Answer:
    name, told = call.args["source"], call.object()
    if told.get("type") is None:
        raise unreadable("Cannot construct instance of `marquez.service.models.SourceMeta`")
    now = call.store.now()
    found = call.store.sources.setdefault(name, Source(name, told["type"], now, now, told.get("connectionUrl")))
    found.type, found.updated = told["type"], now
    found.url, found.description = told.get("connectionUrl"), told.get("description")
    return Answer(body=_shown(found))


def _shown(source: Source) -> Json:
    if not source.url:
        raise failed()
    return {
        "type": source.type,
        "name": source.name,
        "createdAt": times.written(source.created),
        "updatedAt": times.written(source.updated),
        "connectionUrl": source.url,
        "description": source.description,
    }
