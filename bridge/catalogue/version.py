"""The versions of a dataset, and the run that last wrote it well."""

import time
from typing import Any

import msgspec

from bridge.catalogue.question import After, Limit, Page, View, after, page
from bridge.catalogue.things import AboutDataset, Thing, iso_or_none, thing, write_id
from bridge.registry.description import read
from bridge.registry.history import History
from bridge.registry.pins import Pins
from bridge.registry.versions import WHOLE
from bridge.registry.versions import Versions as DecidedVersions
from bridge.store.versions import dataset_version_read
from mappers.canonical.identity import NOBODY
from mappers.when import iso

_COLUMNS = """
v.version_id, v.version_tag, v.idempotency_key, v.produced_at, v.row_count, v.byte_count, v.file_count, v.path,
  v.schema_hash, v.is_latest, r.run_uuid, r.job_id, r.started_at, r.event_time
"""
#: Those of one dataset: no store would look for them first in the versions of all.
_OF_DATASET = dataset_version_read("v.org_id = ?1 AND d.class_id = ?2")
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


class Version(msgspec.Struct, frozen=True):
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
    job: Thing | None
    checksum: str | None
    #: The partitions that it is of; null: of the whole dataset.
    partitions: list[str] | None
    #: Whether it is what is published, which pins hold it, and why it is not to be read, if somebody says so.
    published: bool
    pins: list[str]
    invalid: str | None
    metadata: dict[str, Any]


class Success(msgspec.Struct, frozen=True):
    """The last run that wrote a dataset and succeeded; null when there is none."""

    dataset: Thing
    run_id: str | None
    job: Thing | None
    started_at: str | None
    ended_at: str | None
    version: Version | None


class Versions(AboutDataset[Page[Version]], frozen=True, kw_only=True):
    """The versions of a dataset, newest first."""

    path = "/versions"
    answer = Page[Version]
    limit: Limit = 50
    after: After = None

    def answered(self, view: View) -> Page[Version]:
        """Read a page."""
        produced, version = after(self.after, tuple[int, bytes]) or (_NEVER_LATER, b"")
        dataset = self.dataset(view)
        bound = (view.org, dataset, produced, version, self.limit + 1)
        rows, cursor = page(view.db.rows(_VERSIONS, *bound), self.limit, lambda row: (row[3], bytes(row[0])))
        return Page(_told(view, dataset, rows), cursor)


class LastSuccess(AboutDataset[Success], frozen=True, kw_only=True):
    """The last run that wrote a dataset and succeeded: and so how fresh it is."""

    path = "/last_success"
    answer = Success

    def answered(self, view: View) -> Success:
        """Look it up."""
        dataset = self.dataset(view)
        named = thing(dataset, view.graph().dataset(dataset))
        rows = view.db.rows(_LATEST, view.org, dataset)
        if not rows:
            return Success(named, None, None, None, None, None)
        (version,) = _told(view, dataset, rows)
        started, ended = rows[0][-2:]
        return Success(named, version.run_id, version.job, iso_or_none(started), iso_or_none(ended), version)


def newest_versions(view: View, dataset: bytes, limit: int) -> list[Version]:
    """Give the newest versions of a dataset."""
    return _told(view, dataset, view.db.rows(_VERSIONS, view.org, dataset, _NEVER_LATER, b"", limit))


def _told(view: View, dataset: bytes, rows: list[tuple[Any, ...]]) -> list[Version]:
    jobs = view.graph().jobs({row[11] for row in rows if row[11]})
    decided = DecidedVersions(view.db, view.org).some(dataset, {bytes(row[0]) for row in rows})
    head = History(view.db, view.org).head(dataset) if rows else None
    pins = Pins(view.db, view.org, lambda: time.time_ns() // 1_000).of(dataset) if rows else []
    found = []
    for id_, tag, key, produced, count, size, files, path, schema, latest, run, job, _, _ in rows:
        of = decided[bytes(id_)]
        found.append(
            Version(
                id=write_id(id_),
                tag=tag,
                idempotency_key=key,
                produced_at=iso(produced),
                rows=count,
                bytes=size,
                files=files,
                path=path,
                schema_hash=schema.hex() if schema else None,
                latest=bool(latest),
                run_id=run,
                job=thing(job, jobs[job]) if job and job != NOBODY else None,
                checksum=of.checksum,
                partitions=None if of.partitions is None else list(of.partitions),
                published=head is not None and head.version == of.id,
                pins=sorted(pin.name for pin in pins if pin.version == of.id),
                invalid=of.invalid.get(WHOLE),
                metadata=read(of.metadata),
            )
        )
    return found
