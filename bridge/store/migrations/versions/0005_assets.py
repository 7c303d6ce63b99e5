"""What stewards wrote down in asset files."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table of assets."""
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
