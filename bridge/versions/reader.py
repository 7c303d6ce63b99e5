"""Finds versions of a dataset by tag, key or id, as consumers see them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.store.database import Database
from bridge.store.lineage.evidence import NO_TIME_LIMIT
from bridge.store.visible_versions import written_versions_sql
from mappers.openlineage.partitions import partition_keys

_COLUMNS = """
v.version_id, v.dataset_id, v.version_tag, v.idempotency_key, r.run_uuid, r.job_id, r.event_type, v.produced_at,
coalesce(r.event_time, v.produced_at) AS ended, v.row_count, v.byte_count, v.file_count, v.path, v.schema_hash,
v.subset_json, v.metadata_json, v.checksum,
coalesce('key:' || v.idempotency_key, 'tag:' || v.version_tag) AS grouped_by
"""
#: Newest first, with the rank of each among the attempts that are one version to readers.
_VISIBLE = f"""
SELECT {_COLUMNS}, row_number() OVER (
  PARTITION BY v.grouped_by ORDER BY v.run_start, v.writer_id, v.dataset_id
) AS rn
FROM ({written_versions_sql("v.org_id = ?1 AND d.class_id = ?2 AND coalesce(r.event_time, v.produced_at) <= ?3")}) v
LEFT JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.produced_by_run_id
ORDER BY ended DESC, v.writer_id DESC, grouped_by DESC
"""
#: All versions, regardless of the outcome of the runs that wrote them.
_WRITTEN = f"""
SELECT {_COLUMNS}, 1 FROM ol_dataset d
JOIN dataset_version v ON v.org_id = d.org_id AND v.dataset_id = d.dataset_id
LEFT JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.produced_by_run_id
WHERE d.org_id = ?1 AND d.class_id = ?2
"""
_BY_IDS = f"{_WRITTEN} AND v.version_id {{ids}}"
_ATTEMPTS = f"{_WRITTEN} AND coalesce('key:' || v.idempotency_key, 'tag:' || v.version_tag) = ?3"
_BY_NAME = f"{_WRITTEN} AND (v.version_tag = ?3 OR v.idempotency_key = ?3 OR v.version_id = ?4)"
_INVALIDATIONS = """
SELECT i.version_id, i.partition_key, i.reason FROM ol_dataset d
JOIN version_invalid i ON i.org_id = d.org_id AND i.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id = ?2 AND i.lifted_at IS NULL ORDER BY i.marked_at, i.version_id
"""
#: Stands for the whole version in place of a partition.
WHOLE_VERSION = ""


class Version(NamedTuple):
    """A version of a dataset, written by one run."""

    id: bytes
    #: The member of the group under which the version was written.
    dataset_id: bytes
    tag: str
    key: str | None
    run_uuid: str | None
    job: bytes | None
    #: The last event type of the version's run; None if no run is known.
    run_state: str | None
    produced_at: int
    ended_at: int
    row_count: int | None
    byte_count: int | None
    file_count: int | None
    path: str | None
    schema_hash: bytes | None
    #: The partitions that the version contains; None for the whole dataset.
    partitions: tuple[str, ...] | None
    metadata: str | None
    checksum: str | None
    #: Shared by all attempts at the same version.
    attempt_group: str
    #: Reasons why the version is invalid, by partition.
    invalid: dict[str, str]

    def has_partition(self, partition: str) -> bool:
        return self.partitions is None or partition in self.partitions

    def unreadable_reason(self, partition: str = WHOLE_VERSION) -> str | None:
        """Return the reason why the version, or its partition, must not be read. Return None if it may be read."""
        if self.run_state != "COMPLETE" and self.run_uuid is not None:
            return f"its run {self.run_uuid} is {self.run_state or 'unknown'}, not COMPLETE"
        reason = self.invalid.get(WHOLE_VERSION) or self.invalid.get(partition)
        return f"it is marked invalid: {reason}" if reason else None


class VersionReader:
    """Finds versions of datasets, which are identified by their group ids."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def list_newest(self, group_id: bytes, until: int = NO_TIME_LIMIT) -> list[Version]:
        """List the versions that readers saw at a time, newest first. Of several attempts, only the first counts."""
        rows = self._db.fetch_all(_VISIBLE, self._org, group_id, until)
        return list(self._first_attempts(group_id, rows).values())

    def find(self, group_id: bytes, name: str) -> Version:
        """Find a version by tag, key or id.

        Raises NotFound if no such version exists, and StateConflict with the reason if readers cannot see it.
        """
        rows = self._db.fetch_all(_VISIBLE, self._org, group_id, NO_TIME_LIMIT)
        first_attempts = self._first_attempts(group_id, rows)
        version_id = _parse_id_or_none(name)
        visible_versions = [_version_from_row(row) for row in rows]
        for attribute in ("id", "tag", "key"):
            requested_value = version_id if attribute == "id" else name
            groups = {
                version.attempt_group
                for version in visible_versions
                if getattr(version, attribute) == requested_value and requested_value is not None
            }
            if len(groups) > 1:
                ids = ", ".join(str(UUID(bytes=first_attempts[group].id)) for group in sorted(groups))
                raise InvalidParameter(f"several versions are named {name!r}: specify one of {ids}", "version")
            if groups:
                return first_attempts[groups.pop()]
        raise self._not_found_error(group_id, name, version_id)

    def get(self, group_id: bytes, version_id: bytes) -> Version | None:
        """Find a version by id, regardless of the outcome of its run. Return None if it no longer exists."""
        return self.get_many(group_id, [version_id]).get(version_id)

    def get_many(self, group_id: bytes, version_ids: Iterable[bytes]) -> dict[bytes, Version]:
        """Find versions by id, regardless of the outcome of their runs."""
        rows = self._db.fetch_for_ids(_BY_IDS, sorted(version_ids), self._org, group_id)
        invalidations = self._read_invalidations(group_id)
        return {
            version.id: self._add_invalidations(group_id, version, invalidations)
            for version in map(_version_from_row, rows)
        }

    def _not_found_error(self, group_id: bytes, name: str, version_id: bytes | None) -> Exception:
        for row in self._db.fetch_all(_BY_NAME, self._org, group_id, name, version_id or b""):
            reason = (
                _version_from_row(row).unreadable_reason() or "readers see the version of the enclosing run instead"
            )
            return StateConflict(f"version {name!r}: {reason}")
        return NotFound(f"no version {name!r} of the dataset in the store")

    def _first_attempts(self, group_id: bytes, rows: list[tuple[Any, ...]]) -> dict[str, Version]:
        """Return the first attempt of each group, in the order of the rows."""
        first_attempts: dict[str, Version] = {}
        group_by_id: dict[bytes, str] = {}
        for row in rows:
            version_id, *_, group, rank = row
            group_by_id[bytes(version_id)] = group
            if rank == 1:
                first_attempts[group] = _version_from_row(row)
        for invalid_id, partition, reason in self._read_invalidations(group_id):
            if invalid_id in group_by_id:
                first_attempts[group_by_id[invalid_id]].invalid[partition] = reason
        return {group: first_attempts[group] for group in group_by_id.values()}

    def _add_invalidations(
        self, group_id: bytes, version: Version, invalidations: Sequence[tuple[bytes, str, str]]
    ) -> Version:
        """Add the invalidations of a version and of other attempts at it."""
        if invalidations:
            attempts = {
                bytes(attempt)
                for attempt, *_ in self._db.fetch_all(_ATTEMPTS, self._org, group_id, version.attempt_group)
            }
            version.invalid.update({partition: reason for id_, partition, reason in invalidations if id_ in attempts})
        return version

    def _read_invalidations(self, group_id: bytes) -> list[tuple[bytes, str, str]]:
        rows = self._db.fetch_all(_INVALIDATIONS, self._org, group_id)
        return [(bytes(version_id), partition, reason) for version_id, partition, reason in rows]


def _version_from_row(row: tuple[Any, ...]) -> Version:
    id_, dataset_id, *other_columns, subset, metadata, checksum, group, _ = row
    fields = (*other_columns, partition_keys(subset), metadata, checksum, group, {})
    return Version._make((bytes(id_), bytes(dataset_id), *fields))


def _parse_id_or_none(text: str) -> bytes | None:
    try:
        return UUID(text).bytes
    except ValueError:
        return None
