"""Mutated events: JSON nodes deleted, replaced or added, and bytes edited."""

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
_NESTING_DEPTH = 200
#: Too long for an index entry, even a compressed one.
_LONG = "".join(sha256(bytes([i])).hexdigest() for i in range(80))
_MEGABYTE = 1 << 20


def _nest(inner: Any, depth: int = _NESTING_DEPTH) -> Any:
    for level in range(depth):
        inner = [inner] if level % 2 else {"fields": inner, "name": "n", "a": 1}
    return inner


#: Replacements of markers in the JSON text; no JSON value represents them.
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
    "@invalid utf-8@": b'"\xff\xc0\x80"',
    "@comment@": b"1 /* one */",
    "@zero@": b"-0.0",
    "@small@": b"1e-400",
}
_UNUSUAL: tuple[Any, ...] = (
    None, True, False, 0, -1, 1 << 31, 1 << 53, (1 << 63) - 1, 1 << 63, -(1 << 63) - 1, 1 << 64, 1 << 100, 0.5, 1e308,
    5e-324, "", " ", "\n", "\x7f", "\u2028", "\U0010ffff", "\ufeff", "a" * _MEGABYTE, _LONG, "0", "null", "true",
    "2026-01-01", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.9999999-12:00", "DROP",
    "RENAME", "JOB", [], {}, [None], [[]], [{}], {"": ""}, {"": None}, {"a": None}, {"name": {}}, [1, "a", None, {}],
    _nest("x"), _nest(None), [0] * 3000, {"_deleted": True}, {"_deleted": "yes"},
)  # fmt: skip
_unusual_values = st.one_of(
    st.sampled_from(_UNUSUAL), st.sampled_from(sorted(_RAW)), st.text(st.characters(exclude_categories=["Cs"]))
)
_keys = st.sampled_from(
    ("", "name", "namespace", "facets", "run", "job", "dataset", "inputs", "outputs", "fields", "schema", "inputFields",
     "_deleted", "version", "root", "eventTime", "a\0b", "é" * 2000, _LONG, "__proto__", "$ref")
)  # fmt: skip


@cache
def recorded_events() -> tuple[bytes, ...]:
    """A sample of recorded events, of every kind of job."""
    payloads = []
    for path in sorted(_DATA.glob("*/*.ndjson")):
        with open_event_file(path) as file:
            records = [record.payload for record in read_records(file)]
        payloads.extend(payload for payload in records[:: max(1, len(records) // 4)] if len(payload) < 50_000)
    return tuple(payloads)


def _nodes(node: Any, depth: int = 0) -> list[tuple[int, Any, Any]]:
    """All nodes of a document as (depth, container, key)."""
    nodes = []
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in items:
        nodes.append((depth, node, key))
        nodes.extend(_nodes(inner, depth + 1))
    return nodes


def _draw_node(document: Any, draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw a node, mostly inside a facet: errors further out are rejected immediately."""
    nodes = _nodes(document)
    inner = [node for node in nodes if node[0] >= 3] if draw(st.integers(0, 9)) else []
    _, container, key = draw(st.sampled_from(inner or nodes or [(0, document, "eventTime")]))
    return container, key


def _edit(document: Any, draw: st.DrawFn) -> None:
    container, key = _draw_node(document, draw)
    action = draw(st.sampled_from(("delete", "replace", "replace", "insert", "copy")))
    if action == "insert" and isinstance(container, list):
        container.insert(key, deepcopy(draw(_unusual_values)))
    elif action == "insert":
        container[draw(_keys)] = deepcopy(draw(_unusual_values))
    elif action == "copy":
        source, source_key = _draw_node(document, draw)
        container[key] = deepcopy(source.get(source_key) if isinstance(source, dict) else source[source_key])
    elif action == "replace":
        container[key] = deepcopy(draw(_unusual_values))
    elif isinstance(container, dict):
        container.pop(key, None)
    else:
        del container[key]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Draw an event of the spec or a recorded one, with up to three mutations."""
    document = json.loads(draw(st.one_of(events, st.sampled_from(recorded_events()))))
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
