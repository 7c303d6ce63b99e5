"""The tables of the store, made from the declared vocabulary and completed with what it does not merge."""

from typing import Any

import sqlalchemy as sa

from bridge.store import registry_tables, search_tables, sync_tables  # noqa: F401 - who has the tables has all of them
from bridge.store.table_parts import TEXT, id_column, metadata, org_column, org_key
from mappers.canonical.facts import TABLES
from mappers.canonical.merge import Row, plain_type, plan_of

__all__ = ["FACT_TABLES", "metadata"]

_SQL_TYPES: dict[type, sa.types.TypeEngine[Any]] = {
    bytes: sa.LargeBinary(),
    str: TEXT,
    int: sa.BigInteger(),
    bool: sa.Boolean(),
}

#: Columns that are no statements: computed from them in the same transaction, or filled by later parts.
_COMPUTED: dict[str, list[sa.Column[Any]]] = {
    "ol_namespace": [
        sa.Column("description", TEXT),
        sa.Column("spec_version", TEXT, nullable=False, server_default="2-0-2"),
    ],
    "ol_dataset": [
        sa.Column("class_id", sa.LargeBinary, nullable=False),
        sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.true()),
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

#: What the values of a table must be like, whoever writes them.
_CHECKS: dict[str, str] = {
    "dataset_registration": "status IN ('PENDING', 'APPROVED', 'REJECTED')",
}

#: Rows too long to lie in an index: they are appended, and only their keys are sorted in.
_LONG_ROWS = frozenset({"dataset_schema"})

#: Names need no index: the id of a dataset or job is computed from its name.
_INDEXES: dict[str, list[tuple[str, ...]]] = {
    "ol_dataset": [("class_id",)],
    "dataset_symlink": [("alias_id",)],
    "dataset_succession": [("target_id",)],
    "ol_run": [("job_id", "started_at"), ("parent_run_id",)],
    "ol_run_input": [("dataset_id",)],
    "ol_run_output": [("dataset_id",)],
    "dataset_version": [("version_tag",), ("idempotency_key",)],
    "lineage_edge": [("target_id",)],
    "quality_check_def": [("dataset_id",), ("job_id",)],
    "quality_check_result": [("qdef_id",)],
    "dataset_registration": [("dataset_id",)],
}


def _column(name: str, hint: Any) -> sa.Column[Any]:
    plain = plain_type(hint)
    return sa.Column(name, _SQL_TYPES[plain], nullable=plain is not hint)


def _fact_table(name: str, row_class: type[Row]) -> sa.Table:
    plan = plan_of(row_class)
    columns = [_column(column, hint) for column, hint in zip(plan.names, plan.types, strict=True)]
    key = org_key(*plan.names[1 : plan.keys])
    checks = [sa.CheckConstraint(_CHECKS[name])] if name in _CHECKS else []
    with_rowid = name in _LONG_ROWS
    table = sa.Table(name, metadata, *columns, *_COMPUTED.get(name, ()), key, *checks, sqlite_with_rowid=with_rowid)
    for index in _INDEXES.get(name, ()):
        columns = [table.c[column] for column in index]
        given = columns[0].is_not(None) if columns[0].nullable else None
        label = f"ix_{name}__{'__'.join(index)}"
        sa.Index(label, *columns, table.c.org_id, sqlite_where=given, postgresql_where=given)
    return table


FACT_TABLES: dict[type[Row], sa.Table] = {
    row_class: _fact_table(name, row_class) for name, row_class in TABLES.items()
}


column_head = sa.Table(
    "column_head",
    metadata,
    org_column(),
    id_column("job_id", nullable=False),
    id_column("target_id", nullable=False),
    id_column("run_id", nullable=False),
    sa.Column("run_start", sa.BigInteger, nullable=False),
    id_column("shown", nullable=False),
    org_key("job_id", "target_id"),
    sqlite_with_rowid=False,
)
sa.Index("ix_column_head__run_id", column_head.c.run_id, column_head.c.org_id)

run_event = sa.Table(
    "run_event",
    metadata,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("org_id", TEXT, nullable=False),
    id_column("event_hash", nullable=False),
    sa.Column("event_type", TEXT, nullable=False),
    sa.Column("event_time", sa.BigInteger, nullable=False),
    id_column("run_id"),
    sa.Column("process_key", TEXT),
    sa.Column("received_at", sa.BigInteger, nullable=False),
    sa.Column("source", TEXT, nullable=False),
    sa.Column("historical", sa.Boolean, nullable=False),
    sa.Column("receipts", sa.BigInteger, nullable=False),
    sa.Column("notes_json", TEXT),
    sa.Column("failure", TEXT),
    id_column("payload", nullable=False),
    sqlite_autoincrement=True,
)
# The time follows from the event as its hash does; before the hash it keeps new rows together.
sa.Index(
    "ux_run_event__event_time__event_hash",
    run_event.c.event_time,
    run_event.c.event_hash,
    run_event.c.org_id,
    unique=True,
)
sa.Index(
    "ix_run_event__failure",
    run_event.c.seq,
    run_event.c.org_id,
    sqlite_where=run_event.c.failure.is_not(None),
    postgresql_where=run_event.c.failure.is_not(None),
)

rejected_event = sa.Table(
    "rejected_event",
    metadata,
    org_column(),
    id_column("payload_hash", nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("path", TEXT, nullable=False),
    sa.Column("source", TEXT, nullable=False),
    sa.Column("first_at", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False),
    sa.Column("receipts", sa.BigInteger, nullable=False),
    sa.Column("payload_size", sa.BigInteger, nullable=False),
    id_column("payload"),
    org_key("payload_hash"),
)
sa.Index("ix_rejected_event__last_at", rejected_event.c.last_at, rejected_event.c.org_id)

for _name in ("contract", "governance"):  # few facets are these, and all of them are sought
    _these = sa.text(f"name = 'lineageBridge_{_name}'")
    sa.Index(
        f"ix_facet__{_name}",
        metadata.tables["facet"].c.owner_id,
        metadata.tables["facet"].c.org_id,
        sqlite_where=_these,
        postgresql_where=_these,
    )

#: What stewards wrote down, as it was last taken from their files, and what it waits for.
asset = sa.Table(
    "asset",
    metadata,
    org_column(),
    id_column("asset_id", nullable=False),
    sa.Column("namespace", TEXT, nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("source", TEXT, nullable=False),
    sa.Column("content_json", TEXT, nullable=False),
    sa.Column("waiting", TEXT),
    sa.Column("taken_at", sa.BigInteger, nullable=False),
    org_key("asset_id"),
)

ingest_position = sa.Table(
    "ingest_position",
    metadata,
    org_column(),
    sa.Column("path", TEXT, nullable=False),
    id_column("fingerprint", nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    org_key("path"),
)

#: What came in, by source; every writer counts in rows of its own, so that none waits for another.
intake_ledger = sa.Table(
    "intake_ledger",
    metadata,
    org_column(),
    sa.Column("source", TEXT, nullable=False),
    id_column("writer_id", nullable=False),
    sa.Column("events", sa.BigInteger, nullable=False),
    sa.Column("rejected", sa.BigInteger, nullable=False),
    sa.Column("retried", sa.BigInteger, nullable=False),
    org_key("source", "writer_id"),
    sqlite_with_rowid=False,
)

store_meta = sa.Table(
    "store_meta",
    metadata,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("value", TEXT, nullable=False),
)

ol_schema_version = sa.Table(
    "ol_schema_version",
    metadata,
    sa.Column("version_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("openlineage_spec_version", TEXT, nullable=False),
    sa.Column("schema_version", TEXT, nullable=False),
    sa.Column("applied_at", sa.BigInteger, nullable=False),
    sa.Column("description", TEXT),
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
