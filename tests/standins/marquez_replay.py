"""Replays recorded exchanges with a Marquez server against its stand-in."""

import asyncio
import gzip
import json
import re
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

from tests.standins.in_process import ask
from tests.standins.marquez import Marquez
from tests.standins.marquez_comparison import differences
from tests.standins.marquez_versions import Versions

Json = dict[str, Any]

RECORDED = Path(__file__).parent.parent / "data" / "marquez"
#: The day of the recordings, 2026-11-18: no event has it, so each time of that day is one of the server's own clock.
_NOW = 1_795_000_000_000_000
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def exchanges(name: str) -> list[Json]:
    """Give the recorded exchanges of a file."""
    found: list[Json] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return found


class Replay:
    """A fresh stand-in, and the ids of its versions by the recorded ones."""

    def __init__(self) -> None:
        clock = count(_NOW)
        self.standin = Marquez(now=lambda: next(clock))
        self.ids: dict[str, str] = {}
        self.versions = Versions()

    def send(self, request: Json) -> tuple[int, str, Any]:
        """Send a request; gives the status, the kind and the body of the answer."""
        path = _UUID.sub(lambda found: self.ids.get(found[0], found[0]), request["path"])
        headers = {name.lower(): value for name, value in request.get("headers", {}).items()}
        raw = _raw(request.get("body"))
        if headers.get("content-encoding") == "gzip" and not isinstance(request["body"], str):
            raw = gzip.compress(raw)
        return asyncio.run(self._ask(request["method"], path, headers, raw))

    async def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str, Any]:
        status, answered, raw = await ask(self.standin.app, method, path, headers, body)
        return status, answered.get("content-type", ""), _parsed(raw)

    def differences(self, exchange: Json) -> list[str]:
        """Send a recorded request, and tell where the answer is another one than was recorded."""
        status, kind, body = self.send(exchange["request"])
        wanted = exchange["response"]
        self._learn(wanted.get("body"), body)
        out = [] if status == wanted["status"] else [f"status {status} instead of {wanted['status']}: {body}"]
        if _media(kind) != _media(wanted.get("type", "")) and (kind or wanted.get("type")):
            out.append(f"type {kind!r} instead of {wanted.get('type')!r}")
        at = Counter(row.event["eventTime"] for row in self.standin.store.log if row.kind == "RunEvent")
        return out or differences(wanted, body, at) or self.versions.differences(wanted.get("body"), body)

    def _learn(self, recorded: Any, ours: Any) -> None:
        """Take note of which version of ours stands for which recorded one."""
        if isinstance(recorded, dict) and isinstance(ours, dict):
            for name in ("version", "currentVersion"):
                if isinstance(recorded.get(name), str) and isinstance(ours.get(name), str):
                    self.ids[recorded[name]] = ours[name]
            for name in recorded.keys() & ours.keys():
                self._learn(recorded[name], ours[name])
        elif isinstance(recorded, list) and isinstance(ours, list):
            for one, other in zip(recorded, ours, strict=False):
                self._learn(one, other)


def _raw(body: Any) -> bytes:
    if body is None:
        return b""
    # The recording shows bytes that are no UTF-8 as U+FFFD.
    text = body if isinstance(body, str) else json.dumps(body)
    return text.encode("utf-8", "replace").replace("\ufffd".encode(), b"\xe9")


def _parsed(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode()


def _media(kind: str) -> str:
    return kind.partition(";")[0]
