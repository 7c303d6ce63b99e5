"""Queries: versions, partitions, resolution and freshness of a dataset."""

from collections import defaultdict
from typing import Any

import msgspec

from bridge.clock import now_micros
from bridge.queries.query import Cursor, Limit, Page, QueryContext, paginate, read_cursor
from bridge.queries.subject import DatasetSubjectQuery
from bridge.store.references import NodeReference, format_id, iso_or_none, node_reference
from bridge.store.visible_versions import visible_versions_sql
from bridge.versions.metadata import decode_metadata
from bridge.versions.pins import PinStore
from bridge.versions.publication import PublicationHistory
from bridge.versions.reader import WHOLE_VERSION, VersionReader
from bridge.versions.reader import VersionReader as DecidedVersions
from bridge.versions.resolver import VersionRequest, VersionResolver
from bridge.versions.results import ResolvedVersion, resolved_version
from bridge.versions.selector import AsOfField, PartitionField, SelectorField, parse_partition, parse_selector
from mappers.canonical.identity import NO_ID
from mappers.timestamps import format_timestamp

_COLUMNS = """
v.version_id, v.version_tag, v.idempotency_key, v.produced_at, v.row_count, v.byte_count, v.file_count, v.path,
  v.schema_hash, v.is_latest, r.run_uuid, r.job_id, r.started_at, r.event_time
"""
#: Those of one dataset: no store would look for them first in the versions of all.
_OF_DATASET = visible_versions_sql("v.org_id = ?1 AND d.class_id = ?2")
_VERSIONS = f"""
SELECT {_COLUMNS} FROM ({_OF_DATASET}) v
LEFT JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.produced_by_run_id
WHERE (v.produced_at < ?3 OR (v.produced_at = ?3 AND v.version_id < ?4))
ORDER BY v.produced_at DESC, v.version_id DESC LIMIT ?5
"""
_LATEST = f"""
SELECT {_COLUMNS} FROM ({_OF_DATASET}) v
JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.produced_by_run_id
ORDER BY r.event_time DESC, r.run_id DESC LIMIT 1
"""
_NEVER_LATER = (1 << 63) - 1


class VersionResult(msgspec.Struct, frozen=True):
    """What one successful run left in a dataset, as readers see it."""

    id: str
    tag: str
    idempotency_key: str | None
    produced_at: str
    rows: int | None
    bytes: int | None
    files: int | None
    path: str | None
    schema_hash: str | None
    latest: bool
    run_id: str | None
    job: NodeReference | None
    checksum: str | None
    #: The partitions that it is of; null: of the whole dataset.
    partitions: list[str] | None
    #: Whether it is what is published, which pins hold it, and why it is not to be read, if somebody says so.
    published: bool
    pins: list[str]
    invalid: str | None
    metadata: dict[str, Any]


class LastSuccessResult(msgspec.Struct, frozen=True):
    """The last run that wrote a dataset and succeeded; null when there is none."""

    dataset: NodeReference
    run_id: str | None
    job: NodeReference | None
    started_at: str | None
    ended_at: str | None
    version: VersionResult | None


class VersionsQuery(DatasetSubjectQuery[Page[VersionResult]], frozen=True, kw_only=True):
    """The versions of a dataset, newest first."""

    path = "/versions"
    result_type = Page[VersionResult]
    limit: Limit = 50
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[VersionResult]:
        """Read a page."""
        produced, version = read_cursor(self.after, tuple[int, bytes]) or (_NEVER_LATER, b"")
        dataset = self.group_id(view)
        bound = (view.org, dataset, produced, version, self.limit + 1)
        rows, cursor = paginate(view.db.fetch_all(_VERSIONS, *bound), self.limit, lambda row: (row[3], bytes(row[0])))
        return Page(_result(view, dataset, rows), cursor)


class LastSuccessQuery(DatasetSubjectQuery[LastSuccessResult], frozen=True, kw_only=True):
    """The last run that wrote a dataset and succeeded: and so how fresh it is."""

    path = "/last_success"
    result_type = LastSuccessResult

    def run(self, view: QueryContext) -> LastSuccessResult:
        """Look it up."""
        dataset = self.group_id(view)
        named = node_reference(dataset, view.graph().dataset_name(dataset))
        rows = view.db.fetch_all(_LATEST, view.org, dataset)
        if not rows:
            return LastSuccessResult(named, None, None, None, None, None)
        (version,) = _result(view, dataset, rows)
        started, ended = rows[0][-2:]
        return LastSuccessResult(
            named, version.run_id, version.job, iso_or_none(started), iso_or_none(ended), version
        )


