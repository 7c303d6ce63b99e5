"""Sorts the children of a run by their start, and checks the pushed profiles of actions again.

Before, each of two nested actions that report the same write had a profile.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_MARK_PROFILES_OF_ACTIONS = """
INSERT INTO dirty_mark (org_id, target, kind, key, marked_at)
SELECT i.org_id, i.target, i.kind, i.key, 0 FROM sync_item i
JOIN sync_target t ON t.org_id = i.org_id AND t.target = i.target AND t.enabled_at IS NOT NULL
JOIN ol_run r ON r.org_id = i.org_id AND r.run_id = substr(i.key, 17)
WHERE i.kind = 'profile' AND r.parent_run_id IS NOT NULL
ON CONFLICT (org_id, target, kind, key) DO NOTHING
"""


def upgrade() -> None:
    has_parent = sa.text("parent_run_id IS NOT NULL")
    op.drop_index("ix_ol_run__parent_run_id", "ol_run")
    op.create_index(
        "ix_ol_run__parent_run_id__started_at",
        "ol_run",
        ["parent_run_id", "started_at", "org_id"],
        unique=False,
        sqlite_where=has_parent,
        postgresql_where=has_parent,
    )
    op.execute(_MARK_PROFILES_OF_ACTIONS)
