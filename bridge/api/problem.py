"""RFC 9457 problem responses."""

from http import HTTPStatus
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bridge.errors import AmbiguousName, InvalidParameter, NotFound, StateConflict
from bridge.queries.remote import CONFLICT_TITLE, UNKNOWN_NAME_TITLE
from mappers.errors import LineageBridgeError, TransientError

PROBLEM_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = "2"


def problem(status: int, title: str, detail: str, **extensions: Any) -> Response:
    """Build an RFC 9457 problem response. `detail` states the cause and the remedy."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **extensions}
    headers = {"Retry-After": RETRY_AFTER_SECONDS} if status in (429, 503) else None
    return Response(msgspec.json.encode(body), status, headers, PROBLEM_TYPE)


def error_response(error: LineageBridgeError, title: str, remedy: str = "") -> Response:
    """Map an error to a problem response. Title and remedy apply to errors that the caller did not cause."""
    match error:
        case AmbiguousName():
            return problem(400, "Bad parameter", str(error), field=error.parameter, candidates=error.candidates)
        case InvalidParameter():
            return problem(400, "Bad parameter", str(error), field=error.parameter)
        case NotFound():
            similar = {"similar": error.similar} if error.similar else {}
            return problem(404, UNKNOWN_NAME_TITLE, str(error), **similar)
        case StateConflict():
            return problem(409, CONFLICT_TITLE, str(error), conflicts=error.conflicts)
        case TransientError():
            return problem(503, f"{title}, retry later", f"{error}{remedy}")
    return problem(500, title, str(error))


async def http_error_response(request: Request, error: Exception) -> Response:
    """Respond to a request that matches no route (404), or uses a method that its route does not support (405)."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = (error.headers or {}) if isinstance(error, HTTPException) else {}
    request_line = f"{request.method} {request.url.path[:256]}"
    allowed_methods = headers.get("Allow") or headers.get("allow")
    detail = (
        f"{request_line} is not served: use {allowed_methods}"
        if allowed_methods
        else f"{request_line} is not served: see /openapi.json"
    )
    response = problem(status, HTTPStatus(status).phrase, detail)
    response.headers.update(headers)
    return response
