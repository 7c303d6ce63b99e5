"""Publishes and rolls back versions of several datasets atomically (compare-and-set)."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.store.database import Database
from bridge.versions.publication import PublicationEntry, PublicationHistory, PublicationKind
from bridge.versions.reader import Version, VersionReader
from bridge.versions.resolver import VersionRequest, VersionResolver
from bridge.versions.selector import Selector

_LAST_ENTRY = "SELECT number, moved_at FROM publication WHERE org_id = ?1 ORDER BY number DESC LIMIT 1"
_ADD_ENTRY = """
INSERT INTO publication (org_id, number, began, dataset_id, version_id, version_tag, follows, how, moved_by, moved_at,
  reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
"""


class _Unchecked:
    """Type of `UNCHECKED`: any version may be published."""


UNCHECKED = _Unchecked()


class PublicationRequest(NamedTuple):
    """A dataset (group id) and the version to publish. Without a selector, it is the previously published version."""

    group_id: bytes
    selector: Selector | None
    #: Version that must currently be published (tag, key or id); None: no version may be published.
    expected: str | _Unchecked | None = UNCHECKED


class PublicationOutcome(NamedTuple):
    """The published version of a dataset, with its entry and the previous entry (the same if nothing changed)."""

    group_id: bytes
    version: Version
    previous: PublicationEntry | None
    entry: PublicationEntry


class _PlannedPublication(NamedTuple):
    """A request, the version to publish, and the entry that is published now."""

    request: PublicationRequest
    version: Version
    current_entry: PublicationEntry | None


class _PublicationRefused(Exception):
    def __init__(self, reason: str, current: str | None = None) -> None:
        super().__init__(reason)
        self.current = current


class Publisher:
    """Publishes and rolls back versions. Must be used within a transaction that holds the registry lock."""

    def __init__(
        self, db: Database, org: str, clock: Callable[[], int], display_name: Callable[[bytes], str]
    ) -> None:
        self._db = db
        self._org = org
        self._clock = clock
        self._display_name = display_name
        self._history = PublicationHistory(db, org)
        self._versions = VersionReader(db, org)
        self._resolver = VersionResolver(db, org, clock)

    def publish(
        self, requests: Sequence[PublicationRequest], actor: str, reason: str | None
    ) -> list[PublicationOutcome]:
        """Publish a version of each dataset. Versions that are already published are left unchanged."""
        return self._plan_and_write("publish", requests, actor, reason)

    def roll_back(
        self, requests: Sequence[PublicationRequest], actor: str, reason: str | None
    ) -> list[PublicationOutcome]:
        """Publish the previous version again, or a named version that was published at any time before."""
        return self._plan_and_write("rollback", requests, actor, reason)

    def roll_back_publication(self, publication: int, actor: str, reason: str | None) -> list[PublicationOutcome]:
        """Roll back every dataset of a publication, provided that the versions it published are still published."""
        entries = self._history.list_entries(publication)
        if not entries:
            raise NotFound(f"no publication {publication} in the store")
        groups = self._history.group_ids(entries)
        version_ids_by_group = {groups[entry.dataset_id]: _version_id(entry) for entry in entries}
        return self.roll_back(
            [PublicationRequest(group_id, None, version_id) for group_id, version_id in version_ids_by_group.items()],
            actor,
            reason,
        )

    def _plan_and_write(
        self, kind: PublicationKind, requests: Sequence[PublicationRequest], actor: str, reason: str | None
    ) -> list[PublicationOutcome]:
        """Find the version for each request, and write all entries or, if any request conflicts, none."""
        if len({request.group_id for request in requests}) < len(requests):
            raise InvalidParameter("a dataset is listed twice", "datasets")
        planned_publications: list[_PlannedPublication] = []
        conflicts: list[dict[str, str | None]] = []
        for request in requests:
            current_entry = self._history.current(request.group_id)
            try:
                version = self._target_version(kind, request, current_entry)
                planned_publications.append(_PlannedPublication(request, version, current_entry))
            except (_PublicationRefused, StateConflict) as error:
                published_tag = current_entry.tag if current_entry else None
                current_tag = error.current if isinstance(error, _PublicationRefused) else published_tag
                conflicts.append(
                    {"dataset": self._display_name(request.group_id), "current": current_tag, "reason": str(error)}
                )
        if conflicts:
            raise StateConflict(
                "; ".join(f"{conflict['dataset']}: {conflict['reason']}" for conflict in conflicts), conflicts
            )
        return self._write_entries(kind, planned_publications, actor, reason)

    def _target_version(
        self, kind: PublicationKind, request: PublicationRequest, current_entry: PublicationEntry | None
    ) -> Version:
        """Find the version to publish. Raises StateConflict or _PublicationRefused if it cannot be published."""
        if kind == "publish" and request.selector is not None:
            version = self._resolver.resolve(VersionRequest(request.group_id, request.selector)).version
            if current_entry is None or current_entry.version_id != version.id:
                self._check_expected_version(request, current_entry)
        else:
            self._check_expected_version(request, current_entry)
            version = self._rollback_target(request, current_entry)
        if (reason := version.unreadable_reason()) is not None:
            is_default_rollback = kind == "rollback" and request.selector is None
            remedy = ": specify another version to roll back to" if is_default_rollback else ""
            raise _PublicationRefused(
                f"version {version.tag!r}: {reason}{remedy}", current_entry.tag if current_entry else None
            )
        return version

    def _check_expected_version(self, request: PublicationRequest, current_entry: PublicationEntry | None) -> None:
        """Raise _PublicationRefused if another version is published than the request expects."""
        expected = request.expected
        if isinstance(expected, _Unchecked):
            return
        if current_entry is None:
            if expected is not None:
                raise _PublicationRefused(f"no version is published, but {expected!r} was expected")
            return
        if expected is None:
            raise _PublicationRefused(
                f"version {current_entry.tag!r} is published, but none was expected", current_entry.tag
            )
        version = self._versions.get(request.group_id, current_entry.version_id)
        accepted_names: set[str | None] = {current_entry.tag, _version_id(current_entry)}
        if version is not None:
            accepted_names |= {version.tag, version.key}
        if expected not in accepted_names:
            raise _PublicationRefused(
                f"version {current_entry.tag!r} is published, not {expected!r}", current_entry.tag
            )

    def _rollback_target(self, request: PublicationRequest, current_entry: PublicationEntry | None) -> Version:
        """Find the version to roll back to: the previously published version, or the requested version.

        An unreadable version is not skipped: an older one would not match the other datasets that are rolled back.
        """
        if current_entry is None:
            raise _PublicationRefused("nothing is published")
        if request.selector is not None:
            version = self._resolver.resolve(VersionRequest(request.group_id, request.selector)).version
            if not self._history.was_published(request.group_id, version.id):
                raise _PublicationRefused(
                    f"version {version.tag!r} was never published: publish it instead", current_entry.tag
                )
            return version
        layers = self._history.list_layers(request.group_id)
        earlier_layers = [entry for entry in layers if entry.version_id != current_entry.version_id]
        target = self._versions.get(request.group_id, earlier_layers[-1].version_id) if earlier_layers else None
        if target is None:
            raise _PublicationRefused(
                f"nothing was published before version {current_entry.tag!r}", current_entry.tag
            )
        return target

    def _write_entries(
        self,
        kind: PublicationKind,
        planned_publications: Iterable[_PlannedPublication],
        actor: str,
        reason: str | None,
    ) -> list[PublicationOutcome]:
        """Write the entries. Their times never decrease, even if the clocks of hosts differ."""
        now = self._clock()
        number = 1
        for last_number, last_published_at in self._db.fetch_all(_LAST_ENTRY, self._org):
            now = max(now, last_published_at)
            number = last_number + 1
        publication = number
        outcomes = []
        for request, version, current_entry in planned_publications:
            if current_entry is not None and current_entry.version_id == version.id:
                outcomes.append(PublicationOutcome(request.group_id, version, current_entry, current_entry))
                continue
            previous_number = current_entry.number if current_entry else None
            entry = PublicationEntry(
                number,
                publication,
                version.dataset_id,
                version.id,
                version.tag,
                previous_number,
                kind,
                actor,
                now,
                reason,
            )
            self._db.execute(_ADD_ENTRY, self._org, *entry)
            outcomes.append(PublicationOutcome(request.group_id, version, current_entry, entry))
            number += 1
        return outcomes


def _version_id(entry: PublicationEntry) -> str:
    return str(UUID(bytes=entry.version_id))
