"""Health checks of an installation, one subject per module. Checks are read-only."""
