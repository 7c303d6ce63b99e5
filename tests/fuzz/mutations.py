"""Events with something wrong in them: nodes of their JSON deleted, replaced or added, and bytes edited."""

import json
from copy import deepcopy
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from connectors.openlineage.files import open_event_file, read_records
from tests.fuzz.spec_events import events

_DATA = Path(__file__).parents[1] / "data" / "events"
_NESTED = 200
#: Not even a database that packs its index entries gets this into one.
_LONG = "".join(sha256(bytes([i])).hexdigest() for i in range(80))
_MEGABYTE = 1 << 20


def _nested(inner: Any, depth: int = _NESTED) -> Any:
    for level in range(depth):
        inner = [inner] if level % 2 else {"fields": inner, "name": "n", "a": 1}
    return inner


#: Written into the JSON in place of a marker, because no JSON value stands for them.
_RAW = {
    "@nan@": b"NaN",
    "@infinity@": b"-Infinity",
    "@overflow@": b"1e999",
    "@digits@": b"9" * 400,
    "@many digits@": b"9" * 5000,
    "@high surrogate@": b'"\\ud800"',
    "@low surrogate@": b'"\\udfff x"',
    "@doubled@": b'{"name":"a","name":{"b":1},"name":null}',
    "@nul@": b'"a\\u0000b"',
    "@nul key@": b'{"a\\u0000":{"\\u0000":1}}',
    "@raw nul@": b'"a\x00b"',
    "@no utf-8@": b'"\xff\xc0\x80"',
    "@comment@": b"1 /* one */",
    "@zero@": b"-0.0",
    "@small@": b"1e-400",
}
_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1 << 31, 1 << 53, (1 << 63) - 1, 1 << 63, -(1 << 63) - 1, 1 << 64, 1 << 100, 0.5, 1e308,
    5e-324, "", " ", "\n", "\x7f", "\u2028", "\U0010ffff", "\ufeff", "a" * _MEGABYTE, _LONG, "0", "null", "true",
    "2026-01-01", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.9999999-12:00", "DROP",
    "RENAME", "JOB", [], {}, [None], [[]], [{}], {"": ""}, {"": None}, {"a": None}, {"name": {}}, [1, "a", None, {}],
    _nested("x"), _nested(None), [0] * 3000, {"_deleted": True}, {"_deleted": "yes"},
)  # fmt: skip
_odd = st.one_of(
    st.sampled_from(_ODD), st.sampled_from(sorted(_RAW)), st.text(st.characters(exclude_categories=["Cs"]))
)
_keys = st.sampled_from(
    ("", "name", "namespace", "facets", "run", "job", "dataset", "inputs", "outputs", "fields", "schema", "inputFields",
     "_deleted", "version", "root", "eventTime", "a\0b", "é" * 2000, _LONG, "__proto__", "$ref")
)  # fmt: skip


@cache
def captured() -> tuple[bytes, ...]:
    """Give some events as they really came, of every kind of job."""
    found = []
    for path in sorted(_DATA.glob("*/*.ndjson")):
        with open_event_file(path) as file:
            records = [record.payload for record in read_records(file)]
        found.extend(payload for payload in records[:: max(1, len(records) // 4)] if len(payload) < 50_000)
    return tuple(found)


def _places(node: Any, depth: int = 0) -> list[tuple[int, Any, Any]]:
    """List every place in a document: how deep it is, what it is in, and its key there."""
    found = []
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in items:
        found.append((depth, node, key))
        found.extend(_places(inner, depth + 1))
    return found


def _place(document: Any, draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw a place, nearly always inside a facet: what is wrong further out is refused at once."""
    places = _places(document)
    inner = [place for place in places if place[0] >= 3] if draw(st.integers(0, 9)) else []
    _, inside, key = draw(st.sampled_from(inner or places or [(0, document, "eventTime")]))
    return inside, key


def _edit(document: Any, draw: st.DrawFn) -> None:
    inside, key = _place(document, draw)
    what = draw(st.sampled_from(("delete", "replace", "replace", "insert", "copy")))
    if what == "insert" and isinstance(inside, list):
        inside.insert(key, deepcopy(draw(_odd)))
    elif what == "insert":
        inside[draw(_keys)] = deepcopy(draw(_odd))
    elif what == "copy":
        other, there = _place(document, draw)
        inside[key] = deepcopy(other.get(there) if isinstance(other, dict) else other[there])
    elif what == "replace":
        inside[key] = deepcopy(draw(_odd))
    elif isinstance(inside, dict):
        inside.pop(key, None)
    else:
        del inside[key]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Draw an event of the spec, or a captured one, with up to three things wrong in it."""
    document = json.loads(draw(st.one_of(events, st.sampled_from(captured()))))
    for _ in range(draw(st.integers(1, 3))):
        _edit(document, draw)
    body = json.dumps(document, ensure_ascii=draw(st.booleans())).encode()
    for mark, raw in _RAW.items():
        body = body.replace(b'"%s"' % mark.encode(), raw)
    if draw(st.integers(0, 3)) == 0:
        start = draw(st.integers(0, len(body)))
        end = start + draw(st.integers(0, 8))
        body = body[:start] + draw(st.binary(max_size=8)) + body[end:]
    return body
