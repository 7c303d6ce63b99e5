"""Reads `lineageBridge_*` facets and owners of datasets and jobs."""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from bridge.store.database import Database
from mappers.canonical.identity import NO_ID
from mappers.canonical.rank import order_micros
from mappers.governance.facet import validate_governance

SLA, GOVERNANCE = "lineageBridge_sla", "lineageBridge_governance"
CONTRACT, EXPECTATIONS = "lineageBridge_contract", "lineageBridge_expectations"
_FROM_DATASET_FACETS = """
FROM ol_dataset d
JOIN facet f ON f.org_id = d.org_id AND f.owner_id = d.dataset_id AND f.about_id = ?2 AND f.name = ?3
WHERE d.org_id = ?1 AND d.class_id {ids}
"""
_BODIES = f"SELECT f.facet_order, d.class_id, f.body {_FROM_DATASET_FACETS} AND f.body IS NOT NULL"
_TIMES = f"SELECT d.class_id, f.facet_order {_FROM_DATASET_FACETS}"
_DATASETS = f"SELECT d.class_id, f.owner_id {_FROM_DATASET_FACETS}"
_BODIES_OF_JOBS = """
UNION ALL
SELECT f.facet_order, j.job_id, f.body FROM ol_job j
JOIN facet f ON f.org_id = j.org_id AND f.owner_id = j.job_id AND f.about_id = ?2 AND f.name = ?3
WHERE j.org_id = ?1 AND j.job_id {ids} AND f.body IS NOT NULL
"""
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


def read_slas(db: Database, org: str, subjects: Iterable[bytes]) -> dict[bytes, dict[str, Any]]:
    """Read the SLA facet of datasets (by group id) and jobs. The newest facet of a group wins."""
    return _newest_bodies(db.fetch_for_ids(_BODIES + _BODIES_OF_JOBS, sorted(subjects), org, NO_ID, SLA))


def read_facets(db: Database, org: str, groups: Iterable[bytes], facet: str) -> dict[bytes, dict[str, Any]]:
    """Read a facet of datasets by group id. The newest facet of a group wins."""
    bodies = _newest_bodies(db.fetch_for_ids(_BODIES, sorted(groups), org, NO_ID, facet))
    if facet != GOVERNANCE:
        return bodies
    return {group: validate_governance(body) for group, body in bodies.items()}


def facet_times(db: Database, org: str, groups: Iterable[bytes], facets: Iterable[str]) -> dict[bytes, int]:
    """Return the time, in microseconds, when facets of each group were last set or deleted."""
    times: dict[bytes, int] = {}
    group_list = sorted(groups)
    for facet in facets:
        for group, order in db.fetch_for_ids(_TIMES, group_list, org, NO_ID, facet):
            times[group] = max(times.get(group, 0), order_micros(order))
    return times


def datasets_with_facet(db: Database, org: str, groups: Iterable[bytes], facet: str) -> dict[bytes, list[bytes]]:
    """List the datasets of each group for which a facet was ever set, even if the facet has since been deleted."""
    datasets_by_group: dict[bytes, list[bytes]] = {}
    for group, dataset in db.fetch_for_ids(_DATASETS, sorted(groups), org, NO_ID, facet):
        datasets_by_group.setdefault(bytes(group), []).append(bytes(dataset))
    return datasets_by_group


def _newest_bodies(rows: Iterable[tuple[Any, ...]]) -> dict[bytes, dict[str, Any]]:
    bodies: dict[bytes, dict[str, Any]] = {}
    for _, subject, body in sorted(rows):  # by facet_order, so that newer bodies win
        bodies[subject] = {key: value for key, value in _decoder.decode(body).items() if not key.startswith("_")}
    return bodies


_BODIES_OF_OWNERS = """
SELECT owner_id, body FROM facet
WHERE org_id = ?1 AND owner_id {ids} AND about_id = ?2 AND name = ?3 AND body IS NOT NULL
"""


def read_facet_bodies(
    db: Database, org: str, jobs_or_runs: Collection[bytes], facet: str
) -> dict[bytes, dict[str, Any]]:
    """Read a facet of jobs or runs; those without it are left out."""
    rows = db.fetch_for_ids(_BODIES_OF_OWNERS, sorted(jobs_or_runs), org, NO_ID, facet)
    bodies = {owner: msgspec.json.decode(body) for owner, body in rows}
    return {owner: body for owner, body in bodies.items() if isinstance(body, dict)}


def read_facet_texts(db: Database, org: str, jobs: Collection[bytes], facet: str, key: str) -> dict[bytes, str]:
    """Read a text member of a facet of jobs; jobs without it are left out."""
    texts = {job: body.get(key) for job, body in read_facet_bodies(db, org, jobs, facet).items()}
    return {job: text for job, text in texts.items() if isinstance(text, str) and text}


_OWNERS = """
SELECT m.class_id, m.owner_team, m.owner_email FROM ol_dataset m WHERE m.org_id = ?1 AND m.class_id {ids}
UNION SELECT j.job_id, j.owner_team, j.owner_email FROM ol_job j WHERE j.org_id = ?1 AND j.job_id {ids}
"""


def read_owners(db: Database, org: str, subjects: Iterable[bytes]) -> dict[bytes, list[str]]:
    """List the known owners of datasets (by group id) and jobs."""
    owners: dict[bytes, set[str]] = {}
    for subject, *team_and_email in db.fetch_for_ids(_OWNERS, sorted(subjects), org):
        owners.setdefault(subject, set()).update(name for name in team_and_email if name)
    return {subject: sorted(names) for subject, names in owners.items()}
