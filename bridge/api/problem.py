"""Errors as RFC 9457 problem details."""

from typing import Any

import msgspec
from starlette.responses import Response

from bridge.store.writer import Rejected

PROBLEM_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = "2"


def problem(status: int, title: str, detail: str, **more: Any) -> Response:
    """Answer with a problem: what went wrong, where, and what would help."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    headers = {"Retry-After": RETRY_AFTER_SECONDS} if status == 503 else None
    return Response(msgspec.json.encode(body), status, headers, PROBLEM_TYPE)


def refused(item: Rejected, title: str) -> Response:
    """Answer to a body that is kept as refused: with the reason, the field, and the hash it is kept under."""
    where = {"field": item.path} if item.path else {}
    status, title = (413, "Too large") if item.too_large else (400, title)
    return problem(status, title, item.reason, rejected=item.payload_hash.hex(), **where)
