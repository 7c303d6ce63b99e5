"""Recreates the views: one version per process run."""

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Change no table: every upgrade recreates all views."""
