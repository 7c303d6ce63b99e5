"""Folds files into the datasets that contain them. The next writer fills the table."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("ol_dataset", sa.Column("folded_into", sa.LargeBinary()))
    op.create_table(
        "file_folder",
        sa.Column("org_id", TEXT, nullable=False),
        sa.Column("folder_id", sa.LargeBinary(), nullable=False),
        sa.Column("file_id", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("folder_id", "file_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.drop_index("ix_lineage_edge__target_id", "lineage_edge")
    op.create_index("ix_lineage_edge__target_id__edge_role", "lineage_edge", ["target_id", "edge_role", "org_id"])
    condition = sa.text("retired_at IS NOT NULL OR NOT is_active")
    op.create_index(
        "ix_ol_dataset__possibly_inactive",
        "ol_dataset",
        ["class_id", "org_id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
