"""Column types of warehouse tables and their spelling per dialect."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from mappers.canonical.identity import MAX_KEY_CHARACTERS

#: Longer names are cut and end with a hash of the full name; see `mappers/canonical/identity.py`.
MAX_NAME_LENGTH = MAX_KEY_CHARACTERS + 40
MAX_ORG_LENGTH = 64


class UuidText(sa.String):
    """A UUID in its 36-character form."""


class HexHash(sa.String):
    """A 16-byte hash in hexadecimal."""


class Keyword(sa.String):
    """An ASCII constant of this project, such as a status."""


class BoundedText(sa.String):
    """Text from events; its length is bounded, so that it can be part of a key or index."""


class LongText(sa.Text):
    """Text of any length; cannot be part of a key or index."""


class UtcTimestamp(sa.TIMESTAMP):
    """A UTC time with microseconds and without a time zone."""


class Flag(sa.Boolean):
    """A boolean; SMALLINT in dialects without a boolean type."""


@compiles(BoundedText, "ibm_db_sa")
def _bounded_text_in_db2(column_type: BoundedText, *_: Any, **__: Any) -> str:
    return f"VARCHAR({column_type.length} CODEUNITS32)"  # DB2 counts bytes by default


@compiles(BoundedText, "teradatasql")
def _bounded_text_in_teradata(column_type: BoundedText, *_: Any, **__: Any) -> str:
    """Allow for characters beyond U+FFFF, which Teradata counts twice; compare text case-sensitively."""
    return f"VARCHAR({2 * (column_type.length or 0)}) CHARACTER SET UNICODE CASESPECIFIC"


@compiles(UuidText, "teradatasql")
@compiles(HexHash, "teradatasql")
@compiles(Keyword, "teradatasql")
def _ascii_in_teradata(column_type: sa.String, *_: Any, **__: Any) -> str:
    return f"VARCHAR({column_type.length}) CHARACTER SET LATIN CASESPECIFIC"


@compiles(LongText, "ibm_db_sa")
def _long_text_in_db2(*_: Any, **__: Any) -> str:
    return "CLOB(64M)"  # the default is one megabyte


@compiles(LongText, "teradatasql")
def _long_text_in_teradata(*_: Any, **__: Any) -> str:
    return "CLOB CHARACTER SET UNICODE"  # the default is Latin-1


@compiles(UtcTimestamp)
def _timestamp_type(*_: Any, **__: Any) -> str:
    return "TIMESTAMP(6)"


@compiles(Flag, "ibm_db_sa")
@compiles(Flag, "teradatasql")
def _smallint_flag(*_: Any, **__: Any) -> str:
    return "SMALLINT"


_TYPES: dict[type[sa.types.TypeEngine[Any]], sa.types.TypeEngine[Any]] = {
    UuidText: UuidText(36),
    HexHash: HexHash(32),
    Keyword: Keyword(64),
    BoundedText: BoundedText(MAX_NAME_LENGTH),
    LongText: LongText(),
    UtcTimestamp: UtcTimestamp(),
    Flag: Flag(),
    sa.BigInteger: sa.BigInteger(),
    sa.Float: sa.Float(),
}


def columns(column_type: type[sa.types.TypeEngine[Any]], names: str, default: Any = None) -> list[sa.Column[Any]]:
    """Create columns of one type; a name that ends with `?` makes the column nullable."""
    return [
        sa.Column(name.rstrip("?"), _TYPES[column_type], nullable=name.endswith("?"), server_default=default)
        for name in names.split()
    ]


metadata = sa.MetaData(
    naming_convention={"pk": "pk_%(table_name)s", "fk": "fk_%(table_name)s__%(referred_table_name)s"}
)


def table(
    name: str,
    *column_groups: list[sa.Column[Any]],
    key: str,
    references: tuple[sa.Column[Any], ...] = (),
    indexes: str = "",
    by_day: str = "",
) -> sa.Table:
    """Create a table; `org_id` is added to its key and to all its foreign keys (`references`).

    `by_day` names the column for daily partitions; it must be part of the key.
    """
    new_table = sa.Table(
        name,
        metadata,
        *(column for group in column_groups for column in group),
        sa.Column("org_id", BoundedText(MAX_ORG_LENGTH), nullable=False),
        sa.PrimaryKeyConstraint(*key.split(), "org_id"),
        *(sa.ForeignKeyConstraint([column.name, "org_id"], [column, column.table.c.org_id]) for column in references),
        info={"by_day": by_day},
    )
    for column in indexes.split():
        sa.Index(f"ix_{name}__{column}", new_table.c[column])
    return new_table
