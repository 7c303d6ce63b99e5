"""Query: one dataset."""

from typing import Any

import msgspec

from bridge.queries.facets import latest_facets
from bridge.queries.query import QueryContext
from bridge.queries.subject import DatasetSubjectQuery
from bridge.queries.versions import VersionResult, newest_versions
from bridge.store.governance_facets import GOVERNANCE, read_facets, read_owners, read_slas
from bridge.store.identity_groups import group_members
from bridge.store.lineage.graph import QualifiedName
from bridge.store.references import NodeReference, format_id, node_reference
from mappers.canonical.columns import decode_columns
from mappers.canonical.identity import NO_ID
from mappers.governance.facet import FILE

_DATASET = """
SELECT d.full_name, d.description, d.default_format, d.status, d.created_at, d.updated_at FROM dataset d
WHERE d.org_id = ?1 AND d.dataset_id = ?2
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
JOIN ol_dataset m ON m.org_id = s.org_id AND m.dataset_id = s.{side}_id
JOIN ol_dataset d ON d.org_id = s.org_id AND d.dataset_id = s.{other_side}_id
WHERE s.org_id = ?1 AND m.class_id = ?2
GROUP BY d.class_id
"""
_SHOWN_VERSIONS = 5


class Field(msgspec.Struct, frozen=True):
    """A column. The name of a nested column is its full path; `depth` is its nesting depth."""

    name: str
    type: str | None
    description: str | None
    depth: int


class DatasetResult(NodeReference, frozen=True):
    """A dataset with its newest versions."""

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
    #: Governance as stewards wrote it.
    governance: dict[str, Any] | None
    facets: dict[str, msgspec.Raw]
    versions: list[VersionResult]


class DatasetQuery(DatasetSubjectQuery[DatasetResult], frozen=True, kw_only=True):
    """A dataset with its newest versions."""

    result_type = DatasetResult

    def run(self, ctx: QueryContext) -> DatasetResult:
        dataset = self.group_id(ctx)
        name = ctx.graph().dataset_name(dataset)
        dataset_key = (ctx.org, dataset)
        schema_rows = ctx.db.fetch_all(_SCHEMA, *dataset_key)
        governance = read_facets(ctx.db, ctx.org, [dataset], GOVERNANCE).get(dataset) or {}
        owners = read_owners(ctx.db, ctx.org, [dataset]).get(dataset, [])
        ((full_name, description, format_, status, created_at, updated_at),) = ctx.db.fetch_all(
            _DATASET, *dataset_key
        )
        return DatasetResult(
            id=format_id(dataset),
            namespace=name.namespace,
            name=name.name,
            full_name=full_name,
            description=governance.get("description") or description,
            format=format_,
            owners=governance.get("owners") or owners,
            status=status,
            created_at=created_at,
            updated_at=updated_at,
            aliases=_aliases(ctx, dataset),
            renamed_from=_renamed_datasets(ctx, dataset, side="target", other_side="source"),
            renamed_to=_renamed_datasets(ctx, dataset, side="source", other_side="target"),
            fields=[Field(*column) for (columns_json,) in schema_rows for column in decode_columns(columns_json)],
            sla=read_slas(ctx.db, ctx.org, [dataset]).get(dataset),
            governance={key: value for key, value in governance.items() if key != FILE} or None,
            facets=latest_facets(ctx.db.fetch_all(_FACETS, *dataset_key, NO_ID)),
            versions=newest_versions(ctx, dataset, _SHOWN_VERSIONS),
        )


def _aliases(ctx: QueryContext, dataset: bytes) -> list[NodeReference]:
    members = sorted(group_members(ctx.db, ctx.org, [dataset]), key=lambda member: (member.namespace, member.name))
    return [
        node_reference(member.dataset_id, QualifiedName(member.namespace, member.name))
        for member in members
        if member.dataset_id != dataset
    ]


def _renamed_datasets(ctx: QueryContext, dataset: bytes, *, side: str, other_side: str) -> list[NodeReference]:
    """List the datasets on the other side of renames that have this dataset as source or target."""
    sql = _RENAMED.format(side=side, other_side=other_side)
    groups = [group for (group,) in ctx.db.fetch_all(sql, ctx.org, dataset)]
    names = ctx.graph().dataset_names(groups)
    references = [node_reference(group, names[group]) for group in groups]
    return sorted(references, key=lambda reference: (reference.namespace, reference.name))
