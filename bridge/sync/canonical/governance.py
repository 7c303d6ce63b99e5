"""Reads governance assertions, quality scores and access policies of datasets."""

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.governance_facets import GOVERNANCE, read_facets
from mappers.canonical.identity import NO_ID, digest
from mappers.governance.facet import access_tag
from mappers.openlineage.quality import quality_score

#: The key of the one item that is all access policies together.
ACCESS_POLICIES_KEY = digest(b"access policies")
_GOVERNED = """
SELECT DISTINCT d.class_id FROM facet f
JOIN ol_dataset d ON d.org_id = f.org_id AND d.dataset_id = f.owner_id
WHERE f.org_id = ?1 AND f.owner_id {ids} AND f.about_id = ?2 AND f.name = ?3
"""
#: The name stands in the text: so it is found by the index of these facets alone. Few of them speak of access.
_EVERY = f"""
SELECT DISTINCT d.class_id FROM facet f
JOIN ol_dataset d ON d.org_id = f.org_id AND d.dataset_id = f.owner_id
WHERE f.org_id = ?1 AND f.about_id = ?2 AND f.name = '{GOVERNANCE}' AND f.body LIKE '%accessPolicies%'
"""
_ASSETS = """
SELECT namespace, name, content_json FROM asset WHERE org_id = ?1 AND content_json LIKE '%"access_policies"%'
"""
_CHECKED = """
SELECT DISTINCT d.class_id FROM quality_check_result r
JOIN quality_check_def q ON q.org_id = r.org_id AND q.qdef_id = r.qdef_id
JOIN ol_dataset d ON d.org_id = q.org_id AND d.dataset_id = q.dataset_id
WHERE r.org_id = ?1 AND r.qres_id {ids}
"""
_ENDED = """
SELECT n.class_id, n.status, count(*) FROM (
  SELECT d.class_id, r.status, row_number() OVER (
    PARTITION BY r.qdef_id ORDER BY r.executed_at DESC, r.qres_id) AS place
  FROM ol_dataset d
  JOIN quality_check_def q ON q.org_id = d.org_id AND q.dataset_id = d.dataset_id
  JOIN quality_check_result r ON r.org_id = q.org_id AND r.qdef_id = q.qdef_id
  WHERE d.org_id = ?1 AND d.class_id {ids}
) n WHERE n.place = 1 GROUP BY n.class_id, n.status
"""


class CanonicalGovernance(NamedTuple):
    """What a steward wrote of a dataset, and its quality score, as far as either is known."""

    said: dict[str, Any] | None
    score: float | None


def read_governance(db: Database, org: str, classes: Collection[bytes]) -> dict[bytes, CanonicalGovernance]:
    """Read what governs datasets, given by their classes."""
    said = read_facets(db, org, classes, GOVERNANCE)
    counts: dict[bytes, dict[str, int]] = {}
    for class_id, status, count in db.fetch_for_ids(_ENDED, sorted(classes), org):
        counts.setdefault(class_id, {})[status] = count
    return {
        class_id: CanonicalGovernance(said.get(class_id), quality_score(counts.get(class_id, {})))
        for class_id in classes
    }


def read_all_access(db: Database, org: str) -> list[dict[str, Any]]:
    """Read what stewards say of all datasets of which any says who may do what.

    Whoever may send events may send facets; rights are given by asset files alone.
    """
    written = _written(db, org)
    classes = {class_id for (class_id,) in db.fetch_all(_EVERY, org, NO_ID)} if written else ()
    said = read_facets(db, org, classes, GOVERNANCE).values()
    return [one for one in said if written.get(one.get("accessTag")) == one.get("accessPolicies")]


def _written(db: Database, org: str) -> dict[object, Any]:
    """Read the access policies of the assets that were taken from files, by their tags."""
    found: dict[object, Any] = {}
    for namespace, name, content in db.fetch_all(_ASSETS, org):
        there = (msgspec.json.decode(content).get("governance") or {}).get("openmetadata") or {}
        if policies := there.get("access_policies"):
            found[access_tag(namespace, name)] = policies
    return found


def datasets_with_governance(db: Database, org: str, datasets: Collection[bytes]) -> set[bytes]:
    """Find the classes of those datasets of which a steward says anything."""
    return (
        {one for (one,) in db.fetch_for_ids(_GOVERNED, sorted(datasets), org, NO_ID, GOVERNANCE)}
        if datasets
        else set()
    )


def datasets_with_results(db: Database, org: str, results: Collection[bytes]) -> set[bytes]:
    """Find the classes of the datasets whose checks ended so."""
    return {one for (one,) in db.fetch_for_ids(_CHECKED, sorted(results), org)} if results else set()
