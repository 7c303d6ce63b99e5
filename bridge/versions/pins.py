"""Named pins, which retain versions until they expire."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.store.database import Database
from bridge.versions.reader import Version

_COLUMNS = """
p.name, d.class_id, p.dataset_id, p.version_id, p.version_tag, p.pinned_by, p.pinned_at, p.expires_at, p.reason
"""
_PINS_OF_DATASET = f"""
SELECT {_COLUMNS} FROM ol_dataset d JOIN pin p ON p.org_id = d.org_id AND p.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id = ?2 AND p.expires_at > ?3 ORDER BY p.pinned_at DESC, p.name, p.version_id
"""
_PAGE = f"""
SELECT {_COLUMNS} FROM pin p JOIN ol_dataset d ON d.org_id = p.org_id AND d.dataset_id = p.dataset_id
WHERE p.org_id = ?1 AND p.expires_at > ?2 AND (p.name > ?3 OR p.name = ?3 AND p.version_id > ?4)
ORDER BY p.name, p.version_id LIMIT ?5
"""
_BY_NAME = f"""
SELECT {_COLUMNS} FROM pin p JOIN ol_dataset d ON d.org_id = p.org_id AND d.dataset_id = p.dataset_id
WHERE p.org_id = ?1 AND p.name = ?2 ORDER BY p.version_id
"""
_SAVE = """
INSERT INTO pin (org_id, name, version_id, dataset_id, version_tag, pinned_by, pinned_at, expires_at, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (name, version_id, org_id) DO UPDATE SET version_tag = excluded.version_tag,
  pinned_by = excluded.pinned_by, pinned_at = excluded.pinned_at, expires_at = excluded.expires_at,
  reason = excluded.reason
"""
_DELETE = "DELETE FROM pin WHERE org_id = ?1 AND name = ?2 AND version_id = ?3"
_BEFORE_ALL_TIMES = -1
_NO_LIMIT = (1 << 63) - 1


class Pin(NamedTuple):
    """A version of a dataset that is retained under a name."""

    name: str
    #: Group of the dataset, and the member under which the version was written.
    group_id: bytes
    dataset_id: bytes
    version_id: bytes
    tag: str
    pinned_by: str
    pinned_at: int
    expires_at: int
    reason: str | None


class PinStore:
    """The pins of an organisation. Expired pins do not count."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org = org
        self._clock = clock

    def list_for_dataset(self, group_id: bytes) -> list[Pin]:
        """List the pins of the dataset with this group id, newest first."""
        return [
            _pin_from_row(row) for row in self._db.fetch_all(_PINS_OF_DATASET, self._org, group_id, self._clock())
        ]

    def find(self, group_id: bytes, name: str) -> Pin:
        """Find the pin of a dataset by name. Raises NotFound if no such pin exists."""
        matching_pin = next((pin for pin in self.list_for_dataset(group_id) if pin.name == name), None)
        if matching_pin is None:
            raise NotFound(f"no pin {name!r} of the dataset in the store, or it has expired")
        return matching_pin

    def list_page(
        self, limit: int, after: tuple[str, bytes] = ("", b""), *, include_expired: bool = False
    ) -> list[Pin]:
        """List pins sorted by name, starting after a given pin. Expired pins are included only on request."""
        now = _BEFORE_ALL_TIMES if include_expired else self._clock()
        return [_pin_from_row(row) for row in self._db.fetch_all(_PAGE, self._org, now, *after, limit)]

    def list_active(self) -> list[Pin]:
        return self.list_page(_NO_LIMIT)

    def pin(
        self, name: str, versions: Sequence[tuple[bytes, Version]], expires_at: int, actor: str, reason: str | None
    ) -> list[Pin]:
        """Pin a version of every given dataset, or none. An existing pin can be extended, but not moved."""
        now = self._clock()
        if expires_at <= now:
            raise InvalidParameter("must be in the future", "until")
        possible_conflicts = [_unpinnable_conflict(version) for _, version in versions]
        possible_conflicts += [self._moved_pin_conflict(group_id, name, version) for group_id, version in versions]
        conflicts = [conflict for conflict in possible_conflicts if conflict]
        if conflicts:
            raise StateConflict("; ".join(f"{conflict['reason']}" for conflict in conflicts), conflicts)
        pins = []
        for group_id, version in versions:
            # Pins of other versions have expired, because active ones are conflicts.
            for version_id in self._other_pinned_versions(name, group_id, version.id):
                self._db.execute(_DELETE, self._org, name, version_id)
            self._db.execute(
                _SAVE, self._org, name, version.id, version.dataset_id, version.tag, actor, now, expires_at, reason
            )
            pins.append(
                Pin(name, group_id, version.dataset_id, version.id, version.tag, actor, now, expires_at, reason)
            )
        return pins

    def unpin(self, name: str, group_id: bytes | None = None) -> list[Pin]:
        """Remove a pin from one dataset, or from all its datasets. Raises NotFound if no such pin exists."""
        pins = [_pin_from_row(row) for row in self._db.fetch_all(_BY_NAME, self._org, name)]
        removed_pins = [pin for pin in pins if group_id is None or pin.group_id == group_id]
        if not removed_pins:
            scope = "" if group_id is None else " of the dataset"
            raise NotFound(f"no pin {name!r}{scope} in the store")
        for pin in removed_pins:
            self._db.execute(_DELETE, self._org, name, pin.version_id)
        return removed_pins

    def _other_pinned_versions(self, name: str, group_id: bytes, kept_version_id: bytes) -> list[bytes]:
        pins = [_pin_from_row(row) for row in self._db.fetch_all(_BY_NAME, self._org, name)]
        return [pin.version_id for pin in pins if pin.group_id == group_id and pin.version_id != kept_version_id]

    def _moved_pin_conflict(self, group_id: bytes, name: str, version: Version) -> dict[str, str | None] | None:
        """Return a conflict if the name already pins another version of the dataset."""
        existing_pin = next(
            (pin for pin in self.list_for_dataset(group_id) if pin.name == name and pin.version_id != version.id),
            None,
        )
        if existing_pin is None:
            return None
        reason = (
            f"the pin {name!r} refers to version {existing_pin.tag!r}, not {version.tag!r}: "
            "remove it first, or use another name"
        )
        return {"version": version.tag, "current": existing_pin.tag, "reason": reason}


def _unpinnable_conflict(version: Version) -> dict[str, str | None] | None:
    """Return a conflict if the run of a version is not complete. Invalid versions can be pinned."""
    reason = version._replace(invalid={}).unreadable_reason()
    return {"version": version.tag, "reason": f"version {version.tag!r}: {reason}"} if reason else None


def _pin_from_row(row: tuple[Any, ...]) -> Pin:
    name, group_id, dataset_id, version_id, *remaining_columns = row
    return Pin(name, bytes(group_id), bytes(dataset_id), bytes(version_id), *remaining_columns)
