"""Comparison of two states of an entity."""

import json
from typing import Any

from tests.standins.openmetadata import columns as column_rules
from tests.standins.openmetadata.changes import Change, json_text
from tests.standins.openmetadata.kinds import Kind

Data = dict[str, Any]

_RELATIONS = ("owners", "domains", "dataProducts")


def compare(kind: Kind, old: Data, new: Data, change: Change) -> None:
    """Record the differences between two states of an entity."""
    for name in ("description", "displayName"):
        change.scalar(name, old.get(name), new.get(name))
    for name in kind.tracked:
        if old.get(name) != new.get(name):
            _compare_property(name, old.get(name), new.get(name), change)
    for name in kind.silent:
        if old.get(name) != new.get(name):
            change.silent = True
    change.labels("tags", old.get("tags", []), new.get("tags", []))
    for name in (*_RELATIONS, *kind.references):
        if old.get(name) != new.get(name):
            before, after = ([entity.reference() for entity in state.get(name) or []] for state in (old, new))
            change.items(name, before, after, "id")
    if old.get("extension") != new.get("extension"):
        _compare_extension(old.get("extension") or {}, new.get("extension") or {}, change)
    if _certification_fqn(old) != _certification_fqn(new):
        change.scalar("certification", old.get("certification"), new.get("certification"))


def _compare_property(name: str, old: Any, new: Any, change: Change) -> None:
    if name == "columns":
        column_rules.compare(old or [], new or [], change)
    elif name == "tasks":
        change.items("tasks", old or [], new or [], "name")
    elif name == "connection":
        change.update("connection", json.dumps("old-encrypted-value"), json.dumps("new-encrypted-value"))
    else:
        change.scalar(name, old, new)


def _compare_extension(old: Data, new: Data, change: Change) -> None:
    if added := [{name: new[name]} for name in new if name not in old]:
        change.add("extension", json_text(added))
    if deleted := [{name: old[name]} for name in old if name not in new]:
        change.delete("extension", json_text(deleted))
    for name in old:
        if name in new and old[name] != new[name]:
            change.update(f"extension.{name}", json_text(old[name]), json_text(new[name]))


def _certification_fqn(state: Data) -> Any:
    """Certifications are equal if their tags are; the dates come from the server."""
    return ((state.get("certification") or {}).get("tagLabel") or {}).get("tagFQN")
