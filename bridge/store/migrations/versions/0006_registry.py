"""Adds publications, pins, invalidations and definitions."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables of dataset versions."""
    op.create_table(
        "publication",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("began", sa.BigInteger(), nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("version_id", sa.LargeBinary(), nullable=False),
        sa.Column("version_tag", TEXT, nullable=False),
        sa.Column("follows", sa.BigInteger(), nullable=True),
        sa.Column("how", TEXT, nullable=False),
        sa.Column("moved_by", TEXT, nullable=False),
        sa.Column("moved_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("number", "org_id"),
    )
    op.create_index("ix_publication__dataset_id", "publication", ["dataset_id", "number", "org_id"], unique=False)
    op.create_index("ix_publication__began", "publication", ["began", "org_id"], unique=False)
    following = sa.text("follows IS NOT NULL")
    op.create_index(
        "ux_publication__follows",
        "publication",
        ["follows", "org_id"],
        unique=True,
        sqlite_where=following,
        postgresql_where=following,
    )
    op.create_table(
        "pin",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("version_id", sa.LargeBinary(), nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("version_tag", TEXT, nullable=False),
        sa.Column("pinned_by", TEXT, nullable=False),
        sa.Column("pinned_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("name", "version_id", "org_id"),
    )
    op.create_index("ix_pin__dataset_id", "pin", ["dataset_id", "org_id"], unique=False)
    op.create_table(
        "version_invalid",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("version_id", sa.LargeBinary(), nullable=False),
        sa.Column("partition_key", TEXT, nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("marked_by", TEXT, nullable=False),
        sa.Column("marked_at", sa.BigInteger(), nullable=False),
        sa.Column("lifted_by", TEXT, nullable=True),
        sa.Column("lifted_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("version_id", "partition_key", "org_id"),
    )
    op.create_index("ix_version_invalid__dataset_id", "version_invalid", ["dataset_id", "org_id"], unique=False)
    op.create_table(
        "dataset_metadata",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("metadata_json", TEXT, nullable=False),
        sa.Column("set_by", TEXT, nullable=False),
        sa.Column("set_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("dataset_id", "org_id"),
    )
    op.create_table(
        "process_definition",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("process_id", sa.LargeBinary(), nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("namespace", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("version", TEXT, nullable=False),
        sa.Column("definition_json", TEXT, nullable=False),
        sa.Column("registered_by", TEXT, nullable=False),
        sa.Column("registered_at", sa.BigInteger(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("process_id", "content_hash", "org_id"),
    )
    op.create_index(
        "ux_process_definition__version", "process_definition", ["process_id", "version", "org_id"], unique=True
    )
    active = sa.text("is_active")
    op.create_index(
        "ux_process_definition__active",
        "process_definition",
        ["process_id", "org_id"],
        unique=True,
        sqlite_where=active,
        postgresql_where=active,
    )
