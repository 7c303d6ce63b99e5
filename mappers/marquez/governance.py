"""Converts governance facets to OpenLineage facets and Marquez tags."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mappers.marquez.events import add_base_fields

#: Tag of sensitive columns, predefined in Marquez.
SENSITIVE = "SENSITIVE"


class MarquezTags(NamedTuple):
    """Tags of a dataset, and tags of its columns as (column, tag)."""

    dataset_tags: frozenset[str]
    column_tags: frozenset[tuple[str, str]]

    def without(self, excluded: "MarquezTags") -> "MarquezTags":
        return MarquezTags(self.dataset_tags - excluded.dataset_tags, self.column_tags - excluded.column_tags)


def governance_facets(governance: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a governance facet to OpenLineage facets."""
    facets: dict[str, Any] = {}
    if description := governance.get("description"):
        facets["documentation"] = {"description": description}
    if owners := governance.get("owners"):
        facets["ownership"] = {"owners": [{"name": owner} for owner in owners]}
    marquez_tags = governance_tags(governance)
    entries = [{"key": tag, "value": "true", "source": "STEWARD"} for tag in sorted(marquez_tags.dataset_tags)]
    entries += [
        {"key": tag, "value": "true", "source": "STEWARD", "field": column}
        for column, tag in sorted(marquez_tags.column_tags)
    ]
    if entries:
        facets["tags"] = {"tags": entries}
    return facets


def governance_tags(governance: Mapping[str, Any]) -> MarquezTags:
    """Collect the tags of a governance facet: tags, classifications, glossary terms, tier and certification."""
    dataset_tags = {tag for key in ("tags", "classifications", "glossaryTerms") for tag in governance.get(key) or ()}
    dataset_tags |= {governance[key] for key in ("tier", "certification") if governance.get(key)}
    column_tags = set()
    for column in governance.get("columns") or ():
        column_tags |= {(column["name"], tag) for tag in column.get("classifications") or ()}
        if column.get("sensitive"):
            column_tags.add((column["name"], SENSITIVE))
    return MarquezTags(frozenset(dataset_tags), frozenset(column_tags))


def add_steward_facets(
    event: Mapping[str, Any],
    declared_job_facets: Mapping[str, Any],
    governance_by_dataset: Mapping[tuple[str, str], Mapping[str, Any]],
) -> dict[str, Any]:
    """Add declared job facets and dataset governance to a run event, so that Marquez does not erase them."""
    completed_event = dict(event)
    if declared_job_facets:
        job_facets = {**add_base_fields(declared_job_facets), **(event["job"].get("facets") or {})}
        completed_event["job"] = {**event["job"], "facets": job_facets}
    for side in ("inputs", "outputs"):
        completed_event[side] = [
            _add_governance(dataset, governance_by_dataset.get((dataset["namespace"], dataset["name"]), {}))
            for dataset in event[side]
        ]
    return completed_event


def _add_governance(dataset: dict[str, Any], governance: Mapping[str, Any]) -> dict[str, Any]:
    facets = governance_facets(governance)
    if not facets:
        return dataset
    return {**dataset, "facets": {**(dataset.get("facets") or {}), **add_base_fields(facets)}}
