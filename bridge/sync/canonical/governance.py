"""Reads governance assertions, quality scores and access policies of datasets."""

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.governance_facets import GOVERNANCE, read_facets
from mappers.canonical.identity import NO_ID, digest
from mappers.governance.facet import access_tag
from mappers.openlineage.quality import quality_score

#: Key of the single item that represents all access policies.
ACCESS_POLICIES_KEY = digest(b"access policies")
_WITH_GOVERNANCE = """
SELECT DISTINCT d.class_id FROM facet f
JOIN ol_dataset d ON d.org_id = f.org_id AND d.dataset_id = f.owner_id
WHERE f.org_id = ?1 AND f.owner_id {ids} AND f.about_id = ?2 AND f.name = ?3
"""
#: The facet name is a literal so that the partial index applies.
_WITH_ACCESS_POLICIES = f"""
SELECT DISTINCT d.class_id FROM facet f
JOIN ol_dataset d ON d.org_id = f.org_id AND d.dataset_id = f.owner_id
WHERE f.org_id = ?1 AND f.about_id = ?2 AND f.name = '{GOVERNANCE}' AND f.body LIKE '%accessPolicies%'
"""
_ASSETS_WITH_POLICIES = """
SELECT namespace, name, content_json FROM asset WHERE org_id = ?1 AND content_json LIKE '%"access_policies"%'
"""
_WITH_RESULTS = """
SELECT DISTINCT d.class_id FROM quality_check_result r
JOIN quality_check_def q ON q.org_id = r.org_id AND q.qdef_id = r.qdef_id
JOIN ol_dataset d ON d.org_id = q.org_id AND d.dataset_id = q.dataset_id
WHERE r.org_id = ?1 AND r.qres_id {ids}
"""
_NEWEST_RESULTS = """
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
    """Governance facet and quality score of a dataset; either may be None."""

    facet: dict[str, Any] | None
    score: float | None


def read_governance(db: Database, org: str, group_ids: Collection[bytes]) -> dict[bytes, CanonicalGovernance]:
    facets = read_facets(db, org, group_ids, GOVERNANCE)
    counts: dict[bytes, dict[str, int]] = {}
    for group_id, status, count in db.fetch_for_ids(_NEWEST_RESULTS, sorted(group_ids), org):
        counts.setdefault(group_id, {})[status] = count
    return {
        group_id: CanonicalGovernance(facets.get(group_id), quality_score(counts.get(group_id, {})))
        for group_id in group_ids
    }


def read_access_facets(db: Database, org: str) -> list[dict[str, Any]]:
    """Return governance facets of all datasets with access policies.

    Any producer may send facets, but only asset files may grant access; policies from other sources are ignored.
    """
    policies_by_tag = _asset_policies(db, org)
    if not policies_by_tag:
        return []
    group_ids = {group_id for (group_id,) in db.fetch_all(_WITH_ACCESS_POLICIES, org, NO_ID)}
    facets = read_facets(db, org, group_ids, GOVERNANCE).values()
    return [facet for facet in facets if policies_by_tag.get(facet.get("accessTag")) == facet.get("accessPolicies")]


def _asset_policies(db: Database, org: str) -> dict[object, Any]:
    """Return access policies of asset files by access tag."""
    policies_by_tag: dict[object, Any] = {}
    for namespace, name, content in db.fetch_all(_ASSETS_WITH_POLICIES, org):
        openmetadata = (msgspec.json.decode(content).get("governance") or {}).get("openmetadata") or {}
        if policies := openmetadata.get("access_policies"):
            policies_by_tag[access_tag(namespace, name)] = policies
    return policies_by_tag


def datasets_with_governance(db: Database, org: str, datasets: Collection[bytes]) -> set[bytes]:
    """Return identity groups of the given datasets that have a governance facet."""
    if not datasets:
        return set()
    rows = db.fetch_for_ids(_WITH_GOVERNANCE, sorted(datasets), org, NO_ID, GOVERNANCE)
    return {group_id for (group_id,) in rows}


def datasets_with_results(db: Database, org: str, results: Collection[bytes]) -> set[bytes]:
    """Return identity groups of the datasets that these check results belong to."""
    return {group_id for (group_id,) in db.fetch_for_ids(_WITH_RESULTS, sorted(results), org)} if results else set()
