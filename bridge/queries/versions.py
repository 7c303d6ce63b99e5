"""Queries: versions, partitions, resolution and freshness of a dataset."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from bridge.clock import now_micros
from bridge.queries.query import Cursor, Limit, Page, QueryContext, paginate, parse_cursor
from bridge.queries.subject import DatasetSubjectQuery
from bridge.store.references import NodeReference, format_id, iso_or_none, node_reference
from bridge.store.visible_versions import visible_versions_sql
from bridge.versions.metadata import decode_metadata
from bridge.versions.pins import PinStore
from bridge.versions.publication import PublicationHistory
from bridge.versions.reader import WHOLE_VERSION, Version, VersionReader
from bridge.versions.resolver import VersionRequest, VersionResolver
from bridge.versions.results import ResolvedVersion, resolved_version
from bridge.versions.selector import AsOfField, PartitionField, SelectorField, parse_partition, parse_selector
from mappers.canonical.identity import NO_ID
from mappers.timestamps import format_timestamp

_COLUMNS = """
v.version_id, v.version_tag, v.idempotency_key, v.produced_at, v.row_count, v.byte_count, v.file_count, v.path,
  v.schema_hash, v.is_latest, r.run_uuid, r.job_id, r.started_at, r.event_time
"""
#: Restricted to one dataset: neither database would push that condition into the view of all versions.
_DATASET_VERSIONS = visible_versions_sql("v.org_id = ?1 AND d.class_id = ?2")
_VERSIONS = f"""
SELECT {_COLUMNS} FROM ({_DATASET_VERSIONS}) v
LEFT JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.produced_by_run_id
WHERE (v.produced_at < ?3 OR (v.produced_at = ?3 AND v.version_id < ?4))
ORDER BY v.produced_at DESC, v.version_id DESC LIMIT ?5
"""
_LATEST = f"""
SELECT {_COLUMNS} FROM ({_DATASET_VERSIONS}) v
JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.produced_by_run_id
ORDER BY r.event_time DESC, r.run_id DESC LIMIT 1
"""
_END_OF_TIME = (1 << 63) - 1


class _VersionRow(NamedTuple):
    """A row of `_COLUMNS`."""

    version_id: bytes
    tag: str
    key: str | None
    produced_at: int
    rows: int | None
    bytes: int | None
    files: int | None
    path: str | None
    schema_hash: Any
    is_latest: bool
    run_uuid: str | None
    job: Any
    run_started_at: int | None
    run_ended_at: int | None


class VersionResult(msgspec.Struct, frozen=True):
    """A version of a dataset as readers see it, written by one successful run."""

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
    #: The partitions that the version contains; null for the whole dataset.
    partitions: list[str] | None
    #: Whether the version is published, the pins that retain it, and the reason if it is invalid.
    published: bool
    pins: list[str]
    invalid: str | None
    metadata: dict[str, Any]


class LastSuccessResult(msgspec.Struct, frozen=True):
    """The last successful run that wrote a dataset. If there is none, all fields except `dataset` are null."""

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

    def run(self, ctx: QueryContext) -> Page[VersionResult]:
        before, before_id = parse_cursor(self.after, tuple[int, bytes]) or (_END_OF_TIME, b"")
        dataset = self.group_id(ctx)
        rows = _version_rows(ctx, _VERSIONS, dataset, before, before_id, self.limit + 1)
        page, cursor = paginate(rows, self.limit, lambda row: (row.produced_at, bytes(row.version_id)))
        return Page(_version_results(ctx, dataset, page), cursor)


class LastSuccessQuery(DatasetSubjectQuery[LastSuccessResult], frozen=True, kw_only=True):
    """The last successful run that wrote a dataset, which shows how fresh the dataset is."""

    path = "/last_success"
    result_type = LastSuccessResult

    def run(self, ctx: QueryContext) -> LastSuccessResult:
        dataset = self.group_id(ctx)
        reference = node_reference(dataset, ctx.graph().dataset_name(dataset))
        rows = _version_rows(ctx, _LATEST, dataset)
        if not rows:
            return LastSuccessResult(reference, run_id=None, job=None, started_at=None, ended_at=None, version=None)
        (row,) = rows
        (version,) = _version_results(ctx, dataset, rows)
        return LastSuccessResult(
            reference,
            version.run_id,
            version.job,
            iso_or_none(row.run_started_at),
            iso_or_none(row.run_ended_at),
            version,
        )


def newest_versions(ctx: QueryContext, dataset: bytes, limit: int) -> list[VersionResult]:
    return _version_results(ctx, dataset, _version_rows(ctx, _VERSIONS, dataset, _END_OF_TIME, b"", limit))


def _version_rows(ctx: QueryContext, sql: str, dataset: bytes, *values: int | bytes) -> list[_VersionRow]:
    return [_VersionRow._make(row) for row in ctx.db.fetch_all(sql, ctx.org, dataset, *values)]


def _version_results(ctx: QueryContext, dataset: bytes, rows: list[_VersionRow]) -> list[VersionResult]:
    """Combine rows of the canonical store with what the version registry knows about the versions."""
    job_names = ctx.graph().job_names({row.job for row in rows if row.job})
    registry_versions = VersionReader(ctx.db, ctx.org).get_many(dataset, {bytes(row.version_id) for row in rows})
    publication = PublicationHistory(ctx.db, ctx.org).current(dataset) if rows else None
    pins = PinStore(ctx.db, ctx.org, now_micros).list_for_dataset(dataset) if rows else []
    results = []
    for row in rows:
        version = registry_versions[bytes(row.version_id)]
        results.append(
            VersionResult(
                id=format_id(row.version_id),
                tag=row.tag,
                idempotency_key=row.key,
                produced_at=format_timestamp(row.produced_at),
                rows=row.rows,
                bytes=row.bytes,
                files=row.files,
                path=row.path,
                schema_hash=row.schema_hash.hex() if row.schema_hash else None,
                latest=bool(row.is_latest),
                run_id=row.run_uuid,
                job=node_reference(row.job, job_names[row.job]) if row.job and row.job != NO_ID else None,
                checksum=version.checksum,
                partitions=None if version.partitions is None else list(version.partitions),
                published=publication is not None and publication.version_id == version.id,
                pins=sorted(pin.name for pin in pins if pin.version_id == version.id),
                invalid=version.invalid.get(WHOLE_VERSION),
                metadata=decode_metadata(version.metadata),
            )
        )
    return results


class PartitionResult(msgspec.Struct, frozen=True):
    """A partition, and the versions from which `latest` and `published` read the partition, if any."""

    partition: str
    latest: str | None
    published: str | None
    #: Reasons why versions of the partition are invalid, by version.
    invalid: dict[str, str]


class ResolveVersionQuery(DatasetSubjectQuery[ResolvedVersion], frozen=True, kw_only=True):
    """The version that a selector resolves to, how it was resolved, and its location."""

    path = "/resolve"
    result_type = ResolvedVersion
    pin: SelectorField = "published"
    as_of: AsOfField = None
    partition: PartitionField | None = None

    def run(self, ctx: QueryContext) -> ResolvedVersion:
        request = VersionRequest(
            self.group_id(ctx), parse_selector(self.pin, self.as_of), parse_partition(self.partition)
        )
        return resolved_version(ctx.graph(), VersionResolver(ctx.db, ctx.org, now_micros).resolve(request))


class PartitionsQuery(DatasetSubjectQuery[Page[PartitionResult]], frozen=True, kw_only=True):
    """The partitions of a dataset, sorted by name, and the versions that they are read from."""

    path = "/partitions"
    result_type = Page[PartitionResult]
    limit: Limit = 100
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[PartitionResult]:
        dataset = self.group_id(ctx)
        reader = VersionReader(ctx.db, ctx.org)
        newest_versions_first = reader.list_newest(dataset)
        layers = PublicationHistory(ctx.db, ctx.org).list_layers(dataset)
        versions_by_id = reader.get_many(dataset, {layer.version_id for layer in layers})
        top_layer_first = [
            versions_by_id[layer.version_id] for layer in reversed(layers) if layer.version_id in versions_by_id
        ]
        invalid_reasons = _invalid_reasons(newest_versions_first)
        partitions = sorted({partition for version in newest_versions_first for partition in _partitions_of(version)})
        (after,) = parse_cursor(self.after, tuple[str]) or ("",)
        candidates = [partition for partition in partitions if partition > after][: self.limit + 1]
        page, next_cursor = paginate(candidates, self.limit, lambda partition: (partition,))
        results = []
        for partition in page:
            latest = next((version for version in newest_versions_first if _is_readable(version, partition)), None)
            top_version = next((version for version in top_layer_first if version.has_partition(partition)), None)
            is_published = top_version is not None and _is_readable(top_version, partition)
            results.append(
                PartitionResult(
                    partition,
                    latest.tag if latest else None,
                    top_version.tag if top_version and is_published else None,
                    invalid_reasons.get(partition, {}),
                )
            )
        return Page(results, next_cursor)


def _partitions_of(version: Version) -> set[str]:
    """Return the partitions that a version contains, and its partitions that were invalidated."""
    return {*(version.partitions or ()), *version.invalid} - {WHOLE_VERSION}


def _is_readable(version: Version, partition: str) -> bool:
    return version.has_partition(partition) and version.unreadable_reason(partition) is None


def _invalid_reasons(newest_versions_first: Sequence[Version]) -> dict[str, dict[str, str]]:
    """Return the reasons why partitions are invalid, by partition and version tag, oldest version first."""
    reasons: dict[str, dict[str, str]] = {}
    for version in reversed(newest_versions_first):
        for partition in _partitions_of(version):
            reason = version.invalid.get(partition, version.invalid.get(WHOLE_VERSION))
            if reason:
                reasons.setdefault(partition, {})[version.tag] = reason
    return reasons
