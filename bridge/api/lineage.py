"""OpenLineage intake: single events and batches, also under OpenMetadata's paths and with its response format."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bridge.api.intake import SOURCE, Intake, RequestBody, rejection_response
from bridge.store.event_log import IncomingEvent, RejectedInput
from mappers.canonical_json import decode_json
from mappers.counts import count_of
from mappers.errors import InputTooLarge, InvalidInput, TransientError

_CREATED = Response(status_code=201)
_NO_CONTENT = Response(status_code=204)
#: Maximum number of events per batch. A batch of this size is ingested in one or two seconds.
_MAX_BATCH_EVENTS = 100_000

_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])


class _OpenMetadataBatch(msgspec.Struct):
    """OpenMetadata's batch format."""

    events: list[msgspec.Raw]


_events_decoder = msgspec.json.Decoder(_OpenMetadataBatch)


async def ingest_event(intake: Intake, body: RequestBody) -> Response:
    """Ingest one event, and respond with 201 once it is stored durably."""
    item = await _read_event(intake, body)
    if (unavailable_response := await intake.commit([item], body.key)) is not None:
        return unavailable_response
    return rejection_response(item) if isinstance(item, RejectedInput) else _CREATED


async def ingest_batch(intake: Intake, body: RequestBody) -> Response:
    """Ingest an array of events. Respond with 204 if all are stored, or with 200 and a list of the rejected ones."""
    result = await _ingest_events(intake, body, lambda payload: decode_json(payload, _array_decoder))
    if isinstance(result, Response):
        return result
    if not result.failed_events:
        return _NO_CONTENT
    return _json_response(
        {
            "status": result.status,
            "summary": result.summary | {"retriable": 0, "non_retriable": len(result.failed_events)},
            "failed_events": result.failed_events,
        }
    )


async def ingest_openmetadata_event(intake: Intake, body: RequestBody) -> Response:
    """Ingest one event on OpenMetadata's path. The response has OpenMetadata's format."""
    item = await _read_event(intake, body)
    if (unavailable_response := await intake.commit([item], body.key)) is not None:
        return unavailable_response
    if isinstance(item, RejectedInput):
        return rejection_response(item)
    return _json_response({"status": "success", "message": "Event stored", "lineageEdgesCreated": _count_edges(item)})


async def ingest_openmetadata_batch(intake: Intake, body: RequestBody) -> Response:
    """Ingest a batch on OpenMetadata's path. The response has OpenMetadata's format."""
    result = await _ingest_events(intake, body, lambda payload: decode_json(payload, _events_decoder).events)
    if isinstance(result, Response):
        return result
    return _json_response(
        {
            "status": result.status,
            "message": f"{count_of(result.successful_count, 'event')} stored, {len(result.failed_events)} rejected",
            "lineageEdgesCreated": result.edge_count,
            "summary": result.summary,
            "failedEvents": result.failed_events,
        }
    )


Handler = Callable[[Intake, RequestBody], Awaitable[Response]]

#: Routes of OpenLineage events; each is also served with a trailing slash.
HANDLERS: dict[str, Handler] = {
    "/api/v1/lineage": ingest_event,
    "/api/v1/lineage/batch": ingest_batch,
    "/api/v1/openlineage/lineage": ingest_openmetadata_event,
    "/api/v1/openlineage/lineage/batch": ingest_openmetadata_batch,
}
LINEAGE_PATHS: dict[str, Handler] = {
    path + slash: handler for path, handler in HANDLERS.items() for slash in ("", "/")
}


async def handle_request(intake: Intake, handler: Handler, scope: Scope, receive: Receive, send: Send) -> None:
    """Handle one request without any middleware, because every event takes this path."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}
    with intake.body_memory() as memory:
        body = await intake.read_body(headers, receive, memory)
        try:
            response = body if isinstance(body, Response) else await handler(intake, body)
        except TransientError as error:
            response = intake.unavailable_response(error)
    await response(scope, receive, send)


class _BatchResult(NamedTuple):
    """How many events of a batch were stored, how many edges they contain, and which events were rejected."""

    successful_count: int
    edge_count: int
    failed_events: list[dict[str, Any]]

    @property
    def status(self) -> str:
        if not self.failed_events:
            return "success"
        return "partial_success" if self.successful_count else "failure"

    @property
    def summary(self) -> dict[str, int]:
        return {
            "received": self.successful_count + len(self.failed_events),
            "successful": self.successful_count,
            "failed": len(self.failed_events),
        }


async def _ingest_events(
    intake: Intake, body: RequestBody, decode_events: Callable[[bytes], list[msgspec.Raw]]
) -> _BatchResult | Response:
    """Ingest the events of a batch in groups. A body that is not a batch is rejected as a whole."""
    payloads_or_error = _decode_batch(body, decode_events)
    if not isinstance(payloads_or_error, list):
        rejected_input = intake.reader.reject(body.sent, SOURCE, payloads_or_error)
        return await intake.commit([rejected_input], body.key) or rejection_response(rejected_input)
    payloads = payloads_or_error
    successful_count = edge_count = 0
    failed_events: list[dict[str, Any]] = []
    while (read_count := successful_count + len(failed_events)) < len(payloads):
        items = await intake.read_events(map(bytes, islice(payloads, read_count, None)), body.key)
        if (unavailable_response := await intake.commit(items, body.key)) is not None:
            return unavailable_response
        for index, item in enumerate(items, read_count):
            if isinstance(item, RejectedInput):
                failed_events.append({"index": index, "reason": item.message, "retriable": False})
            else:
                successful_count += 1
                edge_count += _count_edges(item)
        await asyncio.sleep(0)  # serve other requests between the groups of a large batch
    return _BatchResult(successful_count, edge_count, failed_events)


def _decode_batch(
    body: RequestBody, decode_events: Callable[[bytes], list[msgspec.Raw]]
) -> list[msgspec.Raw] | InvalidInput | InputTooLarge:
    """Decode a batch into payloads. Errors are returned: a raised error would keep the body in a reference cycle."""
    if body.error is not None:
        return body.error
    try:
        payloads = decode_events(body.content)
    except InvalidInput as error:
        return error
    if len(payloads) > _MAX_BATCH_EVENTS:
        return InputTooLarge(f"{len(payloads)} events in one batch; the limit is {_MAX_BATCH_EVENTS}")
    return payloads


async def _read_event(intake: Intake, body: RequestBody) -> IncomingEvent | RejectedInput:
    if body.error is not None:
        return intake.reader.reject(body.sent, SOURCE, body.error)
    return await intake.reader.read(body.content, SOURCE, body.key)


def _count_edges(item: IncomingEvent) -> int:
    """Return the number of (input, output) pairs of the event."""
    return len(item.event.inputs) * len(item.event.outputs)


def _json_response(content: dict[str, Any]) -> Response:
    return Response(msgspec.json.encode(content), media_type="application/json")
