"""Column and key helpers shared by the table definitions."""

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData()

#: Text is compared by its bytes in both databases.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def id_column(name: str, **options: Any) -> sa.Column[Any]:
    """Build a column for ids or other hashes."""
    return sa.Column(name, sa.LargeBinary, **options)


def org_column() -> sa.Column[Any]:
    return sa.Column("org_id", TEXT, nullable=False)


def org_key(*names: str) -> sa.PrimaryKeyConstraint:
    """Build a primary key. `org_id` comes last because it is hardly selective.

    A planner without statistics assumes that the first column of a key is selective.
    """
    return sa.PrimaryKeyConstraint(*names, "org_id")
