"""Replays recorded exchanges of a Marquez server against the stand-in."""

import asyncio
import gzip
import json
import re
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

from tests.standins.in_process import send_request
from tests.standins.marquez import Marquez
from tests.standins.marquez_comparison import differences
from tests.standins.marquez_versions import VersionIds

Json = dict[str, Any]

RECORDED = Path(__file__).parent.parent / "data" / "marquez"
#: The day of the recordings, 2026-11-18. No event has it, so each time of that day comes from the server's clock.
_NOW = 1_795_000_000_000_000
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def exchanges(name: str) -> list[Json]:
    """Recorded exchanges of a file."""
    recorded: list[Json] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return recorded


class Replay:
    """A new stand-in, and its version ids by recorded id."""

    def __init__(self) -> None:
        clock = count(_NOW)
        self.standin = Marquez(now=lambda: next(clock))
        self.ids: dict[str, str] = {}
        self.versions = VersionIds()

    def send(self, request: Json) -> tuple[int, str, Any]:
        """Send a request and return status, media type and body."""
        path = _UUID.sub(lambda match: self.ids.get(match[0], match[0]), request["path"])
        headers = {name.lower(): value for name, value in request.get("headers", {}).items()}
        raw = _raw(request.get("body"))
        if headers.get("content-encoding") == "gzip" and not isinstance(request["body"], str):
            raw = gzip.compress(raw)
        return asyncio.run(self._send(request["method"], path, headers, raw))

    async def _send(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str, Any]:
        status, response_headers, raw = await send_request(self.standin.app, method, path, headers, body)
        return status, response_headers.get("content-type", ""), _parse(raw)

    def differences(self, exchange: Json) -> list[str]:
        """Send a recorded request and list the differences to the recorded response."""
        status, kind, body = self.send(exchange["request"])
        expected = exchange["response"]
        self._learn(expected.get("body"), body)
        out = [] if status == expected["status"] else [f"status {status} instead of {expected['status']}: {body}"]
        if _media(kind) != _media(expected.get("type", "")) and (kind or expected.get("type")):
            out.append(f"type {kind!r} instead of {expected.get('type')!r}")
        events_by_time = Counter(row.event["eventTime"] for row in self.standin.store.log if row.kind == "RunEvent")
        return (
            out
            or differences(expected, body, events_by_time)
            or self.versions.differences(expected.get("body"), body)
        )

    def _learn(self, recorded: Any, actual: Any) -> None:
        """Map recorded version ids to ours."""
        if isinstance(recorded, dict) and isinstance(actual, dict):
            for name in ("version", "currentVersion"):
                if isinstance(recorded.get(name), str) and isinstance(actual.get(name), str):
                    self.ids[recorded[name]] = actual[name]
            for name in recorded.keys() & actual.keys():
                self._learn(recorded[name], actual[name])
        elif isinstance(recorded, list) and isinstance(actual, list):
            for recorded_item, our_item in zip(recorded, actual, strict=False):
                self._learn(recorded_item, our_item)


def _raw(body: Any) -> bytes:
    if body is None:
        return b""
    # The recording shows invalid UTF-8 as U+FFFD.
    text = body if isinstance(body, str) else json.dumps(body)
    return text.encode("utf-8", "replace").replace("\ufffd".encode(), b"\xe9")


def _parse(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode()


def _media(kind: str) -> str:
    return kind.partition(";")[0]
