"""Recreates the views: a run that was only mentioned has the status and the start of its actions."""

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Change no table: every upgrade recreates all views."""