def newest_versions(view: QueryContext, dataset: bytes, limit: int) -> list[VersionResult]:
    """Give the newest versions of a dataset."""
    return _result(view, dataset, view.db.fetch_all(_VERSIONS, view.org, dataset, _NEVER_LATER, b"", limit))


def _result(view: QueryContext, dataset: bytes, rows: list[tuple[Any, ...]]) -> list[VersionResult]:
    jobs = view.graph().job_names({row[11] for row in rows if row[11]})
    decided = DecidedVersions(view.db, view.org).get_many(dataset, {bytes(row[0]) for row in rows})
    head = PublicationHistory(view.db, view.org).current(dataset) if rows else None
    pins = PinStore(view.db, view.org, now_micros).list_for_dataset(dataset) if rows else []
    found = []
    for id_, tag, key, produced, count, size, files, path, schema, latest, run, job, _, _ in rows:
        of = decided[bytes(id_)]
        found.append(
            VersionResult(
                id=format_id(id_),
                tag=tag,
                idempotency_key=key,
                produced_at=format_timestamp(produced),
                rows=count,
                bytes=size,
                files=files,
                path=path,
                schema_hash=schema.hex() if schema else None,
                latest=bool(latest),
                run_id=run,
                job=node_reference(job, jobs[job]) if job and job != NO_ID else None,
                checksum=of.checksum,
                partitions=None if of.partitions is None else list(of.partitions),
                published=head is not None and head.version == of.id,
                pins=sorted(pin.name for pin in pins if pin.version == of.id),
                invalid=of.invalid.get(WHOLE_VERSION),
                metadata=decode_metadata(of.metadata),
            )
        )
    return found


class PartitionResult(msgspec.Struct, frozen=True):
    """A partition: the version that it is read of when the latest or what is published is asked for, if any."""

    partition: str
    latest: str | None
    published: str | None
    #: Why versions of it are not to be read, by version.
    invalid: dict[str, str]


class ResolveVersionQuery(DatasetSubjectQuery[ResolvedVersion], frozen=True, kw_only=True):
    """Which version of a dataset is meant, how it was found and where it lies."""

    path = "/resolve"
    result_type = ResolvedVersion
    pin: SelectorField = "published"
    as_of: AsOfField = None
    partition: PartitionField | None = None

    def run(self, view: QueryContext) -> ResolvedVersion:
        """Look it up."""
        wanted = VersionRequest(
            self.group_id(view), parse_selector(self.pin, self.as_of), parse_partition(self.partition)
        )
        return resolved_version(view.graph(), VersionResolver(view.db, view.org, now_micros).resolve(wanted))


class PartitionsQuery(DatasetSubjectQuery[Page[PartitionResult]], frozen=True, kw_only=True):
    """The partitions of a dataset that versions name, by their names, and the version that each is read of."""

    path = "/partitions"
    result_type = Page[PartitionResult]
    limit: Limit = 100
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[PartitionResult]:
        """Read a page."""
        dataset, versions = self.group_id(view), VersionReader(view.db, view.org)
        newest = versions.list_newest(dataset)
        moves = PublicationHistory(view.db, view.org).layers(dataset)[::-1]
        published = versions.get_many(dataset, {move.version for move in moves})
        standing = [published[move.version] for move in moves if move.version in published]
        invalid: dict[str, dict[str, str]] = defaultdict(dict)
        for one in reversed(newest):
            for part in (*(one.partitions or ()), *one.invalid):
                if part != WHOLE_VERSION and (reason := one.invalid.get(part, one.invalid.get(WHOLE_VERSION))):
                    invalid[part][one.tag] = reason
        keys = sorted(
            {part for one in newest for part in (*(one.partitions or ()), *one.invalid) if part != WHOLE_VERSION}
        )
        (behind,) = read_cursor(self.after, tuple[str]) or ("",)
        wanted = [key for key in keys if key > behind][: self.limit + 1]
        shown, following = paginate(wanted, self.limit, lambda key: (key,))
        told = []
        for key in shown:
            latest = next(
                (one.tag for one in newest if one.has_partition(key) and one.unreadable_reason(key) is None), None
            )
            top = next((one for one in standing if one.has_partition(key)), None)
            told.append(
                PartitionResult(
                    key, latest, top.tag if top and top.unreadable_reason(key) is None else None, dict(invalid[key])
                )
            )
        return Page(told, following)
