"""Reads runs (with their raw events), jobs and governed datasets for Marquez."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.event_log import LoggedEvent, read_run_events
from bridge.store.governance_facets import GOVERNANCE, facet_times, read_facets
from bridge.store.symlink_graph import dataset_names
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
_JOBS_WITH_RUNS = (
    "SELECT DISTINCT job_id FROM ol_run WHERE org_id = ?1 AND job_id {ids} AND least_claimant IS NOT NULL"
)
_FACETS = """
SELECT owner_id, name, facet_order, body FROM facet
WHERE org_id = ?1 AND owner_id {ids} AND about_id = ?2 AND body IS NOT NULL ORDER BY owner_id, name
"""
_DECLARED_DATASETS = """
SELECT e.job_id, e.edge_role, n.namespace_uri, d.name FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
JOIN ol_dataset d ON d.org_id = e.org_id
  AND d.dataset_id = CASE WHEN e.edge_role = 'CONSUMES' THEN e.source_id ELSE e.target_id END
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE e.org_id = ?1 AND e.job_id {ids} AND e.evidence = 'declared' AND e.edge_role IN ('CONSUMES', 'PRODUCES')
  AND (e.declared_io = j.declared_io OR e.declared_lineage = j.declared_lineage)
ORDER BY e.job_id, e.edge_role, n.namespace_uri, d.name
"""
_NAME_COUNTS = """
SELECT class_id, count(*) FROM ol_dataset
WHERE org_id = ?1 AND class_id {ids} AND folded_into IS NULL GROUP BY class_id
"""
_GROUPS = """
SELECT n.namespace_uri, d.name, d.class_id FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.dataset_id {ids}
"""
#: Names of datasets under which runs read or wrote them.
_NAMES_IN_RUNS = """
SELECT d.class_id, n.namespace_uri, d.name FROM ol_dataset d
JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.class_id {ids} AND d.folded_into IS NULL AND (
  EXISTS (SELECT 1 FROM ol_run_output t WHERE t.org_id = d.org_id AND t.dataset_id = d.dataset_id)
  OR EXISTS (SELECT 1 FROM ol_run_input i WHERE i.org_id = d.org_id AND i.dataset_id = d.dataset_id))
