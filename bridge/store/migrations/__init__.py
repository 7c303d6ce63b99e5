"""Alembic migrations of the store."""

#: The newest revision; a test compares it with the migration files.
HEAD = "0013"
