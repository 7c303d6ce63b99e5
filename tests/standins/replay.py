"""Replays recorded exchanges of OpenMetadata against the stand-in."""

import asyncio
import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from tests.standins.in_process import send_request
from tests.standins.openmetadata import OpenMetadata
from tests.standins.replay_comparison import compare, normalize

Json = dict[str, Any]

RECORDED = Path(__file__).parent.parent / "data" / "openmetadata-2.0"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def exchanges(name: str) -> list[Json]:
    """Recorded exchanges of a file."""
    recorded: list[Json] = json.loads((RECORDED / f"{name}.json").read_text())
    return recorded


class Replay:
    """A new stand-in, and its entity ids by recorded id."""

    def __init__(self, recorded: list[Json]) -> None:
        self.standin = OpenMetadata()
        self.ids: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self._last_tag = ""
        #: Difference between our offsets in the event log and the recorded ones.
        self._offset_shift = 0
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

    def send(self, request: Json) -> tuple[int, dict[str, str], Any]:
        """Send a recorded request with the ids of the stand-in, and return status, headers and body."""
        body = request.get("body")
        raw = b"" if body is None else body.encode("utf-8", "replace") if isinstance(body, str) else _to_json(body)
        raw = self._replace_ids(raw.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
        # The recording shows invalid UTF-8 as U+FFFD.
        raw = raw.replace("\ufffd".encode(), b"\xff")
        headers = {name.lower(): self._token(value) for name, value in request["headers"].items()}
        if "if-none-match" in headers:
            headers["if-none-match"] = self._last_tag
        if headers.get("content-encoding") == "gzip":
            raw = gzip.compress(raw[len("<gzip of ") : -1])
        return asyncio.run(self._send_raw(request["method"], self._path(request["path"]), headers, raw))

    def _token(self, value: str) -> str:
        standin = self.standin
        tokens = {"<bot>": standin.bot_token, "<admin>": standin.admin_token, "<expired>": standin.expired_token}
        tokens |= {"<invalid>": "not-a-token", "<tampered>": "a.b.c"}
        for placeholder, token in tokens.items():
            value = value.replace(placeholder, token)
        return value

    def _path(self, path: str) -> str:
        before, separator, query = self._replace_ids(path).partition("?")
        if "after=" not in query and "before=" not in query:
            return before + separator + query
        pairs = [(name, self._cursor(value)) for name, value in parse_qsl(query, keep_blank_values=True)]
        return before + separator + urlencode(pairs, quote_via=quote)

    def _cursor(self, value: str) -> str:
        try:
            text = base64.b64decode(value, validate=True).decode()
        except ValueError:
            return value
        if text.isdecimal():
            return _encode_base64(str(int(text) + self._offset_shift))
        return _encode_base64(self._replace_ids(text)) if '"id"' in text else value

    def _replace_ids(self, text: str) -> str:
        """Replace recorded ids by those of the stand-in."""
        return _UUID.sub(lambda match: self._our_id(match[0]), text)

    def _our_id(self, recorded: str) -> str:
        if recorded not in self.ids and recorded in self.names:
            for entities in self.standin.store.by_name.values():
                if self.names[recorded] in entities:
                    return entities[self.names[recorded]].id
        return self.ids.get(recorded, recorded)

    async def _send_raw(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, Any]:
        status, response_headers, raw = await send_request(self.standin.app, method, path, headers, body)
        return status, response_headers, _parse(raw)

    def learn_ids(self, recorded: Any, actual: Any) -> None:
        """Map recorded ids to ours."""
        if isinstance(recorded, dict) and isinstance(actual, dict):
            same = recorded.get("fullyQualifiedName") == actual.get("fullyQualifiedName")
            if same and isinstance(recorded.get("id"), str) and isinstance(actual.get("id"), str):
                self.ids[recorded["id"]] = actual["id"]
            if "incidentId" in recorded.keys() & actual.keys():
                self.ids[recorded["incidentId"]] = actual["incidentId"]
            if {"after", "total"} <= recorded.keys() & actual.keys():
                self._offset_shift = _event_offset(actual["after"]) - _event_offset(recorded["after"])
            for name in recorded.keys() & actual.keys():
                self.learn_ids(recorded[name], actual[name])
        elif isinstance(recorded, list) and isinstance(actual, list):
            for recorded_item, our_item in zip(recorded, actual, strict=False):
                self.learn_ids(recorded_item, our_item)

    def differences(self, exchange: Json) -> list[str]:
        """Send a recorded request and list the differences to the recorded response."""
        status, headers, body = self.send(exchange["request"])
        expected = exchange["response"]
        self._last_tag = headers.get("etag", "")
        self.learn_ids(expected["body"], body)
        out = [f"status {status} instead of {expected['status']}: {body}"] if status != expected["status"] else []
        recorded = {name.lower(): value for name, value in expected["headers"].items()}
        out += [
            f"{name}: {headers.get(name)!r} instead of {recorded.get(name)!r}"
            for name in ("x-openmetadata-change", "www-authenticate")
            if headers.get(name) != recorded.get(name)
        ]
        if ("etag" in headers) != ("etag" in recorded):
            out.append(f"ETag: {headers.get('etag')}")
        if body is not None and headers.get("content-type", "").partition(";")[0] != _media(recorded):
            out.append(f"content-type: {headers.get('content-type')}")
        expected_body = json.loads(self._replace_ids(json.dumps(expected["body"])))
        return out + list(compare(normalize(expected_body), normalize(body)))


def _encode_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _event_offset(cursor: str) -> int:
    """Offset in the event log that a cursor encodes; 0 for other cursors."""
    text = base64.b64decode(cursor).decode()
    return int(text) if text.isdecimal() else 0


def _media(headers: dict[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0]


def _to_json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _parse(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode()
