"""Query: one dataset."""

from typing import Any

import msgspec

from bridge.queries.facets import latest_facets
from bridge.queries.query import QueryContext
from bridge.queries.subject import DatasetSubjectQuery
from bridge.queries.versions import VersionResult, newest_versions
from bridge.store.governance_facets import GOVERNANCE, read_facets, read_owners, read_slas
from bridge.store.lineage.graph import QualifiedName
from bridge.store.references import NodeReference, format_id, node_reference
from mappers.canonical.columns import decode_columns
from mappers.canonical.identity import NO_ID
from mappers.governance.facet import FILE

_DATASET = """
SELECT d.full_name, d.description, d.default_format, d.status, d.created_at, d.updated_at FROM dataset d
WHERE d.org_id = ?1 AND d.dataset_id = ?2
"""
_ALIASES = """
SELECT m.dataset_id, n.namespace_uri, m.name FROM ol_dataset m
JOIN ol_namespace n ON n.org_id = m.org_id AND n.namespace_id = m.namespace_id
WHERE m.org_id = ?1 AND m.class_id = ?2 AND m.dataset_id <> ?2
ORDER BY n.namespace_uri, m.name
"""
_SCHEMA = "SELECT columns_json FROM class_schema WHERE org_id = ?1 AND class_id = ?2"
_FACETS = """
SELECT f.name, f.body FROM facet f
JOIN ol_dataset m ON m.org_id = f.org_id AND m.dataset_id = f.owner_id
WHERE f.org_id = ?1 AND m.class_id = ?2 AND f.about_id = ?3
ORDER BY f.facet_order
"""
_RENAMED = """
SELECT d.class_id FROM dataset_succession s
JOIN ol_dataset m ON m.org_id = s.org_id AND m.dataset_id = s.{mine}_id
JOIN ol_dataset d ON d.org_id = s.org_id AND d.dataset_id = s.{other}_id
WHERE s.org_id = ?1 AND m.class_id = ?2
GROUP BY d.class_id
"""
_SHOWN_VERSIONS = 5


class Field(msgspec.Struct, frozen=True):
    """A column; nested ones have their whole path as name, and their depth."""

    name: str
    type: str | None
    description: str | None
    depth: int


class DatasetResult(NodeReference, frozen=True):
    """What is known of a dataset, and its newest versions."""

    full_name: str
    description: str | None
    format: str | None
    owners: list[str]
    status: str
    created_at: str
    updated_at: str
    aliases: list[NodeReference]
    renamed_from: list[NodeReference]
    renamed_to: list[NodeReference]
    fields: list[Field]
    sla: dict[str, Any] | None
    #: What a steward wrote down of it.
    governance: dict[str, Any] | None
    facets: dict[str, msgspec.Raw]
    versions: list[VersionResult]


class DatasetQuery(DatasetSubjectQuery[DatasetResult], frozen=True, kw_only=True):
    """What is known of a dataset, and its newest versions."""

    result_type = DatasetResult

    def run(self, view: QueryContext) -> DatasetResult:
        """Look it up."""
        dataset = self.group_id(view)
        named = view.graph().dataset_name(dataset)
        bound = (view.org, dataset)
        governance = read_facets(view.db, view.org, [dataset], GOVERNANCE).get(dataset) or {}
        owners = read_owners(view.db, view.org, [dataset]).get(dataset, [])
        ((full_name, description, format_, status, created, updated),) = view.db.fetch_all(_DATASET, *bound)
        return DatasetResult(
            id=format_id(dataset),
            namespace=named.namespace,
            name=named.name,
            full_name=full_name,
            description=governance.get("description") or description,
            format=format_,
            owners=governance.get("owners") or owners,
            status=status,
            created_at=created,
            updated_at=updated,
            aliases=[
                node_reference(alias, QualifiedName(*name)) for alias, *name in view.db.fetch_all(_ALIASES, *bound)
            ],
            renamed_from=_renamed(view, dataset, "target", "source"),
            renamed_to=_renamed(view, dataset, "source", "target"),
            fields=[
                Field(*row) for (columns,) in view.db.fetch_all(_SCHEMA, *bound) for row in decode_columns(columns)
            ],
            sla=read_slas(view.db, view.org, [dataset]).get(dataset),
            governance={key: value for key, value in governance.items() if key != FILE} or None,
            facets=latest_facets(view.db.fetch_all(_FACETS, *bound, NO_ID)),
            versions=newest_versions(view, dataset, _SHOWN_VERSIONS),
        )


def _renamed(view: QueryContext, dataset: bytes, mine: str, other: str) -> list[NodeReference]:
    others = [
        other_id for (other_id,) in view.db.fetch_all(_RENAMED.format(mine=mine, other=other), view.org, dataset)
    ]
    names = view.graph().dataset_names(others)
    return sorted((node_reference(one, names[one]) for one in others), key=lambda one: (one.namespace, one.name))
