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
#: Newest first, with the place of each among those that are one version to readers.
_VISIBLE = f"""
SELECT {_COLUMNS}, row_number() OVER (
  PARTITION BY v.grouped_by ORDER BY v.run_start, v.writer_id, v.dataset_id
) AS place
FROM ({written_versions_sql("v.org_id = ?1 AND d.class_id = ?2 AND coalesce(r.event_time, v.produced_at) <= ?3")}) v
LEFT JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.produced_by_run_id
ORDER BY ended DESC, v.writer_id DESC, grouped_by DESC
"""
#: Whatever became of the runs that wrote them.
_WRITTEN = f"""
SELECT {_COLUMNS}, 1 FROM ol_dataset d
JOIN dataset_version v ON v.org_id = d.org_id AND v.dataset_id = d.dataset_id
LEFT JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.produced_by_run_id
WHERE d.org_id = ?1 AND d.class_id = ?2
"""
_BY_IDS = f"{_WRITTEN} AND v.version_id {{ids}}"
_OF_GROUP = f"{_WRITTEN} AND coalesce('key:' || v.idempotency_key, 'tag:' || v.version_tag) = ?3"
_CALLED = f"{_WRITTEN} AND (v.version_tag = ?3 OR v.idempotency_key = ?3 OR v.version_id = ?4)"
_MARKS = """
SELECT i.version_id, i.partition_key, i.reason FROM ol_dataset d
JOIN version_invalid i ON i.org_id = d.org_id AND i.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id = ?2 AND i.lifted_at IS NULL ORDER BY i.marked_at, i.version_id
"""
#: Where a row says what it shares with other attempts, and which of these it is.
_GROUP, _PLACE = 17, 18
#: What stands for a whole version where a partition could be named.
WHOLE_VERSION = ""


class Version(NamedTuple):
    """What a run left in a dataset."""

    id: bytes
    #: The name of the dataset under which it was written.
    dataset: bytes
    tag: str
    key: str | None
    run_uuid: str | None
    job: bytes | None
    #: How its run is; None when nobody knows a run of it.
    run_state: str | None
    produced_at: int
    ended_at: int
    row_count: int | None
    byte_count: int | None
    file_count: int | None
    path: str | None
    schema_hash: bytes | None
    #: The partitions that it is of; None when it is of the whole dataset.
    partitions: tuple[str, ...] | None
    metadata: str | None
    checksum: str | None
    #: What it shares with other attempts at it.
    attempt_group: str
    #: Why it is invalid, by partition.
    invalid: dict[str, str]

    def has_partition(self, partition: str) -> bool:
        """Tell whether a partition was written with it."""
        return self.partitions is None or partition in self.partitions

    def unreadable_reason(self, partition: str = WHOLE_VERSION) -> str | None:
        """Say why it, or a partition of it, is not to be read; None when it is."""
        if self.run_state != "COMPLETE" and self.run_uuid is not None:
            return f"its run {self.run_uuid} is {self.run_state or 'not known'}, not COMPLETE"
        reason = self.invalid.get(WHOLE_VERSION) or self.invalid.get(partition)
        return f"it is marked invalid: {reason}" if reason else None


class VersionReader:
    """Finds versions of datasets, given by their classes."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def list_newest(self, dataset: bytes, until: int = NO_TIME_LIMIT) -> list[Version]:
        """List the versions that readers saw at a time, the newest first: of several attempts at one, the first."""
        rows = self._db.fetch_all(_VISIBLE, self._org, dataset, until)
        return list(self._first_attempts(dataset, rows).values())

    def find(self, dataset: bytes, called: str) -> Version:
        """Find the version with a tag, a key or an id; raises UnknownName or, with the reason, Conflict."""
        rows = self._db.fetch_all(_VISIBLE, self._org, dataset, NO_TIME_LIMIT)
        first = self._first_attempts(dataset, rows)
        as_id = _read_id(called)
        visible = [_version(row) for row in rows]
        for names in ("id", "tag", "key"):
            sought = as_id if names == "id" else called
            groups = {one.attempt_group for one in visible if getattr(one, names) == sought and sought is not None}
            if len(groups) > 1:
                ids = ", ".join(str(UUID(bytes=first[group].id)) for group in sorted(groups))
                raise InvalidParameter(f"several versions are called {called!r}: name one of {ids}", "version")
            if groups:
                return first[groups.pop()]
        raise self._not_found_error(dataset, called, as_id)

    def get(self, dataset: bytes, version: bytes) -> Version | None:
        """Give one by its id, whatever became of its run; None when the dataset has it no more."""
        return self.get_many(dataset, [version]).get(version)

    def get_many(self, dataset: bytes, versions: Iterable[bytes]) -> dict[bytes, Version]:
        """Give some by their ids, whatever became of their runs."""
        rows = self._db.fetch_for_ids(_BY_IDS, sorted(versions), self._org, dataset)
        marks = self._active_invalidations(dataset)
        return {one.id: self._marked(dataset, one, marks) for one in map(_version, rows)}

    def _not_found_error(self, dataset: bytes, called: str, as_id: bytes | None) -> Exception:
        for row in self._db.fetch_all(_CALLED, self._org, dataset, called, as_id or b""):
            why = (
                _version(row).unreadable_reason()
                or "readers see another version in its place, which was written around it"
            )
            return StateConflict(f"version {called!r}: {why}")
        return NotFound(f"no version {called!r} of the dataset in the store")

    def _first_attempts(self, dataset: bytes, rows: list[tuple[Any, ...]]) -> dict[str, Version]:
        """Give the version that stands for each group, in the order of the rows."""
        order = dict.fromkeys(row[_GROUP] for row in rows)
        found = {row[_GROUP]: _version(row) for row in rows if row[_PLACE] == 1}
        marks = self._active_invalidations(dataset)
        if marks:
            of = {bytes(row[0]): row[_GROUP] for row in rows}
            for version, partition, reason in marks:
                if version in of:
                    found[of[version]].invalid[partition] = reason
        return {group: found[group] for group in order}

    def _marked(self, dataset: bytes, version: Version, marks: Sequence[tuple[bytes, str, str]]) -> Version:
        """Add what was decided of it, or of other attempts at it."""
        if marks:
            attempts = {
                bytes(row[0]) for row in self._db.fetch_all(_OF_GROUP, self._org, dataset, version.attempt_group)
            }
            version.invalid.update({part: reason for id_, part, reason in marks if id_ in attempts})
        return version

    def _active_invalidations(self, dataset: bytes) -> list[tuple[bytes, str, str]]:
        rows = self._db.fetch_all(_MARKS, self._org, dataset)
        return [(bytes(version), partition, reason) for version, partition, reason in rows]


def _version(row: tuple[Any, ...]) -> Version:
    id_, dataset, *middle, subset, metadata, checksum, group, _ = row
    told = (*middle, partition_keys(subset), metadata, checksum, group, {})
    return Version._make((bytes(id_), bytes(dataset), *told))


def _read_id(text: str) -> bytes | None:
    try:
        return UUID(text).bytes
    except ValueError:
        return None
