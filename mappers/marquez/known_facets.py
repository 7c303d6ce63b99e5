"""Facets that Marquez reads into classes of its own: it refuses an event for what one of them lacks."""

from collections.abc import Mapping
from typing import Any

#: What must be there, by whose facet it is, and what says nothing in its place.
_NEEDED: dict[str, dict[str, dict[str, Any]]] = {
    "run": {"nominalTime": {"nominalStartTime": "1970-01-01T00:00:00Z"}, "parent": {"run": {}, "job": {}}},
    "job": {"documentation": {"description": ""}, "sql": {"query": ""}},
    "dataset": {"documentation": {"description": ""}},
    "own": {},
}
#: Lists whose items must have names.
_NAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "schema": ("fields", ("name",)),
    "symlinks": ("identifiers", ("namespace", "name")),
}


def bearable(facets: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Give facets as Marquez takes them: a deletion with what it insists on, and without those that lack it."""
    found = {}
    for name, facet in facets.items():
        if not isinstance(facet, dict):
            continue
        told = _deleted(facet, _NEEDED[owner].get(name, {})) if facet.get("_deleted") is True else facet
        if _is_whole(told, _NEEDED[owner].get(name, {})) and (owner != "dataset" or _is_named(name, told)):
            found[name] = told
    return found


def _deleted(facet: Mapping[str, Any], needed: Mapping[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in needed.items() if value != {}}, **facet}


def _is_whole(facet: Mapping[str, Any], needed: Mapping[str, Any]) -> bool:
    return all(facet.get(key) is not None for key in needed)


def _is_named(name: str, facet: Mapping[str, Any]) -> bool:
    of, keys = _NAMED.get(name, ("", ()))
    items = facet.get(of) or ()
    return all(isinstance(one, dict) and all(one.get(key) for key in keys) for one in items)
