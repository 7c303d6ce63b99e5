"""Adds a table of identity groups that exceed the limit on names."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "oversized_group",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("found_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("dataset_id", "org_id"),
    )
