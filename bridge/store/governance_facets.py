"""Reads `lineageBridge_*` facets and owners of datasets and jobs."""

from collections.abc import Iterable
from typing import Any

import msgspec

from bridge.store.database import Database
from mappers.canonical.identity import NO_ID
from mappers.canonical.rank import order_micros
from mappers.governance.facet import validate_governance

SLA, GOVERNANCE = "lineageBridge_sla", "lineageBridge_governance"
CONTRACT, EXPECTATIONS = "lineageBridge_contract", "lineageBridge_expectations"
_OF_DATASETS = """
FROM ol_dataset d
JOIN facet f ON f.org_id = d.org_id AND f.owner_id = d.dataset_id AND f.about_id = ?2 AND f.name = ?3
WHERE d.org_id = ?1 AND d.class_id {ids}
"""
_SAID = f"SELECT d.class_id, f.facet_order, f.body {_OF_DATASETS} AND f.body IS NOT NULL"
_TIMES = f"SELECT d.class_id, f.facet_order {_OF_DATASETS}"
_HELD = f"SELECT d.class_id, f.owner_id {_OF_DATASETS}"
_SAID_OF_JOBS = """
UNION ALL
SELECT j.job_id, f.facet_order, f.body FROM ol_job j
JOIN facet f ON f.org_id = j.org_id AND f.owner_id = j.job_id AND f.about_id = ?2 AND f.name = ?3
WHERE j.org_id = ?1 AND j.job_id {ids} AND f.body IS NOT NULL
"""
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


def read_slas(db: Database, org: str, ends: Iterable[bytes]) -> dict[bytes, dict[str, Any]]:
    """Give what is promised of datasets, given by their classes, and of jobs; the newest word counts."""
    return _newest(db.fetch_for_ids(_SAID + _SAID_OF_JOBS, sorted(ends), org, NO_ID, SLA))


def read_facets(db: Database, org: str, classes: Iterable[bytes], facet: str) -> dict[bytes, dict[str, Any]]:
    """Give what a facet says of datasets, given by their classes; the newest word counts."""
    found = _newest(db.fetch_for_ids(_SAID, sorted(classes), org, NO_ID, facet))
    return {key: validate_governance(body) for key, body in found.items()} if facet == GOVERNANCE else found


def facet_times(db: Database, org: str, classes: Iterable[bytes], facets: Iterable[str]) -> dict[bytes, int]:
    """Give the time, in microseconds, of the newest word of datasets in any of these facets, taken back or not."""
    found: dict[bytes, int] = {}
    wanted = sorted(classes)
    for facet in facets:
        for end, order in db.fetch_for_ids(_TIMES, wanted, org, NO_ID, facet):
            found[end] = max(found.get(end, 0), order_micros(order))
    return found


def datasets_with_facet(db: Database, org: str, classes: Iterable[bytes], facet: str) -> dict[bytes, list[bytes]]:
    """Find the datasets of which a facet ever said anything, taken back or not, by their classes."""
    found: dict[bytes, list[bytes]] = {}
    for class_id, dataset in db.fetch_for_ids(_HELD, sorted(classes), org, NO_ID, facet):
        found.setdefault(bytes(class_id), []).append(bytes(dataset))
    return found


def _newest(rows: Iterable[tuple[Any, ...]]) -> dict[bytes, dict[str, Any]]:
    found: dict[bytes, dict[str, Any]] = {}
    for end, _, body in sorted(rows, key=lambda row: row[1]):
        found[end] = {key: value for key, value in _decoder.decode(body).items() if not key.startswith("_")}
    return found


_OWNERS = """
SELECT m.class_id, m.owner_team, m.owner_email FROM ol_dataset m WHERE m.org_id = ?1 AND m.class_id {ids}
UNION SELECT j.job_id, j.owner_team, j.owner_email FROM ol_job j WHERE j.org_id = ?1 AND j.job_id {ids}
"""


def read_owners(db: Database, org: str, ends: Iterable[bytes]) -> dict[bytes, list[str]]:
    """Name the owners of datasets, given by their classes, and of jobs, as far as any are known."""
    found: dict[bytes, set[str]] = {}
    for end, *named in db.fetch_for_ids(_OWNERS, sorted(ends), org):
        found.setdefault(end, set()).update(name for name in named if name)
    return {end: sorted(names) for end, names in found.items()}
