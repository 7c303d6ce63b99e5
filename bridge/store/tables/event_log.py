"""Event log, rejected inputs, intake ledger, file positions and assets."""

import sqlalchemy as sa

from bridge.store.tables.columns import TEXT, id_column, metadata, org_column, org_key

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
# The hash alone identifies an event. The time comes first so that new rows are stored together.
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


#: Assets as they were last loaded from their files, and why they are pending.
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

#: Received inputs by source; each writer has separate rows, so that writers do not block each other.
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
