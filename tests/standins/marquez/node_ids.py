"""Ids of nodes of a graph: what is of which kind, and how it is called."""

import re
from typing import NamedTuple

from tests.standins.marquez.errors import bad_parameter, failed, plain
from tests.standins.marquez.exchange import Call

#: A colon before two slashes or a digit belongs to the name: it is read as a part of an address.
_DELIMITER = re.compile(r":(?!//|\d)")
_VERSION = re.compile(r"#([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
_KINDS = ("job", "dataset", "datasetField", "run")


class Node(NamedTuple):
    """A node that was asked for."""

    text: str
    kind: str
    parts: list[str]
    version: str | None

    def names(self, count: int) -> list[str]:
        """Give the names in the id; too few of them end the call."""
        if len(self.parts) < count:
            raise failed()
        return self.parts


def asked(call: Call) -> Node:
    """Read the node of a query."""
    text = call.query.get("nodeId")
    if text is None:
        raise bad_parameter("nodeId must not be null")
    kind, _, rest = text.partition(":")
    if kind not in _KINDS or not rest or "\n" in text:
        raise plain(404)
    found = _VERSION.search(rest)
    version = None if found is None else found[1]
    rest = _VERSION.sub("", rest)
    return Node(text, kind, _split(rest, 3 if kind == "datasetField" else 2), version)


def _split(names: str, count: int) -> list[str]:
    parts = names.split(":")
    return parts if len(parts) <= count else _DELIMITER.split(names, maxsplit=count - 1)


def depth(call: Call) -> int:
    """Read how far a graph goes."""
    given = call.query.get("depth") or "20"
    try:
        return int(given)
    except ValueError:
        raise plain(404) from None
