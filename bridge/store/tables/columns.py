"""Column and key helpers shared by the table definitions."""

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData()

#: Text compares by its bytes, in every store.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def id_column(name: str, **more: Any) -> sa.Column[Any]:
    """Make a column of ids, or of other hashes."""
    return sa.Column(name, sa.LargeBinary, **more)


def org_column() -> sa.Column[Any]:
    """Make the column of the organisation that a row belongs to."""
    return sa.Column("org_id", TEXT, nullable=False)


def org_key(*names: str) -> sa.PrimaryKeyConstraint:
    """Make the key of a table: within an organisation, which comes last because it tells so little.

    A planner without statistics believes that the first column of a key leads to few rows.
    """
    return sa.PrimaryKeyConstraint(*names, "org_id")
