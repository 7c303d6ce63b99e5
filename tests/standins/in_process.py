"""Requests to an ASGI application without a port."""

from typing import Any
from urllib.parse import unquote


async def send_request(
    app: Any, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, dict[str, str], bytes]:
    """Send one request and return status, headers (names in lower case) and body."""
    raw_path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(raw_path),
        "raw_path": raw_path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    await app(scope, receive, send)
    response_headers = {name.decode().lower(): value.decode() for name, value in messages[0]["headers"]}
    return messages[0]["status"], response_headers, b"".join(part.get("body", b"") for part in messages[1:])
