"""Tables generated from the row classes of `mappers.canonical`."""

from typing import Any

import sqlalchemy as sa

from bridge.store.tables.columns import TEXT, id_column, metadata, org_column, org_key
from mappers.canonical.merge import Row, merge_plan, value_type
from mappers.canonical.rows import TABLES, DatasetRow

_SQL_TYPES: dict[type, sa.types.TypeEngine[Any]] = {
    bytes: sa.LargeBinary(),
    str: TEXT,
    int: sa.BigInteger(),
    bool: sa.Boolean(),
}

#: Columns that are not merged: computed in the transaction that merges the rows, or written separately.
_COMPUTED: dict[str, list[sa.Column[Any]]] = {
    "ol_namespace": [
        sa.Column("description", TEXT),
        sa.Column("spec_version", TEXT, nullable=False, server_default="2-0-2"),
    ],
    "ol_dataset": [
        sa.Column("class_id", sa.LargeBinary, nullable=False),
        sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.true()),
        id_column("folded_into"),
    ],
    "dataset_version": [
        sa.Column("checksum", TEXT),
        sa.Column("metadata_json", TEXT),
    ],
    "column_lineage": [
        sa.Column("confidence_score", sa.Float, nullable=False, server_default=sa.text("1.0")),
        sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.true()),
    ],
}

#: CHECK constraints by table.
_CHECKS: dict[str, str] = {
    "dataset_registration": "status IN ('PENDING', 'APPROVED', 'REJECTED')",
}

#: Tables whose rows are too long for an index-organized table: rows are appended, and only keys are sorted.
_LONG_ROWS = frozenset({"dataset_schema"})

#: Names need no index: the id of a dataset or job is computed from its name.
_INDEXES: dict[str, list[tuple[str, ...]]] = {
    "ol_dataset": [("class_id",)],
    "dataset_symlink": [("alias_id",)],
    "dataset_succession": [("target_id",)],
    "ol_run": [("job_id", "started_at"), ("parent_run_id", "started_at"), ("started_at", "run_id")],
    "ol_run_input": [("dataset_id",)],
    "ol_run_output": [("dataset_id",)],
    "dataset_version": [("version_tag",), ("idempotency_key",)],
    "lineage_edge": [("target_id", "edge_role")],
    "quality_check_def": [("dataset_id",), ("job_id",)],
    "quality_check_result": [("qdef_id",)],
    "dataset_registration": [("dataset_id",)],
}


def _column(name: str, hint: Any) -> sa.Column[Any]:
    base_type = value_type(hint)
    return sa.Column(name, _SQL_TYPES[base_type], nullable=base_type is not hint)


def _canonical_table(name: str, row_class: type[Row]) -> sa.Table:
    """Declare the table of a row class with its computed columns, constraints and indexes."""
    plan = merge_plan(row_class)
    columns = [_column(column, hint) for column, hint in zip(plan.names, plan.types, strict=True)]
    key = org_key(*plan.names[1 : plan.key_count])
    checks = [sa.CheckConstraint(_CHECKS[name])] if name in _CHECKS else []
    with_rowid = name in _LONG_ROWS
    table = sa.Table(name, metadata, *columns, *_COMPUTED.get(name, ()), key, *checks, sqlite_with_rowid=with_rowid)
    for column_names in _INDEXES.get(name, ()):
        first, *others = (table.c[column_name] for column_name in column_names)
        condition = first.is_not(None) if first.nullable else None
        index_name = f"ix_{name}__{'__'.join(column_names)}"
        sa.Index(index_name, first, *others, table.c.org_id, sqlite_where=condition, postgresql_where=condition)
    return table


CANONICAL_TABLES: dict[type[Row], sa.Table] = {
    row_class: _canonical_table(name, row_class) for name, row_class in TABLES.items()
}


_datasets = CANONICAL_TABLES[DatasetRow]
_possibly_inactive = sa.text("retired_at IS NOT NULL OR NOT is_active")
sa.Index(
    "ix_ol_dataset__possibly_inactive",
    _datasets.c.class_id,
    _datasets.c.org_id,
    sqlite_where=_possibly_inactive,
    postgresql_where=_possibly_inactive,
)

#: Reports of column lineage, and the application runs that they count for. The key sorts them by their rank.
column_report = sa.Table(
    "column_report",
    metadata,
    org_column(),
    id_column("target_id", nullable=False),
    id_column("application_id", nullable=False),
    sa.Column("succeeded", sa.Boolean, nullable=False),
    sa.Column("run_start", sa.BigInteger, nullable=False),
    id_column("unit_id", nullable=False),
    id_column("job_id", nullable=False),
    id_column("run_id", nullable=False),
    id_column("content", nullable=False),
    org_key("target_id", "application_id", "succeeded", "run_start", "unit_id", "job_id", "run_id"),
    sqlite_with_rowid=False,
)
sa.Index("ix_column_report__run_id", column_report.c.run_id, column_report.c.org_id)

#: Sets of column lineage that are active, by target and application.
column_head = sa.Table(
    "column_head",
    metadata,
    org_column(),
    id_column("target_id", nullable=False),
    id_column("application_id", nullable=False),
    id_column("job_id", nullable=False),
    id_column("set_id", nullable=False),
    id_column("unit_id", nullable=False),
    sa.Column("succeeded", sa.Boolean, nullable=False),
    org_key("target_id", "application_id", "job_id", "set_id"),
    sqlite_with_rowid=False,
)
sa.Index("ix_column_head__job_id", column_head.c.job_id, column_head.c.target_id, column_head.c.org_id)

#: Files, and the folders above each of them; a file is a folder of its own, too.
file_folder = sa.Table(
    "file_folder",
    metadata,
    org_column(),
    id_column("folder_id", nullable=False),
    id_column("file_id", nullable=False),
    org_key("folder_id", "file_id"),
    sqlite_with_rowid=False,
)

#: Components of more names than `identity.max_names`, each under one of its datasets; they are not linked.
oversized_group = sa.Table(
    "oversized_group",
    metadata,
    org_column(),
    id_column("dataset_id", nullable=False),
    sa.Column("found_at", sa.BigInteger, nullable=False),
    org_key("dataset_id"),
)


for _name in ("contract", "governance"):  # few facets have these names, and queries read all of them
    _has_name = sa.text(f"name = 'lineageBridge_{_name}'")
    sa.Index(
        f"ix_facet__{_name}",
        metadata.tables["facet"].c.owner_id,
        metadata.tables["facet"].c.org_id,
        sqlite_where=_has_name,
        postgresql_where=_has_name,
    )


sla = sa.Table(
    "sla",
    metadata,
    org_column(),
    id_column("sla_id", nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("description", TEXT),
    sa.Column("sla_window_sec", sa.BigInteger),
    sa.Column("escalation_json", TEXT),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    org_key("sla_id"),
)
