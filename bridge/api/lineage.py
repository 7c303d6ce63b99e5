"""The routes that take OpenLineage events: one or many a request, in OpenLineage's words or in OpenMetadata's."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bridge.api.intake import Intake, RequestBody, rejection_response
from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.canonical_json import decode_json
from mappers.errors import InputTooLarge, InvalidInput

_CREATED = Response(status_code=201)
_TAKEN = Response(status_code=204)
_SOURCE = "http"
#: An event is larger than the answer about one that is none; so many of them are answered in a second or two.
_MAX_BATCH_EVENTS = 100_000

_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])


class _OpenMetadataBatch(msgspec.Struct):
    """OpenMetadata's shape of a batch."""

    events: list[msgspec.Raw]


_events_decoder = msgspec.json.Decoder(_OpenMetadataBatch)


async def ingest_event(intake: Intake, body: RequestBody) -> Response:
    """Take one event: 201 once it is on disk."""
    item = _read(intake, body)
    return await intake.commit([item]) or (rejection_response(item) if isinstance(item, RejectedInput) else _CREATED)


async def ingest_batch(intake: Intake, body: RequestBody) -> Response:
    """Take an array of events: 204 when all are on disk, else 200 that names those that are no events."""
    taken = await _ingest_events(intake, body, lambda payload: decode_json(payload, _array_decoder))
    if isinstance(taken, Response):
        return taken
    if not taken.failed:
        return _TAKEN
    return _json(
        {
            "status": taken.status,
            "summary": taken.summary | {"retriable": 0, "non_retriable": len(taken.failed)},
            "failed_events": taken.failed,
        }
    )


async def ingest_openmetadata_event(intake: Intake, body: RequestBody) -> Response:
    """Take one event sent to where OpenMetadata takes them, and answer as it does."""
    item = _read(intake, body)
    if (unavailable := await intake.commit([item])) is not None:
        return unavailable
    if isinstance(item, RejectedInput):
        return rejection_response(item)
    return _json({"status": "success", "message": "Event kept", "lineageEdgesCreated": _count_edges(item)})


async def ingest_openmetadata_batch(intake: Intake, body: RequestBody) -> Response:
    """Take a batch sent to where OpenMetadata takes them, and answer as it does."""
    taken = await _ingest_events(intake, body, lambda payload: decode_json(payload, _events_decoder).events)
    if isinstance(taken, Response):
        return taken
    return _json(
        {
            "status": taken.status,
            "message": f"{taken.successful} events kept, {len(taken.failed)} refused",
            "lineageEdgesCreated": taken.edges,
            "summary": taken.summary,
            "failedEvents": taken.failed,
        }
    )


Handler = Callable[[Intake, RequestBody], Awaitable[Response]]

#: Every route that takes OpenLineage events; each is served with and without a slash at its end.
HANDLERS: dict[str, Handler] = {
    "/api/v1/lineage": ingest_event,
    "/api/v1/lineage/batch": ingest_batch,
    "/api/v1/openlineage/lineage": ingest_openmetadata_event,
    "/api/v1/openlineage/lineage/batch": ingest_openmetadata_batch,
}
LINEAGE_PATHS: dict[str, Handler] = {path + slash: take for path, take in HANDLERS.items() for slash in ("", "/")}


async def handle_request(intake: Intake, handler: Handler, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request: this is the path that every event walks, so nothing lies in between."""
    body = await intake.read_body(Headers(scope=scope), receive)
    answer = body if isinstance(body, Response) else await handler(intake, body)
    await answer(scope, receive, send)


class _BatchResult(NamedTuple):
    """How the events of a batch fared."""

    successful: int
    edges: int
    failed: list[dict[str, Any]]

    @property
    def status(self) -> str:
        if not self.failed:
            return "success"
        return "partial_success" if self.successful else "failure"

    @property
    def summary(self) -> dict[str, int]:
        return {
            "received": self.successful + len(self.failed),
            "successful": self.successful,
            "failed": len(self.failed),
        }


async def _ingest_events(
    intake: Intake, body: RequestBody, split: Callable[[bytes], list[msgspec.Raw]]
) -> _BatchResult | Response:
    """Take the events of a batch, group by group; what is no batch is refused whole."""
    payloads = _split_batch(body, split)
    if not isinstance(payloads, list):
        whole = intake.reader.reject(body.sent, _SOURCE, payloads)
        return await intake.commit([whole]) or rejection_response(whole)
    successful = edges = 0
    failed: list[dict[str, Any]] = []
    for start in range(0, len(payloads), intake.max_group):
        items = [intake.reader.read(bytes(raw), _SOURCE) for raw in payloads[start : start + intake.max_group]]
        if (unavailable := await intake.commit(items)) is not None:
            return unavailable
        for index, item in enumerate(items, start):
            if isinstance(item, RejectedInput):
                failed.append({"index": index, "reason": item.message, "retriable": False})
            else:
                successful += 1
                edges += _count_edges(item)
        await asyncio.sleep(0)  # others are served between the groups of a large batch
    return _BatchResult(successful, edges, failed)


def _split_batch(
    body: RequestBody, split: Callable[[bytes], list[msgspec.Raw]]
) -> list[msgspec.Raw] | InvalidInput | InputTooLarge:
    """Split a batch, or say why not; an error that was raised again would keep the whole body in a cycle."""
    if body.error is not None:
        return body.error
    try:
        payloads = split(body.unpacked)
    except InvalidInput as error:
        return error
    if len(payloads) > _MAX_BATCH_EVENTS:
        return InputTooLarge(f"{len(payloads)} events in one batch; the limit is {_MAX_BATCH_EVENTS}")
    return payloads


def _read(intake: Intake, body: RequestBody) -> IncomingEvent | RejectedInput:
    if body.error is not None:
        return intake.reader.reject(body.sent, _SOURCE, body.error)
    return intake.reader.read(body.unpacked, _SOURCE)


def _count_edges(item: IncomingEvent) -> int:
    """Count the pairs of datasets that an event connects."""
    return len(item.event.inputs) * len(item.event.outputs)


def _json(content: dict[str, Any]) -> Response:
    return Response(msgspec.json.encode(content), media_type="application/json")
