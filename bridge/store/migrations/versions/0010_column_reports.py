"""Assigns reports of column lineage to application runs. The next writer fills the tables."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _id(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=False)


def upgrade() -> None:
    op.drop_table("column_head")
    op.create_table(
        "column_report",
        sa.Column("org_id", TEXT, nullable=False),
        _id("target_id"),
        _id("application_id"),
        sa.Column("succeeded", sa.Boolean(), nullable=False),
        sa.Column("run_start", sa.BigInteger(), nullable=False),
        _id("unit_id"),
        _id("job_id"),
        _id("run_id"),
        _id("content"),
        sa.PrimaryKeyConstraint(
            "target_id", "application_id", "succeeded", "run_start", "unit_id", "job_id", "run_id", "org_id"
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_column_report__run_id", "column_report", ["run_id", "org_id"], unique=False)
    op.create_table(
        "column_head",
        sa.Column("org_id", TEXT, nullable=False),
        _id("target_id"),
        _id("application_id"),
        _id("job_id"),
        _id("set_id"),
        _id("unit_id"),
        sa.Column("succeeded", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("target_id", "application_id", "job_id", "set_id", "org_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_column_head__job_id", "column_head", ["job_id", "target_id", "org_id"], unique=False)
