"""Column types of warehouse tables and their spelling per dialect."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from mappers.canonical.identity import MAX_KEY_CHARACTERS

#: A name that is too long keeps its beginning and gets a hash of the whole; see `mappers/canonical/identity.py`.
MAX_NAME_LENGTH = MAX_KEY_CHARACTERS + 40
MAX_ORG_LENGTH = 64


class UuidText(sa.String):
    """An id as people read it: a UUID in 36 characters."""


class HexHash(sa.String):
    """A hash of 16 bytes in hexadecimal digits."""


class Keyword(sa.String):
    """A word of this project's own, in ASCII."""


class BoundedText(sa.String):
    """Text from outside with bounded length, so that it can be part of a key or index."""


class LongText(sa.Text):
    """A text of any length, in no key and no index."""


class UtcTimestamp(sa.TIMESTAMP):
    """A time in UTC, to the microsecond, without a time zone."""


class Flag(sa.Boolean):
    """Yes or no."""


@compiles(BoundedText, "ibm_db_sa")
def _name_in_db2(kind: BoundedText, *_: Any, **__: Any) -> str:
    return f"VARCHAR({kind.length} CODEUNITS32)"  # of its own accord DB2 counts bytes


@compiles(BoundedText, "teradatasql")
def _name_in_teradata(kind: BoundedText, *_: Any, **__: Any) -> str:
    """Spell a name: a character beyond U+FFFF counts as two there, and 'a' = 'A' unless told otherwise."""
    return f"VARCHAR({2 * (kind.length or 0)}) CHARACTER SET UNICODE CASESPECIFIC"


@compiles(UuidText, "teradatasql")
@compiles(HexHash, "teradatasql")
@compiles(Keyword, "teradatasql")
def _ascii_in_teradata(kind: sa.String, *_: Any, **__: Any) -> str:
    return f"VARCHAR({kind.length}) CHARACTER SET LATIN CASESPECIFIC"


@compiles(LongText, "ibm_db_sa")
def _long_in_db2(*_: Any, **__: Any) -> str:
    return "CLOB(64M)"  # of its own accord DB2 takes one megabyte


@compiles(LongText, "teradatasql")
def _long_in_teradata(*_: Any, **__: Any) -> str:
    return "CLOB CHARACTER SET UNICODE"  # of its own accord Teradata takes Latin-1 only


@compiles(UtcTimestamp)
def _moment(*_: Any, **__: Any) -> str:
    return "TIMESTAMP(6)"


@compiles(Flag, "ibm_db_sa")
@compiles(Flag, "teradatasql")
def _flag(*_: Any, **__: Any) -> str:
    return "SMALLINT"


_KINDS: dict[type[sa.types.TypeEngine[Any]], sa.types.TypeEngine[Any]] = {
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


def columns(kind: type[sa.types.TypeEngine[Any]], names: str, default: Any = None) -> list[sa.Column[Any]]:
    """Create columns of one type; a name that ends with `?` is nullable."""
    return [
        sa.Column(name.rstrip("?"), _KINDS[kind], nullable=name.endswith("?"), server_default=default)
        for name in names.split()
    ]


metadata = sa.MetaData(
    naming_convention={"pk": "pk_%(table_name)s", "fk": "fk_%(table_name)s__%(referred_table_name)s"}
)


def table(
    name: str,
    *made: list[sa.Column[Any]],
    key: str,
    refers: tuple[sa.Column[Any], ...] = (),
    indexes: str = "",
    by_day: str = "",
) -> sa.Table:
    """Make a table within organisations: its columns, its key, and the keys of other tables that it refers to.

    `by_day` names the column for daily partitions; it must be part of the key.
    """
    new = sa.Table(
        name,
        metadata,
        *(column for group in made for column in group),
        sa.Column("org_id", BoundedText(MAX_ORG_LENGTH), nullable=False),
        sa.PrimaryKeyConstraint(*key.split(), "org_id"),
        *(sa.ForeignKeyConstraint([c.name, "org_id"], [c, c.table.c.org_id]) for c in refers),
        info={"by_day": by_day},
    )
    for column in indexes.split():
        sa.Index(f"ix_{name}__{column}", new.c[column])
    return new
