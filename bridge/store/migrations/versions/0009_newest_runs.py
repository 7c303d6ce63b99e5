"""Adds an index of the newest runs of all jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    has_start = sa.text("started_at IS NOT NULL")
    op.create_index(
        "ix_ol_run__started_at__run_id",
        "ol_run",
        ["started_at", "run_id", "org_id"],
        unique=False,
        sqlite_where=has_start,
        postgresql_where=has_start,
    )
