"""Adds the reconciler's tables."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables of the reconciler."""
    op.create_table(
        "sync_target",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("enabled_at", sa.BigInteger(), nullable=True),
        sa.Column("trouble", TEXT, nullable=True),
        sa.Column("trouble_at", sa.BigInteger(), nullable=True),
        sa.Column("compared_at", sa.BigInteger(), nullable=True),
        sa.Column("url", TEXT, nullable=True),
        sa.Column("rules", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("target", "org_id"),
    )
    op.create_table(
        "sync_worker",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("worker_id", sa.LargeBinary(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("target", "worker_id", "org_id"),
    )
    op.create_table(
        "sync_item",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("marked", sa.BigInteger(), nullable=False),
        sa.Column("settled", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("doubted", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("refusals", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("outcome", TEXT, nullable=True),
        sa.Column("reason", TEXT, nullable=True),
        sa.Column("settled_at", sa.BigInteger(), nullable=True),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=True),
        sa.Column("fold", sa.LargeBinary(), nullable=True),
        sa.Column("remote_type", TEXT, nullable=True),
        sa.Column("remote_id", TEXT, nullable=True),
        sa.Column("remote_name", TEXT, nullable=True),
        sa.Column("ours", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("detail_json", TEXT, nullable=True),
        sa.Column("claim", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("target", "kind", "key", "org_id"),
    )
    pending, linked = sa.text("settled < marked"), sa.text("remote_id IS NOT NULL")
    op.create_index(
        "ix_sync_item__due_at",
        "sync_item",
        ["target", "kind", "due_at", "org_id"],
        unique=False,
        sqlite_where=pending,
        postgresql_where=pending,
    )
    op.create_index(
        "ix_sync_item__remote_id",
        "sync_item",
        ["remote_id", "org_id"],
        unique=False,
        sqlite_where=linked,
        postgresql_where=linked,
    )
    troubled = sa.text("outcome IN ('dead', 'unresolved')")
    op.create_index(
        "ix_sync_item__troubled",
        "sync_item",
        ["target", "kind", "key", "org_id"],
        unique=False,
        sqlite_where=troubled,
        postgresql_where=troubled,
    )
    op.create_table(
        "sync_edge",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("into_key", sa.LargeBinary(), nullable=False),
        sa.Column("from_key", sa.LargeBinary(), nullable=False),
        sa.Column("into_type", TEXT, nullable=False),
        sa.Column("into_id", TEXT, nullable=False),
        sa.Column("from_type", TEXT, nullable=False),
        sa.Column("from_id", TEXT, nullable=False),
        sa.Column("job_key", sa.LargeBinary(), nullable=True),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("ours", sa.Boolean(), nullable=False),
        sa.Column("said_json", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("target", "into_key", "from_key", "org_id"),
    )
    of_job = sa.text("job_id IS NOT NULL")
    op.create_index(
        "ix_quality_check_def__job_id",
        "quality_check_def",
        ["job_id", "org_id"],
        unique=False,
        sqlite_where=of_job,
        postgresql_where=of_job,
    )
    op.create_index("ix_sync_edge__from_key", "sync_edge", ["from_key", "org_id"], unique=False)
    op.create_index("ix_sync_edge__job_key", "sync_edge", ["job_key", "org_id"], unique=False)
