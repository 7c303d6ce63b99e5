"""Change descriptions between two states of an entity."""

import json
import re
from typing import Any

#: Properties in `changeSummary`.
_SUMMARISED = re.compile(r"(?:.*\.)?description|owners")


def json_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _to_text(value: Any) -> Any:
    """Objects and lists as JSON; other values unchanged."""
    return json_text(value) if isinstance(value, (dict, list)) else value


class Change:
    """Added, updated and deleted properties."""

    def __init__(self) -> None:
        self.added: list[dict[str, Any]] = []
        self.updated: list[dict[str, Any]] = []
        self.deleted: list[dict[str, Any]] = []
        self.major = False
        #: A change that is stored, but not described.
        self.silent = False

    def __bool__(self) -> bool:
        return bool(self.added or self.updated or self.deleted)

    def add(self, name: str, new: Any) -> None:
        self.added.append({"name": name, "newValue": new})

    def delete(self, name: str, old: Any) -> None:
        self.deleted.append({"name": name, "oldValue": old})

    def update(self, name: str, old: Any, new: Any) -> None:
        self.updated.append({"name": name, "oldValue": old, "newValue": new})

    def scalar(self, name: str, old: Any, new: Any) -> None:
        """Record an added, deleted or updated value; an empty list counts as absent."""
        if old == new or (not old and not new and old != new and {type(old), type(new)} & {list, type(None)}):
            return
        if old is None or old == []:
            self.add(name, _to_text(new))
        elif new is None or new == []:
            self.delete(name, _to_text(old))
        else:
            self.update(name, _to_text(old), _to_text(new))

    def labels(self, name: str, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
        """Record added and deleted labels; duplicates count once."""
        before, after = ({label["tagFQN"]: label for label in labels} for labels in (old, new))
        self._diff(name, before, after)

    def items(self, name: str, old: list[dict[str, Any]], new: list[dict[str, Any]], key: str) -> None:
        """Record added and deleted list items, identified by one property."""
        before, after = ({item[key]: item for item in items} for items in (old, new))
        self._diff(name, before, after)

    def _diff(self, name: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        if added := [item for key, item in after.items() if key not in before]:
            self.add(name, json_text(added))
        if deleted := [item for key, item in before.items() if key not in after]:
            self.delete(name, json_text(deleted))

    def names(self) -> list[str]:
        return [item["name"] for item in self.added + self.updated]

    def describe(self, version: float, summary: dict[str, Any] | None) -> dict[str, Any]:
        """Render the change description."""
        out: dict[str, Any] = {
            "fieldsAdded": self.added,
            "fieldsUpdated": self.updated,
            "fieldsDeleted": self.deleted,
            "previousVersion": version,
        }
        if summary is not None:
            out["changeSummary"] = summary
        return out

    def summary(self, before: dict[str, Any], user: str, at: int, source: bool) -> dict[str, Any]:
        """Update the change summary; properties that were deleted, even to be replaced, are omitted."""
        origin = {"changeSource": "Manual"} if source else {}
        entry = {**origin, "changedBy": user, "changedAt": at}
        out = before | {name: entry for name in self.names() if _SUMMARISED.fullmatch(name)}
        return {name: entry for name, entry in out.items() if not self._is_removed(name)}

    def _is_removed(self, name: str) -> bool:
        for item in self.deleted:
            if item["name"] == name:
                return True
            if item["name"] == "columns" and name.startswith("columns."):
                removed = {column["name"] for column in json.loads(item["oldValue"])}
                if name.split(".")[1] in removed:
                    return True
        return False


def next_version(version: float, change: Change) -> float:
    return round(version + (1.0 if change.major else 0.1), 1)
