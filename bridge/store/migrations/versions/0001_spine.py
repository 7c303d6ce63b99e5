"""Adds the canonical tables and the event log."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create every table of the first version."""
    op.create_table(
        "column_head",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("target_id", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("run_start", sa.BigInteger(), nullable=False),
        sa.Column("shown", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "target_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_column_head__run_id", "column_head", ["run_id", "org_id"], unique=False)
    op.create_table(
        "column_lineage",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target_id", sa.LargeBinary(), nullable=False),
        sa.Column("source_id", sa.LargeBinary(), nullable=False),
        sa.Column("lineage_id", sa.LargeBinary(), nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("source_field", TEXT, nullable=False),
        sa.Column("target_field", TEXT, nullable=False),
        sa.Column("transformation_type", TEXT, nullable=False),
        sa.Column("transformation_subtype", TEXT, nullable=False),
        sa.Column("masking", sa.Boolean(), nullable=False),
        sa.Column("discovered_at", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("transformation_description", TEXT, nullable=False),
        sa.Column("confidence_score", sa.Float(), server_default=sa.text("1.0"), nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.PrimaryKeyConstraint("target_id", "source_id", "lineage_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dataset_registration",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("reg_id", sa.LargeBinary(), nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("submitted_by", TEXT, nullable=False),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.Column("review_order", sa.LargeBinary(), nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("reviewer", TEXT, nullable=True),
        sa.Column("review_comment", TEXT, nullable=True),
        sa.Column("request_order", sa.LargeBinary(), nullable=True),
        sa.Column("request_json", TEXT, nullable=True),
        sa.CheckConstraint("status IN ('PENDING', 'APPROVED', 'REJECTED')"),
        sa.PrimaryKeyConstraint("reg_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "dataset_schema",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("schema_hash", sa.LargeBinary(), nullable=False),
        sa.Column("column_count", sa.BigInteger(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("written_at", sa.BigInteger(), nullable=True),
        sa.Column("declared_at", sa.BigInteger(), nullable=True),
        sa.Column("read_at", sa.BigInteger(), nullable=True),
        sa.Column("columns_order", sa.LargeBinary(), nullable=True),
        sa.Column("columns_json", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("dataset_id", "schema_hash", "org_id"),
        sqlite_with_rowid=True,
    )
    op.create_table(
        "dataset_succession",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("source_id", sa.LargeBinary(), nullable=False),
        sa.Column("target_id", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("renamed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("source_id", "target_id", "run_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_dataset_succession__target_id", "dataset_succession", ["target_id", "org_id"], unique=False, sqlite_where=None, postgresql_where=None)
    op.create_table(
        "dataset_symlink",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("alias_id", sa.LargeBinary(), nullable=False),
        sa.Column("identifier_type", TEXT, nullable=False),
        sa.Column("asserted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("dataset_id", "alias_id", "identifier_type", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_dataset_symlink__alias_id", "dataset_symlink", ["alias_id", "org_id"], unique=False, sqlite_where=None, postgresql_where=None)
    op.create_table(
        "dataset_version",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("writer_id", sa.LargeBinary(), nullable=False),
        sa.Column("version_id", sa.LargeBinary(), nullable=False),
        sa.Column("produced_by_run_id", sa.LargeBinary(), nullable=True),
        sa.Column("path", TEXT, nullable=True),
        sa.Column("produced_at", sa.BigInteger(), nullable=False),
        sa.Column("tag_order", sa.LargeBinary(), nullable=False),
        sa.Column("version_tag", TEXT, nullable=False),
        sa.Column("statistics_order", sa.LargeBinary(), nullable=True),
        sa.Column("row_count", sa.BigInteger(), nullable=True),
        sa.Column("byte_count", sa.BigInteger(), nullable=True),
        sa.Column("file_count", sa.BigInteger(), nullable=True),
        sa.Column("schema_order", sa.LargeBinary(), nullable=True),
        sa.Column("schema_hash", sa.LargeBinary(), nullable=True),
        sa.Column("subset_order", sa.LargeBinary(), nullable=True),
        sa.Column("subset_json", TEXT, nullable=True),
        sa.Column("key_order", sa.LargeBinary(), nullable=True),
        sa.Column("idempotency_key", TEXT, nullable=True),
        sa.Column("path_order", sa.LargeBinary(), nullable=True),
        sa.Column("checksum", TEXT, nullable=True),
        sa.Column("metadata_json", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("dataset_id", "writer_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_dataset_version__idempotency_key",
        "dataset_version",
        ["idempotency_key", "org_id"],
        unique=False,
        sqlite_where=sa.text("idempotency_key IS NOT NULL"),
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_index("ix_dataset_version__version_tag", "dataset_version", ["version_tag", "org_id"], unique=False, sqlite_where=None, postgresql_where=None)
    op.create_table(
        "dirty_mark",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("marked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("target", "kind", "key", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "facet",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("owner_id", sa.LargeBinary(), nullable=False),
        sa.Column("about_id", sa.LargeBinary(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("facet_order", sa.LargeBinary(), nullable=False),
        sa.Column("body", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("owner_id", "about_id", "name", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ingest_position",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("path", "org_id"),
    )
    op.create_table(
        "intake_ledger",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("writer_id", sa.LargeBinary(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("rejected", sa.BigInteger(), nullable=False),
        sa.Column("retried", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("source", "writer_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "lineage_edge",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("source_id", sa.LargeBinary(), nullable=False),
        sa.Column("target_id", sa.LargeBinary(), nullable=False),
        sa.Column("edge_role", TEXT, nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("evidence", TEXT, nullable=False),
        sa.Column("source_type", TEXT, nullable=False),
        sa.Column("target_type", TEXT, nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.Column("meta_order", sa.LargeBinary(), nullable=True),
        sa.Column("transform_meta", TEXT, nullable=True),
        sa.Column("declared_io", sa.LargeBinary(), nullable=True),
        sa.Column("declared_lineage", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("source_id", "target_id", "edge_role", "job_id", "evidence", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_lineage_edge__target_id", "lineage_edge", ["target_id", "org_id"], unique=False, sqlite_where=None, postgresql_where=None)
    op.create_table(
        "lineage_set",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("set_id", sa.LargeBinary(), nullable=False),
        sa.Column("members", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("set_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ol_dataset",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("namespace_id", sa.LargeBinary(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("source_type", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("documentation_order", sa.LargeBinary(), nullable=True),
        sa.Column("description", TEXT, nullable=True),
        sa.Column("ownership_order", sa.LargeBinary(), nullable=True),
        sa.Column("owner_team", TEXT, nullable=True),
        sa.Column("owner_email", TEXT, nullable=True),
        sa.Column("storage_order", sa.LargeBinary(), nullable=True),
        sa.Column("default_format", TEXT, nullable=True),
        sa.Column("retired_at", sa.BigInteger(), nullable=True),
        sa.Column("symlinks_deleted_at", sa.BigInteger(), nullable=True),
        sa.Column("declared_lineage", sa.LargeBinary(), nullable=True),
        sa.Column("class_id", sa.LargeBinary(), nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.PrimaryKeyConstraint("dataset_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_ol_dataset__class_id", "ol_dataset", ["class_id", "org_id"], unique=False, sqlite_where=None, postgresql_where=None)
    op.create_table(
        "ol_job",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("namespace_id", sa.LargeBinary(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("type_order", sa.LargeBinary(), nullable=True),
        sa.Column("job_type", TEXT, nullable=True),
        sa.Column("processing_type", TEXT, nullable=True),
        sa.Column("integration", TEXT, nullable=True),
        sa.Column("emits_snapshots", sa.Boolean(), nullable=True),
        sa.Column("documentation_order", sa.LargeBinary(), nullable=True),
        sa.Column("description", TEXT, nullable=True),
        sa.Column("ownership_order", sa.LargeBinary(), nullable=True),
        sa.Column("owner_team", TEXT, nullable=True),
        sa.Column("owner_email", TEXT, nullable=True),
        sa.Column("declared_io", sa.LargeBinary(), nullable=True),
        sa.Column("declared_lineage", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ol_namespace",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("namespace_id", sa.LargeBinary(), nullable=False),
        sa.Column("namespace_uri", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("description", TEXT, nullable=True),
        sa.Column("spec_version", TEXT, server_default="2-0-2", nullable=False),
        sa.PrimaryKeyConstraint("namespace_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ol_run",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("run_uuid", TEXT, nullable=False),
        sa.Column("claim_order", sa.LargeBinary(), nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("least_claimant", sa.LargeBinary(), nullable=True),
        sa.Column("greatest_claimant", sa.LargeBinary(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("state_order", sa.LargeBinary(), nullable=True),
        sa.Column("event_type", TEXT, nullable=True),
        sa.Column("event_time", sa.BigInteger(), nullable=True),
        sa.Column("origin_order", sa.LargeBinary(), nullable=True),
        sa.Column("producer", TEXT, nullable=True),
        sa.Column("schema_url", TEXT, nullable=True),
        sa.Column("nominal_order", sa.LargeBinary(), nullable=True),
        sa.Column("nominal_start_time", sa.BigInteger(), nullable=True),
        sa.Column("nominal_end_time", sa.BigInteger(), nullable=True),
        sa.Column("parent_order", sa.LargeBinary(), nullable=True),
        sa.Column("parent_run_id", sa.LargeBinary(), nullable=True),
        sa.Column("parent_run_uuid", TEXT, nullable=True),
        sa.Column("parent_job_id", sa.LargeBinary(), nullable=True),
        sa.Column("root_run_id", sa.LargeBinary(), nullable=True),
        sa.Column("root_job_id", sa.LargeBinary(), nullable=True),
        sa.Column("explicit", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_ol_run__job_id__started_at", "ol_run", ["job_id", "started_at", "org_id"], unique=False, sqlite_where=None, postgresql_where=None)
    op.create_index(
        "ix_ol_run__parent_run_id",
        "ol_run",
        ["parent_run_id", "org_id"],
        unique=False,
        sqlite_where=sa.text("parent_run_id IS NOT NULL"),
        postgresql_where=sa.text("parent_run_id IS NOT NULL"),
    )
    op.create_table(
        "ol_run_input",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.Column("version_order", sa.LargeBinary(), nullable=True),
        sa.Column("version", TEXT, nullable=True),
        sa.Column("statistics_order", sa.LargeBinary(), nullable=True),
        sa.Column("row_count", sa.BigInteger(), nullable=True),
        sa.Column("byte_count", sa.BigInteger(), nullable=True),
        sa.Column("file_count", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "dataset_id", "job_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_ol_run_input__dataset_id", "ol_run_input", ["dataset_id", "org_id"], unique=False, sqlite_where=None, postgresql_where=None)
    op.create_table(
        "ol_run_output",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.Column("dropped_at", sa.BigInteger(), nullable=True),
        sa.Column("lifecycle_order", sa.LargeBinary(), nullable=True),
        sa.Column("lifecycle", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("run_id", "dataset_id", "job_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_ol_run_output__dataset_id", "ol_run_output", ["dataset_id", "org_id"], unique=False, sqlite_where=None, postgresql_where=None)
    op.create_table(
        "ol_schema_version",
        sa.Column("version_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("openlineage_spec_version", TEXT, nullable=False),
        sa.Column("schema_version", TEXT, nullable=False),
        sa.Column("applied_at", sa.BigInteger(), nullable=False),
        sa.Column("description", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("version_id"),
    )
    op.create_table(
        "quality_check_def",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("qdef_id", sa.LargeBinary(), nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=True),
        sa.Column("job_id", sa.LargeBinary(), nullable=True),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("field_name", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("definition_order", sa.LargeBinary(), nullable=True),
        sa.Column("sql_expression", TEXT, nullable=True),
        sa.Column("expected_result", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("qdef_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_quality_check_def__dataset_id",
        "quality_check_def",
        ["dataset_id", "org_id"],
        unique=False,
        sqlite_where=sa.text("dataset_id IS NOT NULL"),
        postgresql_where=sa.text("dataset_id IS NOT NULL"),
    )
    op.create_table(
        "quality_check_result",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("qres_id", sa.LargeBinary(), nullable=False),
        sa.Column("qdef_id", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("dataset_version_id", sa.LargeBinary(), nullable=True),
        sa.Column("result_order", sa.LargeBinary(), nullable=False),
        sa.Column("executed_at", sa.BigInteger(), nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("detail_json", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("qres_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_quality_check_result__qdef_id", "quality_check_result", ["qdef_id", "org_id"], unique=False, sqlite_where=None, postgresql_where=None)
    op.create_table(
        "rejected_event",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("payload_hash", sa.LargeBinary(), nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("receipts", sa.BigInteger(), nullable=False),
        sa.Column("payload_size", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("payload_hash", "org_id"),
    )
    op.create_index("ix_rejected_event__last_at", "rejected_event", ["last_at", "org_id"], unique=False)
    _create_run_event()
    op.create_index("ix_run_event__failure", "run_event", ["seq", "org_id"], unique=False, sqlite_where=sa.text("failure IS NOT NULL"), postgresql_where=sa.text("failure IS NOT NULL"))
    op.create_index("ux_run_event__event_time__event_hash", "run_event", ["event_time", "event_hash", "org_id"], unique=True)
    op.create_table(
        "run_explicit",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target_id", sa.LargeBinary(), nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("set_id", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("target_id", "job_id", "run_id", "set_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run_lineage",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target_id", sa.LargeBinary(), nullable=False),
        sa.Column("job_id", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("explicit", sa.Boolean(), nullable=False),
        sa.Column("columns_order", sa.LargeBinary(), nullable=True),
        sa.Column("columns_set", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("target_id", "job_id", "run_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sla",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("sla_id", sa.LargeBinary(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("description", TEXT, nullable=True),
        sa.Column("sla_window_sec", sa.BigInteger(), nullable=True),
        sa.Column("escalation_json", TEXT, nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sla_id", "org_id"),
    )
    op.create_table("store_meta", sa.Column("name", TEXT, nullable=False), sa.Column("value", TEXT, nullable=False), sa.PrimaryKeyConstraint("name"))


def _create_run_event() -> None:
    """Create the event log; on PostgreSQL with the default partition, to which daily partitions are added later."""
    columns: list[sa.Column[Any]] = [
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("event_hash", sa.LargeBinary(), nullable=False),
        sa.Column("event_type", TEXT, nullable=False),
        sa.Column("event_time", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=True),
        sa.Column("process_key", TEXT, nullable=True),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("receipts", sa.BigInteger(), nullable=False),
        sa.Column("notes_json", TEXT, nullable=True),
        sa.Column("failure", TEXT, nullable=True),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
    ]
    if op.get_bind().dialect.name != "postgresql":
        seq = sa.Column("seq", sa.Integer(), primary_key=True, autoincrement=True, nullable=False)
        op.create_table("run_event", seq, *columns, sqlite_autoincrement=True)
        return
    op.execute("CREATE SEQUENCE run_event_seq")
    seq = sa.Column("seq", sa.BigInteger(), server_default=sa.text("nextval('run_event_seq')"), nullable=False)
    op.create_table("run_event", seq, *columns, postgresql_partition_by="RANGE (event_time)")
    op.execute("CREATE TABLE run_event_default PARTITION OF run_event DEFAULT")
    op.create_index("ix_run_event__seq", "run_event", ["seq", "org_id"])
