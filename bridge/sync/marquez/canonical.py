"""Reads runs with raw events, jobs and governed datasets for Marquez."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.event_log import LoggedEvent, read_run_events
from bridge.store.governance_facets import GOVERNANCE, facet_times, read_facets
from bridge.store.identity_groups import dataset_names
from mappers.canonical.columns import SchemaColumn, decode_columns
from mappers.canonical.identity import NO_ID
from mappers.canonical.rank import Rank, order_micros

_RUNS = """
SELECT r.run_id, r.run_uuid, r.job_id, coalesce(r.root_job_id, r.parent_job_id, r.job_id),
  coalesce(r.started_at, r.created_at)
FROM ol_run r WHERE r.org_id = ?1 AND r.run_id {ids}
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
WHERE j.org_id = ?1 AND j.job_id {ids}
"""
_RAN = "SELECT DISTINCT job_id FROM ol_run WHERE org_id = ?1 AND job_id {ids} AND least_claimant IS NOT NULL"
_FACETS = """
SELECT owner_id, name, facet_order, body FROM facet
WHERE org_id = ?1 AND owner_id {ids} AND about_id = ?2 AND body IS NOT NULL ORDER BY owner_id, name
"""
_DECLARED = """
SELECT e.job_id, e.edge_role, n.namespace_uri, d.name FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
JOIN ol_dataset d ON d.org_id = e.org_id
  AND d.dataset_id = CASE WHEN e.edge_role = 'CONSUMES' THEN e.source_id ELSE e.target_id END
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE e.org_id = ?1 AND e.job_id {ids} AND e.evidence = 'declared' AND e.edge_role IN ('CONSUMES', 'PRODUCES')
  AND (e.declared_io = j.declared_io OR e.declared_lineage = j.declared_lineage)
ORDER BY e.job_id, e.edge_role, n.namespace_uri, d.name
"""
_COUNTED = "SELECT class_id, count(*) FROM ol_dataset WHERE org_id = ?1 AND class_id {ids} GROUP BY class_id"
_CLASS_OF = """
SELECT n.namespace_uri, d.name, d.class_id FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.dataset_id {ids}
"""
_COLUMNS = "SELECT class_id, columns_json FROM class_schema WHERE org_id = ?1 AND class_id {ids}"
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class MarquezRun(NamedTuple):
    """A run with the events that told of it; it is sent after the others of its family that began before it."""

    key: bytes
    uuid: str
    job: bytes
    family: bytes
    started_at: int
    events: list[LoggedEvent]


class MarquezJob(NamedTuple):
    """A job with its facets; apart those that events of jobs say, and those of runs do not."""

    namespace: str
    name: str
    facets: dict[str, Any]
    beside_runs: dict[str, Any]
    inputs: list[dict[str, str]]
    outputs: list[dict[str, str]]
    said_at: int
    has_runs: bool


class MarquezDataset(NamedTuple):
    """A dataset under its preferred name with its columns, and what a steward says of it."""

    namespace: str
    name: str
    columns: tuple[SchemaColumn, ...]
    said: dict[str, Any]
    said_at: int
    has_other_names: bool


def read_runs(db: Database, org: str, runs: Collection[bytes]) -> dict[bytes, MarquezRun]:
    """Read runs with all their events."""
    events = read_run_events(db, org, runs)
    found = {}
    for key, uuid, job, family, began in db.fetch_for_ids(_RUNS, sorted(runs), org):
        found[bytes(key)] = MarquezRun(
            bytes(key), uuid, bytes(job), bytes(family), began or 0, events.get(bytes(key), [])
        )
    return found


def newest_sent_run(db: Database, org: str, target: str, job: bytes) -> tuple[int, bytes] | None:
    """Give the run of a job that began last, of those that were told or are being told, with its beginning."""
    rows = db.fetch_all(_NEWEST, org, job, target)
    return (rows[0][1] or 0, bytes(rows[0][0])) if rows else None


def read_jobs(db: Database, org: str, jobs: Collection[bytes]) -> dict[bytes, MarquezJob]:
    """Read jobs with what is said of them, and the datasets that they are declared to read and write."""
    wanted = sorted(jobs)
    facets: dict[bytes, list[tuple[str, bytes, Any]]] = {}
    for job, name, order, body in db.fetch_for_ids(_FACETS, wanted, org, NO_ID):
        facets.setdefault(bytes(job), []).append((name, bytes(order), _decoder.decode(body)))
    sides: dict[tuple[bytes, str], list[dict[str, str]]] = {}
    for job, role, namespace, name in db.fetch_for_ids(_DECLARED, wanted, org):
        one, side = {"namespace": namespace, "name": name}, sides.setdefault((bytes(job), role), [])
        if one not in side:
            side.append(one)
    ran = {bytes(job) for (job,) in db.fetch_for_ids(_RAN, wanted, org)}
    found = {}
    for key, namespace, name, updated_at in db.fetch_for_ids(_JOBS, wanted, org):
        of, job = facets.get(bytes(key), []), bytes(key)
        found[job] = MarquezJob(
            namespace, name,
            {name: body for name, _, body in of},
            {name: body for name, order, body in of if order[0] == Rank.JOB_EVENT},
            sides.get((job, "CONSUMES"), []), sides.get((job, "PRODUCES"), []),
            max((order_micros(order) for _, order, _ in of), default=updated_at),
            job in ran,
        )  # fmt: skip
    return found


def read_datasets(db: Database, org: str, classes: Collection[bytes]) -> dict[bytes, MarquezDataset]:
    """Read what stewards say of datasets, given by their classes."""
    wanted = sorted(classes)
    said, at = read_facets(db, org, wanted, GOVERNANCE), facet_times(db, org, wanted, [GOVERNANCE])
    columns = {bytes(key): tuple(decode_columns(found)) for key, found in db.fetch_for_ids(_COLUMNS, wanted, org)}
    names = {bytes(key): count for key, count in db.fetch_for_ids(_COUNTED, wanted, org)}
    found = {}
    for one, (namespace, name) in dataset_names(db, org, wanted).items():
        found[one] = MarquezDataset(
            namespace, name, columns.get(one, ()), said.get(one, {}), at.get(one, 0), names.get(one, 1) > 1
        )
    return found


def governance_by_name(db: Database, org: str, datasets: Collection[bytes]) -> dict[tuple[str, str], dict[str, Any]]:
    """Read what stewards say of datasets under the names that events give them."""
    if not datasets:
        return {}
    class_of = {
        (namespace, name): bytes(of) for namespace, name, of in db.fetch_for_ids(_CLASS_OF, sorted(datasets), org)
    }
    said: Mapping[bytes, dict[str, Any]] = read_facets(db, org, set(class_of.values()), GOVERNANCE)
    return {name: said[of] for name, of in class_of.items() if of in said}
