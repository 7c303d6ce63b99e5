"""What stewards say of a dataset, in the words of OpenLineage, and as tags of Marquez."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mappers.marquez.events import add_base_fields

#: The tag of columns that stewards call sensitive: one that Marquez comes with.
SENSITIVE = "SENSITIVE"


class MarquezTags(NamedTuple):
    """The tags of a dataset, and those of its columns."""

    own: frozenset[str]
    of_columns: frozenset[tuple[str, str]]

    def without(self, others: "MarquezTags") -> "MarquezTags":
        """Give those that are not among others."""
        return MarquezTags(self.own - others.own, self.of_columns - others.of_columns)


def governance_facets(said: Mapping[str, Any]) -> dict[str, Any]:
    """Give the facets that say what a steward says."""
    facets: dict[str, Any] = {}
    if description := said.get("description"):
        facets["documentation"] = {"description": description}
    if owners := said.get("owners"):
        facets["ownership"] = {"owners": [{"name": owner} for owner in owners]}
    tags = governance_tags(said)
    found = [{"key": tag, "value": "true", "source": "STEWARD"} for tag in sorted(tags.own)]
    found += [
        {"key": tag, "value": "true", "source": "STEWARD", "field": column} for column, tag in sorted(tags.of_columns)
    ]
    if found:
        facets["tags"] = {"tags": found}
    return facets


def governance_tags(said: Mapping[str, Any]) -> MarquezTags:
    """Give the tags that say what a steward says: all words that classify, and the tier."""
    own = {word for key in ("tags", "classifications", "glossaryTerms") for word in said.get(key) or ()}
    own |= {said[key] for key in ("tier", "certification") if said.get(key)}
    of_columns = set()
    for column in said.get("columns") or ():
        of_columns |= {(column["name"], word) for word in column.get("classifications") or ()}
        if column.get("sensitive"):
            of_columns.add((column["name"], SENSITIVE))
    return MarquezTags(frozenset(own), frozenset(of_columns))


def add_steward_facets(
    event: Mapping[str, Any], job: Mapping[str, Any], datasets: Mapping[tuple[str, str], Mapping[str, Any]]
) -> dict[str, Any]:
    """Add to an event of a run what others say of its job, in facets, and of its datasets: else it would be wiped."""
    told = dict(event)
    if job:
        told["job"] = {**event["job"], "facets": {**add_base_fields(job), **(event["job"].get("facets") or {})}}
    for side in ("inputs", "outputs"):
        told[side] = [_with_said(one, datasets.get((one["namespace"], one["name"]), {})) for one in event[side]]
    return told


def _with_said(dataset: dict[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    facets = governance_facets(said)
    return {**dataset, "facets": {**(dataset.get("facets") or {}), **add_base_fields(facets)}} if facets else dataset
