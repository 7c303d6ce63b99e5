"""Node ids of lineage graphs: kind, names and version."""

import re
from typing import NamedTuple

from tests.standins.marquez.errors import bad_parameter, internal_error, standard_error
from tests.standins.marquez.exchange import Call

#: A colon before two slashes or a digit belongs to the name, as part of a URL.
_DELIMITER = re.compile(r":(?!//|\d)")
_VERSION = re.compile(r"#([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
_KINDS = ("job", "dataset", "datasetField", "run")


class Node(NamedTuple):
    """A requested node."""

    text: str
    kind: str
    parts: list[str]
    version: str | None

    def names(self, count: int) -> list[str]:
        """Names in the id; fails if there are fewer than `count`."""
        if len(self.parts) < count:
            raise internal_error()
        return self.parts


def parse(call: Call) -> Node:
    """Parse the nodeId of a query."""
    text = call.query.get("nodeId")
    if text is None:
        raise bad_parameter("nodeId must not be null")
    kind, _, rest = text.partition(":")
    if kind not in _KINDS or not rest or "\n" in text:
        raise standard_error(404)
    found = _VERSION.search(rest)
    version = None if found is None else found[1]
    rest = _VERSION.sub("", rest)
    return Node(text, kind, _split(rest, 3 if kind == "datasetField" else 2), version)


def _split(names: str, count: int) -> list[str]:
    parts = names.split(":")
    return parts if len(parts) <= count else _DELIMITER.split(names, maxsplit=count - 1)


def depth(call: Call) -> int:
    """Parse the depth of a query."""
    text = call.query.get("depth") or "20"
    try:
        return int(text)
    except ValueError:
        raise standard_error(404) from None
