"""The kinds of columns that warehouse tables are made of, and how the houses spell them that need telling."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from mappers.canonical.bounded import MOST_CHARACTERS

#: A name that is too long keeps its beginning and gets a hash of the whole; see `mappers/canonical/bounded.py`.
MOST_OF_A_NAME = MOST_CHARACTERS + 40
MOST_OF_AN_ORG = 64


class Id(sa.String):
    """An id as people read it: a UUID in 36 characters."""


class Hash(sa.String):
    """A hash of 16 bytes in hexadecimal digits."""


class Word(sa.String):
    """A word of this project's own, in ASCII."""


class Name(sa.String):
    """A text that somebody else chose, of bounded length: it may be a key, and lie in an index."""


class Long(sa.Text):
    """A text of any length, in no key and no index."""


class Moment(sa.TIMESTAMP):
    """A time in UTC, to the microsecond, without a time zone."""


class Flag(sa.Boolean):
    """Yes or no."""


@compiles(Name, "ibm_db_sa")
def _name_in_db2(kind: Name, *_: Any, **__: Any) -> str:
    return f"VARCHAR({kind.length} CODEUNITS32)"  # of its own accord DB2 counts bytes


@compiles(Name, "teradatasql")
def _name_in_teradata(kind: Name, *_: Any, **__: Any) -> str:
    """Spell a name: a character beyond U+FFFF counts as two there, and 'a' = 'A' unless told otherwise."""
    return f"VARCHAR({2 * (kind.length or 0)}) CHARACTER SET UNICODE CASESPECIFIC"


@compiles(Id, "teradatasql")
@compiles(Hash, "teradatasql")
@compiles(Word, "teradatasql")
def _ascii_in_teradata(kind: sa.String, *_: Any, **__: Any) -> str:
    return f"VARCHAR({kind.length}) CHARACTER SET LATIN CASESPECIFIC"


@compiles(Long, "ibm_db_sa")
def _long_in_db2(*_: Any, **__: Any) -> str:
    return "CLOB(64M)"  # of its own accord DB2 takes one megabyte


@compiles(Long, "teradatasql")
def _long_in_teradata(*_: Any, **__: Any) -> str:
    return "CLOB CHARACTER SET UNICODE"  # of its own accord Teradata takes Latin-1 only


@compiles(Moment)
def _moment(*_: Any, **__: Any) -> str:
    return "TIMESTAMP(6)"


@compiles(Flag, "ibm_db_sa")
@compiles(Flag, "teradatasql")
def _flag(*_: Any, **__: Any) -> str:
    return "SMALLINT"


_KINDS: dict[type[sa.types.TypeEngine[Any]], sa.types.TypeEngine[Any]] = {
    Id: Id(36),
    Hash: Hash(32),
    Word: Word(64),
    Name: Name(MOST_OF_A_NAME),
    Long: Long(),
    Moment: Moment(),
    Flag: Flag(),
    sa.BigInteger: sa.BigInteger(),
    sa.Float: sa.Float(),
}


def columns(kind: type[sa.types.TypeEngine[Any]], names: str, default: Any = None) -> list[sa.Column[Any]]:
    """Make columns of one kind; those whose name ends with `?` may be empty."""
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

    `by_day` names the column by whose days it is partitioned, which must be part of the key.
    """
    new = sa.Table(
        name,
        metadata,
        *(column for group in made for column in group),
        sa.Column("org_id", Name(MOST_OF_AN_ORG), nullable=False),
        sa.PrimaryKeyConstraint(*key.split(), "org_id"),
        *(sa.ForeignKeyConstraint([c.name, "org_id"], [c, c.table.c.org_id]) for c in refers),
        info={"by_day": by_day},
    )
    for column in indexes.split():
        sa.Index(f"ix_{name}__{column}", new.c[column])
    return new
