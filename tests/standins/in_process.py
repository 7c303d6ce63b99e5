"""Asks an application without a port between."""

from typing import Any
from urllib.parse import unquote


async def ask(
    app: Any, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, dict[str, str], bytes]:
    """Send one request; gives the status, the headers in lower case, and the body of the answer."""
    raw_path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(raw_path),
        "raw_path": raw_path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    answered = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answered, b"".join(part.get("body", b"") for part in sent[1:])
