"""Replays recorded exchanges against a stand-in, and compares the answers."""

import asyncio
import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from tests.standins.in_process import ask
from tests.standins.openmetadata import OpenMetadata
from tests.standins.replay_comparison import compare, normal

Json = dict[str, Any]

RECORDED = Path(__file__).parent.parent / "data" / "openmetadata-2.0"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def exchanges(name: str) -> list[Json]:
    """Give the recorded exchanges of a file."""
    found: list[Json] = json.loads((RECORDED / f"{name}.json").read_text())
    return found


class Replay:
    """A fresh stand-in, and the ids of its entities by the recorded ones."""

    def __init__(self, recorded: list[Json]) -> None:
        self.standin = OpenMetadata()
        self.ids: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self._last_tag = ""
        #: How far our places in the log of events are from the recorded ones.
        self._shift = 0
        for exchange in recorded:
            self._learn_names(exchange["response"].get("body"))

    def _learn_names(self, value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("id"), str) and "fullyQualifiedName" in value:
                self.names.setdefault(value["id"], value["fullyQualifiedName"])
            if "entityFullyQualifiedName" in value:
                self.names.setdefault(value["entityId"], value["entityFullyQualifiedName"])
            for inner in value.values():
                self._learn_names(inner)
        elif isinstance(value, list):
            for inner in value:
                self._learn_names(inner)

    def ask(self, request: Json) -> tuple[int, dict[str, str], Any]:
        """Send a recorded request, with the stand-in's ids; gives status, headers and body."""
        body = request.get("body")
        raw = b"" if body is None else body.encode("utf-8", "replace") if isinstance(body, str) else _spelled(body)
        raw = self._ours(raw.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
        # The recording shows bytes that are no UTF-8 as U+FFFD.
        raw = raw.replace("\ufffd".encode(), b"\xff")
        headers = {name.lower(): self._token(value) for name, value in request["headers"].items()}
        if "if-none-match" in headers:
            headers["if-none-match"] = self._last_tag
        if headers.get("content-encoding") == "gzip":
            raw = gzip.compress(raw[len("<gzip of ") : -1])
        return asyncio.run(self._send(request["method"], self._path(request["path"]), headers, raw))

    def _token(self, value: str) -> str:
        known = self.standin
        tokens = {"<bot>": known.bot_token, "<admin>": known.admin_token, "<expired>": known.expired_token}
        tokens |= {"<invalid>": "not-a-token", "<tampered>": "a.b.c"}
        for recorded, ours in tokens.items():
            value = value.replace(recorded, ours)
        return value

    def _path(self, path: str) -> str:
        before, mark, query = self._ours(path).partition("?")
        if "after=" not in query and "before=" not in query:
            return before + mark + query
        pairs = [(name, self._cursor(value)) for name, value in parse_qsl(query, keep_blank_values=True)]
        return before + mark + urlencode(pairs, quote_via=quote)

    def _cursor(self, value: str) -> str:
        try:
            text = base64.b64decode(value, validate=True).decode()
        except ValueError:
            return value
        if text.isdecimal():
            return _in_base64(str(int(text) + self._shift))
        return _in_base64(self._ours(text)) if '"id"' in text else value

    def _ours(self, text: str) -> str:
        """Put the stand-in's ids in the place of the recorded ones."""
        return _UUID.sub(lambda found: self._our_id(found[0]), text)

    def _our_id(self, recorded: str) -> str:
        if recorded not in self.ids and recorded in self.names:
            for known in self.standin.store.by_name.values():
                if self.names[recorded] in known:
                    return known[self.names[recorded]].id
        return self.ids.get(recorded, recorded)

    async def _send(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, Any]:
        status, answered, raw = await ask(self.standin.app, method, path, headers, body)
        return status, answered, _parsed(raw)

    def learn_ids(self, recorded: Any, ours: Any) -> None:
        """Take note of which id of ours stands for which recorded one."""
        if isinstance(recorded, dict) and isinstance(ours, dict):
            same = recorded.get("fullyQualifiedName") == ours.get("fullyQualifiedName")
            if same and isinstance(recorded.get("id"), str) and isinstance(ours.get("id"), str):
                self.ids[recorded["id"]] = ours["id"]
            if "incidentId" in recorded.keys() & ours.keys():
                self.ids[recorded["incidentId"]] = ours["incidentId"]
            if {"after", "total"} <= recorded.keys() & ours.keys():
                self._shift = _place(ours["after"]) - _place(recorded["after"])
            for name in recorded.keys() & ours.keys():
                self.learn_ids(recorded[name], ours[name])
        elif isinstance(recorded, list) and isinstance(ours, list):
            for one, other in zip(recorded, ours, strict=False):
                self.learn_ids(one, other)

    def differences(self, exchange: Json) -> list[str]:
        """Send a recorded request, and tell where the answer is another one than was recorded."""
        status, headers, body = self.ask(exchange["request"])
        wanted = exchange["response"]
        self._last_tag = headers.get("etag", "")
        self.learn_ids(wanted["body"], body)
        out = [f"status {status} instead of {wanted['status']}: {body}"] if status != wanted["status"] else []
        recorded = {name.lower(): value for name, value in wanted["headers"].items()}
        out += [
            f"{name}: {headers.get(name)!r} instead of {recorded.get(name)!r}"
            for name in ("x-openmetadata-change", "www-authenticate")
            if headers.get(name) != recorded.get(name)
        ]
        if ("etag" in headers) != ("etag" in recorded):
            out.append(f"ETag: {headers.get('etag')}")
        if body is not None and headers.get("content-type", "").partition(";")[0] != _media(recorded):
            out.append(f"content-type: {headers.get('content-type')}")
        ours_recorded = json.loads(self._ours(json.dumps(wanted["body"])))
        return out + list(compare(normal(ours_recorded), normal(body)))


def _in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _place(cursor: str) -> int:
    """Read a cursor that is a place in the log of events."""
    text = base64.b64decode(cursor).decode()
    return int(text) if text.isdecimal() else 0


def _media(headers: dict[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0]


def _spelled(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _parsed(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode()
