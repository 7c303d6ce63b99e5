"""Handlers of sources, the systems that contain datasets."""

from tests.standins.marquez import times
from tests.standins.marquez.errors import internal_error, invalid_body, not_found
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.tables import Json, Source


def list_sources(call: Call) -> ApiResponse:
    """List sources; fails if any has no URL."""
    sources = sorted(call.store.sources.values(), key=lambda source: source.name)
    return ApiResponse(body={"sources": call.page([_render(source) for source in sources])})


def get(call: Call) -> ApiResponse:
    name = call.args["source"]
    found = call.store.sources.get(name)
    if found is None:
        raise not_found("Source", name)
    return ApiResponse(body=_render(found))


def put(call: Call) -> ApiResponse:
    name, body = call.args["source"], call.object()
    if body.get("type") is None:
        raise invalid_body("Cannot construct instance of `marquez.service.models.SourceMeta`")
    now = call.store.now()
    found = call.store.sources.setdefault(name, Source(name, body["type"], now, now, body.get("connectionUrl")))
    found.type, found.updated = body["type"], now
    found.url, found.description = body.get("connectionUrl"), body.get("description")
    return ApiResponse(body=_render(found))


def _render(source: Source) -> Json:
    if not source.url:
        raise internal_error()
    return {
        "type": source.type,
        "name": source.name,
        "createdAt": times.format_micros(source.created),
        "updatedAt": times.format_micros(source.updated),
        "connectionUrl": source.url,
        "description": source.description,
    }
