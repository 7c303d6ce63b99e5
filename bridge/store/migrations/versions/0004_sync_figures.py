"""Adds comparison results and call counts."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables of comparison results and call counts."""
    op.create_table(
        "sync_comparison",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("wanted", sa.BigInteger(), nullable=False),
        sa.Column("lacking", sa.BigInteger(), nullable=False),
        sa.Column("looked_at", sa.BigInteger(), nullable=False),
        sa.Column("differing", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("target", "kind", "org_id"),
    )
    op.create_table(
        "sync_call",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("target", "hour", "kind", "org_id"),
    )
