"""What changed between two states of an entity, in the server's words."""

import json
import re
from typing import Any

#: Changes that `changeSummary` remembers who made.
_SUMMARISED = re.compile(r"(?:.*\.)?description|owners")


def json_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _spelled(value: Any) -> Any:
    """Spell a value of a change: texts and plain values as they are, all else as JSON."""
    return json_text(value) if isinstance(value, (dict, list)) else value


class Change:
    """What was added, updated and deleted."""

    def __init__(self) -> None:
        self.added: list[dict[str, Any]] = []
        self.updated: list[dict[str, Any]] = []
        self.deleted: list[dict[str, Any]] = []
        self.major = False
        #: Something changed that is stored without being mentioned.
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
        """Record a value that came, went, or changed; an empty list is nothing."""
        if old == new or (not old and not new and old != new and {type(old), type(new)} & {list, type(None)}):
            return
        if old is None or old == []:
            self.add(name, _spelled(new))
        elif new is None or new == []:
            self.delete(name, _spelled(old))
        else:
            self.update(name, _spelled(old), _spelled(new))

    def labels(self, name: str, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
        """Record labels that came or went; the same label twice is one."""
        before, after = ({label["tagFQN"]: label for label in labels} for labels in (old, new))
        self._came_and_went(name, before, after)

    def named(self, name: str, old: list[dict[str, Any]], new: list[dict[str, Any]], key: str) -> None:
        """Record items of a list that are told apart by one property."""
        before, after = ({item[key]: item for item in items} for items in (old, new))
        self._came_and_went(name, before, after)

    def _came_and_went(self, name: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        if come := [item for key, item in after.items() if key not in before]:
            self.add(name, json_text(come))
        if gone := [item for key, item in before.items() if key not in after]:
            self.delete(name, json_text(gone))

    def names(self) -> list[str]:
        return [item["name"] for item in self.added + self.updated]

    def described(self, version: float, summary: dict[str, Any] | None) -> dict[str, Any]:
        """Write the change as the entity shows it."""
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
        """Carry over who changed what, and note this change; what was taken away, even to be replaced, is not noted."""
        origin = {"changeSource": "Manual"} if source else {}
        note = {**origin, "changedBy": user, "changedAt": at}
        out = before | {name: note for name in self.names() if _SUMMARISED.fullmatch(name)}
        return {name: noted for name, noted in out.items() if not self._takes_away(name)}

    def _takes_away(self, name: str) -> bool:
        for item in self.deleted:
            if item["name"] == name:
                return True
            if item["name"] == "columns" and name.startswith("columns."):
                gone = {column["name"] for column in json.loads(item["oldValue"])}
                if name.split(".")[1] in gone:
                    return True
        return False


def next_version(version: float, change: Change) -> float:
    return round(version + (1.0 if change.major else 0.1), 1)
