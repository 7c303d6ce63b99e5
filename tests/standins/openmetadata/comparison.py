"""Comparing two states of an entity."""

import json
from typing import Any

from tests.standins.openmetadata import columns as column_rules
from tests.standins.openmetadata.changes import Change, json_text
from tests.standins.openmetadata.kinds import Kind

Data = dict[str, Any]

_THINGS = ("owners", "domains", "dataProducts")


def compare(kind: Kind, old: Data, new: Data, change: Change) -> None:
    """Record what differs between two states of an entity of this kind."""
    for name in ("description", "displayName"):
        change.scalar(name, old.get(name), new.get(name))
    for name in kind.tracked:
        if old.get(name) != new.get(name):
            _own(name, old.get(name), new.get(name), change)
    for name in kind.silent:
        if old.get(name) != new.get(name):
            change.silent = True
    change.labels("tags", old.get("tags", []), new.get("tags", []))
    for name in (*_THINGS, *kind.references):
        if old.get(name) != new.get(name):
            before, after = ([thing.reference() for thing in state.get(name) or []] for state in (old, new))
            change.named(name, before, after, "id")
    if old.get("extension") != new.get("extension"):
        _extension(old.get("extension") or {}, new.get("extension") or {}, change)
    if _plain(old) != _plain(new):
        change.scalar("certification", old.get("certification"), new.get("certification"))


def _own(name: str, old: Any, new: Any, change: Change) -> None:
    if name == "columns":
        column_rules.compare(old or [], new or [], change)
    elif name == "tasks":
        change.named("tasks", old or [], new or [], "name")
    elif name == "connection":
        change.update("connection", json.dumps("old-encrypted-value"), json.dumps("new-encrypted-value"))
    else:
        change.scalar(name, old, new)


def _extension(old: Data, new: Data, change: Change) -> None:
    if come := [{name: new[name]} for name in new if name not in old]:
        change.add("extension", json_text(come))
    if gone := [{name: old[name]} for name in old if name not in new]:
        change.delete("extension", json_text(gone))
    for name in old:
        if name in new and old[name] != new[name]:
            change.update(f"extension.{name}", json_text(old[name]), json_text(new[name]))


def _plain(state: Data) -> Any:
    """Give what tells certifications apart: the dates are the server's."""
    return ((state.get("certification") or {}).get("tagLabel") or {}).get("tagFQN")
