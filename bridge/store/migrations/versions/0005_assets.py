"""Adds assets."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table of assets, indexes of governance facets, and the watermark of change events."""
    op.add_column("sync_target", sa.Column("events_at", sa.BigInteger(), nullable=True))
    for name in ("contract", "governance"):
        these = sa.text(f"name = 'lineageBridge_{name}'")
        op.create_index(
            f"ix_facet__{name}",
            "facet",
            ["owner_id", "org_id"],
            unique=False,
            sqlite_where=these,
            postgresql_where=these,
        )
    op.create_table(
        "asset",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("asset_id", sa.LargeBinary(), nullable=False),
        sa.Column("namespace", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("content_json", TEXT, nullable=False),
        sa.Column("waiting", TEXT, nullable=True),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("asset_id", "org_id"),
    )