"""
_COLUMNS = "SELECT class_id, columns_json FROM class_schema WHERE org_id = ?1 AND class_id {ids}"
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


_DERIVED_FAILURES = """
SELECT run_id FROM run_outcome WHERE org_id = ?1 AND run_id {ids} AND status = 'FAILED' AND status_derived
"""


class MarquezRun(NamedTuple):
    """A run with its events; runs of one family are sent in start order."""

    key: bytes
    uuid: str
    job: bytes
    family: bytes
    started_at: int
    events: list[LoggedEvent]


class MarquezJob(NamedTuple):
    """A job with its facets; `declared_facets` come from job events and are not repeated in run events."""

    namespace: str
    name: str
    facets: dict[str, Any]
    declared_facets: dict[str, Any]
    inputs: list[dict[str, str]]
    outputs: list[dict[str, str]]
    declared_at: int
    has_runs: bool


class MarquezDataset(NamedTuple):
    """A dataset under a name that runs use, or else under its preferred name, with columns and governance facet."""

    namespace: str
    name: str
    columns: tuple[SchemaColumn, ...]
    governance: dict[str, Any]
    governance_at: int
    has_aliases: bool


def read_runs(db: Database, org: str, runs: Collection[bytes]) -> dict[bytes, MarquezRun]:
    """Return runs with all their events."""
    events = read_run_events(db, org, runs)
    runs_by_key: dict[bytes, MarquezRun] = {}
    for key, uuid, job, family, started_at in db.fetch_for_ids(_RUNS, sorted(runs), org):
        runs_by_key[bytes(key)] = MarquezRun(
            bytes(key), uuid, bytes(job), bytes(family), started_at or 0, events.get(bytes(key), [])
        )
    return runs_by_key


def read_derived_failures(db: Database, org: str, runs: Collection[bytes]) -> set[bytes]:
    """Return runs that reported success although their last action failed."""
    return {bytes(run) for (run,) in db.fetch_for_ids(_DERIVED_FAILURES, sorted(runs), org)}


def newest_sent_run(db: Database, org: str, target: str, job: bytes) -> tuple[int, bytes] | None:
    """Return the start time and key of the newest run of a job that was sent or is being sent, if any."""
    rows = db.fetch_all(_NEWEST, org, job, target)
    if not rows:
        return None
    ((run, started_at),) = rows
    return started_at or 0, bytes(run)


def read_jobs(db: Database, org: str, jobs: Collection[bytes]) -> dict[bytes, MarquezJob]:
    """Return jobs with their facets and declared datasets."""
    job_ids = sorted(jobs)
    facets: dict[bytes, list[tuple[str, bytes, Any]]] = {}
    for job, name, order, body in db.fetch_for_ids(_FACETS, job_ids, org, NO_ID):
        facets.setdefault(bytes(job), []).append((name, bytes(order), _decoder.decode(body)))
    datasets_by_role: dict[tuple[bytes, str], list[dict[str, str]]] = {}
    for job, role, namespace, name in db.fetch_for_ids(_DECLARED_DATASETS, job_ids, org):
        dataset = {"namespace": namespace, "name": name}
        datasets = datasets_by_role.setdefault((bytes(job), role), [])
        if dataset not in datasets:
            datasets.append(dataset)
    with_runs = {bytes(job) for (job,) in db.fetch_for_ids(_JOBS_WITH_RUNS, job_ids, org)}
    jobs_by_id = {}
    for key, namespace, name, updated_at in db.fetch_for_ids(_JOBS, job_ids, org):
        job = bytes(key)
        job_facets = facets.get(job, [])
        jobs_by_id[job] = MarquezJob(
            namespace, name,
            {facet_name: body for facet_name, _, body in job_facets},
            {facet_name: body for facet_name, order, body in job_facets if order[0] == Rank.JOB_EVENT},
            datasets_by_role.get((job, "CONSUMES"), []), datasets_by_role.get((job, "PRODUCES"), []),
            max((order_micros(order) for _, order, _ in job_facets), default=updated_at),
            job in with_runs,
        )  # fmt: skip
    return jobs_by_id


def read_datasets(db: Database, org: str, groups: Collection[bytes]) -> dict[bytes, MarquezDataset]:
    """Return governed datasets by identity group."""
    group_ids = sorted(groups)
    facets, times = read_facets(db, org, group_ids, GOVERNANCE), facet_times(db, org, group_ids, [GOVERNANCE])
    columns = {
        bytes(key): tuple(decode_columns(columns_json))
        for key, columns_json in db.fetch_for_ids(_COLUMNS, group_ids, org)
    }
    name_counts = {bytes(key): count for key, count in db.fetch_for_ids(_NAME_COUNTS, group_ids, org)}
    names_in_runs: dict[bytes, set[tuple[str, str]]] = {}
    for group_id, namespace, name in db.fetch_for_ids(_NAMES_IN_RUNS, group_ids, org):
        names_in_runs.setdefault(group_id, set()).add((namespace, name))
    datasets = {}
    for group_id, preferred_name in dataset_names(db, org, group_ids).items():
        names = names_in_runs.get(group_id, {preferred_name})
        # Marquez does not join an alias with the dataset that its runs name
        namespace, name = preferred_name if preferred_name in names else min(names)
        datasets[group_id] = MarquezDataset(
            namespace,
            name,
            columns.get(group_id, ()),
            facets.get(group_id, {}),
            times.get(group_id, 0),
            name_counts.get(group_id, 1) > 1,
        )
    return datasets


def governance_by_name(db: Database, org: str, datasets: Collection[bytes]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return governance facets by the dataset names that events use."""
    if not datasets:
        return {}
    group_by_name = {
        (namespace, name): bytes(group_id)
        for namespace, name, group_id in db.fetch_for_ids(_GROUPS, sorted(datasets), org)
    }
    facets: Mapping[bytes, dict[str, Any]] = read_facets(db, org, set(group_by_name.values()), GOVERNANCE)
    return {name: facets[group_id] for name, group_id in group_by_name.items() if group_id in facets}
