"""What people promise of datasets and jobs: the content of their `lineageBridge_sla` facets."""

from collections.abc import Iterable
from typing import Any

import msgspec

from bridge.store.database import Database
from mappers.canonical.identity import NOBODY

_NAME = "lineageBridge_sla"
_PROMISED = """
SELECT d.class_id, f.facet_order, f.body FROM ol_dataset d
JOIN facet f ON f.org_id = d.org_id AND f.owner_id = d.dataset_id AND f.about_id = ?2 AND f.name = ?3
WHERE d.org_id = ?1 AND d.class_id {among} AND f.body IS NOT NULL
UNION ALL
SELECT j.job_id, f.facet_order, f.body FROM ol_job j
JOIN facet f ON f.org_id = j.org_id AND f.owner_id = j.job_id AND f.about_id = ?2 AND f.name = ?3
WHERE j.org_id = ?1 AND j.job_id {among} AND f.body IS NOT NULL
"""
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


def promises_of(db: Database, org: str, ends: Iterable[bytes]) -> dict[bytes, dict[str, Any]]:
    """Give what is promised of datasets, given by their classes, and of jobs; the newest word counts."""
    found: dict[bytes, dict[str, Any]] = {}
    for end, _, body in sorted(db.among(_PROMISED, sorted(ends), org, NOBODY, _NAME), key=lambda row: row[1]):
        found[end] = {key: value for key, value in _decoder.decode(body).items() if not key.startswith("_")}
    return found
