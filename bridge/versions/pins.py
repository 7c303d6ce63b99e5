"""Named pins that keep versions until they expire."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.store.database import Database
from bridge.versions.reader import Version

_COLUMNS = """
p.name, d.class_id, p.dataset_id, p.version_id, p.version_tag, p.pinned_by, p.pinned_at, p.expires_at, p.reason
"""
_OF_DATASET = f"""
SELECT {_COLUMNS} FROM ol_dataset d JOIN pin p ON p.org_id = d.org_id AND p.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id = ?2 AND p.expires_at > ?3 ORDER BY p.pinned_at DESC, p.name, p.version_id
"""
_LISTED = f"""
SELECT {_COLUMNS} FROM pin p JOIN ol_dataset d ON d.org_id = p.org_id AND d.dataset_id = p.dataset_id
WHERE p.org_id = ?1 AND p.expires_at > ?2 AND (p.name > ?3 OR p.name = ?3 AND p.version_id > ?4)
ORDER BY p.name, p.version_id LIMIT ?5
"""
_NAMED = f"""
SELECT {_COLUMNS} FROM pin p JOIN ol_dataset d ON d.org_id = p.org_id AND d.dataset_id = p.dataset_id
WHERE p.org_id = ?1 AND p.name = ?2 ORDER BY p.version_id
"""
_PUT = """
INSERT INTO pin (org_id, name, version_id, dataset_id, version_tag, pinned_by, pinned_at, expires_at, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (name, version_id, org_id) DO UPDATE SET version_tag = excluded.version_tag,
  pinned_by = excluded.pinned_by, pinned_at = excluded.pinned_at, expires_at = excluded.expires_at,
  reason = excluded.reason
"""
_DROP = "DELETE FROM pin WHERE org_id = ?1 AND name = ?2 AND version_id = ?3"
_EVERY_TIME = -1
_ALL = (1 << 63) - 1


class Pin(NamedTuple):
    """A version of a dataset that is kept under a name."""

    name: str
    #: The class of the dataset, and the name of it under which the version was written.
    dataset: bytes
    dataset_id: bytes
    version: bytes
    tag: str
    pinned_by: str
    pinned_at: int
    expires_at: int
    reason: str | None


class PinStore:
    """Keeps the pins of an organisation; those that have expired are as if they were not there."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org = org
        self._clock = clock

    def list_for_dataset(self, dataset: bytes) -> list[Pin]:
        """List the pins of a dataset, given by its class, the newest first."""
        return [_pin(row) for row in self._db.fetch_all(_OF_DATASET, self._org, dataset, self._clock())]

    def find(self, dataset: bytes, name: str) -> Pin:
        """Find the pin of a dataset by its name; raises UnknownName."""
        found = next((one for one in self.list_for_dataset(dataset) if one.name == name), None)
        if found is None:
            raise NotFound(f"no pin {name!r} of the dataset in the store, or it has expired")
        return found

    def list_page(self, limit: int, behind: tuple[str, bytes] = ("", b""), *, expired: bool = False) -> list[Pin]:
        """List pins by their names, behind one of them; those that have expired only when asked for."""
        now = _EVERY_TIME if expired else self._clock()
        return [_pin(row) for row in self._db.fetch_all(_LISTED, self._org, now, *behind, limit)]

    def list_active(self) -> list[Pin]:
        """List all pins that have not expired."""
        return self.list_page(_ALL)

    def pin(
        self, name: str, versions: Sequence[tuple[bytes, Version]], until: int, by: str, why: str | None
    ) -> list[Pin]:
        """Pin a version of each dataset, or of none; a pin that is there is prolonged, and never moved."""
        now = self._clock()
        if until <= now:
            raise InvalidParameter("lies in the past: a pin ends some time to come", "until")
        faults = [_unpinnable_reason(version) for _, version in versions]
        moved = [self._conflicting_pin(dataset, name, version) for dataset, version in versions]
        conflicts = [one for one in [*faults, *moved] if one]
        if conflicts:
            raise StateConflict("; ".join(f"{one['reason']}" for one in conflicts), conflicts)
        made = []
        for dataset, one in versions:
            for gone in self._other_versions(name, dataset, one.id):
                self._db.execute(_DROP, self._org, name, gone)  # expired, or it were a conflict
            self._db.execute(_PUT, self._org, name, one.id, one.dataset, one.tag, by, now, until, why)
            made.append(Pin(name, dataset, one.dataset, one.id, one.tag, by, now, until, why))
        return made

    def unpin(self, name: str, dataset: bytes | None = None) -> list[Pin]:
        """Remove a pin of one dataset, or of all that it names; raises UnknownName when there is none."""
        found = [_pin(row) for row in self._db.fetch_all(_NAMED, self._org, name)]
        gone = [one for one in found if dataset is None or one.dataset == dataset]
        if not gone:
            raise NotFound(f"no pin {name!r}{'' if dataset is None else ' of the dataset'} in the store")
        for one in gone:
            self._db.execute(_DROP, self._org, name, one.version)
        return gone

    def _other_versions(self, name: str, dataset: bytes, but: bytes) -> list[bytes]:
        rows = [_pin(row) for row in self._db.fetch_all(_NAMED, self._org, name)]
        return [one.version for one in rows if one.dataset == dataset and one.version != but]

    def _conflicting_pin(self, dataset: bytes, name: str, version: Version) -> dict[str, str | None] | None:
        there = next(
            (one for one in self.list_for_dataset(dataset) if one.name == name and one.version != version.id), None
        )
        if there is None:
            return None
        reason = (
            f"the pin {name!r} holds version {there.tag!r}, not {version.tag!r}: remove it first, or name another"
        )
        return {"version": version.tag, "current": there.tag, "reason": reason}


def _unpinnable_reason(version: Version) -> dict[str, str | None] | None:
    """Say why a version cannot be pinned: nothing is known to have been written; one that is invalid may be kept."""
    fault = version._replace(invalid={}).unreadable_reason()
    return {"version": version.tag, "reason": f"version {version.tag!r}: {fault}"} if fault else None


def _pin(row: tuple[Any, ...]) -> Pin:
    name, dataset, member, version, *rest = row
    return Pin(name, bytes(dataset), bytes(member), bytes(version), *rest)
