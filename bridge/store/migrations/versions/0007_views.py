"""What a process wrote is one version, whatever actions of Spark it took: views are made anew, tables stay."""

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Change no table: every upgrade makes all views anew."""
