"""Runs, jobs and datasets as Marquez shall know them."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.run_log import LoggedEvent, read_run_events
from bridge.store.said import GOVERNANCE, said_at, said_of
from mappers.canonical.identity import NOBODY
from mappers.canonical.order import Rank, micros_of
from mappers.columns import ListedColumn, listed

_RUNS = """
SELECT r.run_id, r.run_uuid, r.job_id, coalesce(r.root_job_id, r.parent_job_id, r.job_id),
  coalesce(r.started_at, r.created_at)
FROM ol_run r WHERE r.org_id = ?1 AND r.run_id {among}
"""
_NEWEST = """
SELECT r.run_id, coalesce(r.started_at, r.created_at) AS began FROM ol_run r
JOIN sync_item i ON i.org_id = r.org_id AND i.target = ?3 AND i.kind = 'run' AND i.key = r.run_id
WHERE r.org_id = ?1 AND r.job_id = ?2 AND (i.remote_id IS NOT NULL OR i.claim IS NOT NULL)
ORDER BY began DESC, r.run_id DESC LIMIT 1
"""
_JOBS = """
SELECT j.job_id, n.namespace_uri, j.name, j.updated_at FROM ol_job j
JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
WHERE j.org_id = ?1 AND j.job_id {among}
"""
_RAN = "SELECT DISTINCT job_id FROM ol_run WHERE org_id = ?1 AND job_id {among} AND least_claimant IS NOT NULL"
_FACETS = """
SELECT owner_id, name, facet_order, body FROM facet
WHERE org_id = ?1 AND owner_id {among} AND about_id = ?2 AND body IS NOT NULL ORDER BY owner_id, name
"""
_DECLARED = """
SELECT e.job_id, e.edge_role, n.namespace_uri, d.name FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
JOIN ol_dataset d ON d.org_id = e.org_id
  AND d.dataset_id = CASE WHEN e.edge_role = 'CONSUMES' THEN e.source_id ELSE e.target_id END
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE e.org_id = ?1 AND e.job_id {among} AND e.evidence = 'declared' AND e.edge_role IN ('CONSUMES', 'PRODUCES')
  AND (e.declared_io = j.declared_io OR e.declared_lineage = j.declared_lineage)
ORDER BY e.job_id, e.edge_role, n.namespace_uri, d.name
"""
_NAMES = """
SELECT d.dataset_id, n.namespace_uri, d.name FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.dataset_id {among}
"""
_COUNTED = "SELECT class_id, count(*) FROM ol_dataset WHERE org_id = ?1 AND class_id {among} GROUP BY class_id"
_CLASS_OF = """
SELECT n.namespace_uri, d.name, d.class_id FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.dataset_id {among}
"""
_COLUMNS = "SELECT class_id, columns_json FROM class_schema WHERE org_id = ?1 AND class_id {among}"
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class StoredRun(NamedTuple):
    """A run with the events that told of it; it is sent after the others of its family that began before it."""

    key: bytes
    uuid: str
    job: bytes
    family: bytes
    began: int
    events: list[LoggedEvent]


class StoredJob(NamedTuple):
    """A job with its facets; apart those that events of jobs say, and those of runs do not."""

    namespace: str
    name: str
    facets: dict[str, Any]
    beside_runs: dict[str, Any]
    inputs: list[dict[str, str]]
    outputs: list[dict[str, str]]
    said_at: int
    has_runs: bool


class StoredDataset(NamedTuple):
    """A dataset under its preferred name with its columns, and what a steward says of it."""

    namespace: str
    name: str
    columns: tuple[ListedColumn, ...]
    said: dict[str, Any]
    said_at: int
    has_other_names: bool


def read_runs(db: Database, org: str, runs: Collection[bytes]) -> dict[bytes, StoredRun]:
    """Read runs with all their events."""
    events = read_run_events(db, org, runs)
    found = {}
    for key, uuid, job, family, began in db.among(_RUNS, sorted(runs), org):
        found[bytes(key)] = StoredRun(
            bytes(key), uuid, bytes(job), bytes(family), began or 0, events.get(bytes(key), [])
        )
    return found


def newest_told(db: Database, org: str, target: str, job: bytes) -> tuple[int, bytes] | None:
    """Give the run of a job that began last, of those that were told or are being told, with its beginning."""
    rows = db.rows(_NEWEST, org, job, target)
    return (rows[0][1] or 0, bytes(rows[0][0])) if rows else None


def read_jobs(db: Database, org: str, jobs: Collection[bytes]) -> dict[bytes, StoredJob]:
    """Read jobs with what is said of them, and the datasets that they are declared to read and write."""
    wanted = sorted(jobs)
    facets: dict[bytes, list[tuple[str, bytes, Any]]] = {}
    for job, name, order, body in db.among(_FACETS, wanted, org, NOBODY):
        facets.setdefault(bytes(job), []).append((name, bytes(order), _decoder.decode(body)))
    sides: dict[tuple[bytes, str], list[dict[str, str]]] = {}
    for job, role, namespace, name in db.among(_DECLARED, wanted, org):
        one, side = {"namespace": namespace, "name": name}, sides.setdefault((bytes(job), role), [])
        if one not in side:
            side.append(one)
    ran = {bytes(job) for (job,) in db.among(_RAN, wanted, org)}
    found = {}
    for key, namespace, name, updated_at in db.among(_JOBS, wanted, org):
        of, job = facets.get(bytes(key), []), bytes(key)
        found[job] = StoredJob(
            namespace, name,
            {name: body for name, _, body in of},
            {name: body for name, order, body in of if order[0] == Rank.JOB_EVENT},
            sides.get((job, "CONSUMES"), []), sides.get((job, "PRODUCES"), []),
            max((micros_of(order) for _, order, _ in of), default=updated_at),
            job in ran,
        )  # fmt: skip
    return found


def read_datasets(db: Database, org: str, classes: Collection[bytes]) -> dict[bytes, StoredDataset]:
    """Read what stewards say of datasets, given by their classes."""
    wanted = sorted(classes)
    said, at = said_of(db, org, wanted, GOVERNANCE), said_at(db, org, wanted, [GOVERNANCE])
    columns = {bytes(key): tuple(listed(found)) for key, found in db.among(_COLUMNS, wanted, org)}
    names = {bytes(key): count for key, count in db.among(_COUNTED, wanted, org)}
    found = {}
    for key, namespace, name in db.among(_NAMES, wanted, org):
        one = bytes(key)
        found[one] = StoredDataset(
            namespace, name, columns.get(one, ()), said.get(one, {}), at.get(one, 0), names.get(one, 1) > 1
        )
    return found


def said_of_names(db: Database, org: str, datasets: Collection[bytes]) -> dict[tuple[str, str], dict[str, Any]]:
    """Read what stewards say of datasets under the names that events give them."""
    if not datasets:
        return {}
    class_of = {(namespace, name): bytes(of) for namespace, name, of in db.among(_CLASS_OF, sorted(datasets), org)}
    said: Mapping[bytes, dict[str, Any]] = said_of(db, org, set(class_of.values()), GOVERNANCE)
    return {name: said[of] for name, of in class_of.items() if of in said}
