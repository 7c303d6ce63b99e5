"""The real dialects of the houses, taught to write upper-case names and to leave nothing out."""

import logging
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import DDLCompiler, IdentifierPreparer

from bridge.warehouse.house import House
from mappers.errors import MissingPart

_WHERE = {
    House.sqlite: ("sqlalchemy.dialects.sqlite", "dialect"),
    House.postgresql: ("sqlalchemy.dialects.postgresql", "dialect"),
    House.db2: ("ibm_db_sa.base", "DB2Dialect"),
    House.teradata: ("teradatasqlalchemy.dialect", "TeradataDialect"),
}


class _UpperCase(IdentifierPreparer):
    """Writes names in upper case and without quotes, so that nobody needs quotes to ask for them."""

    def quote(self, ident: str, force: Any = None) -> str:
        """Spell a name; a reserved word needs its quotes, and means the same with them where names are folded up."""
        del force
        return self.quote_identifier(ident.upper()) if ident.lower() in self.reserved_words else ident.upper()


class _WithDefaults(DDLCompiler):
    """Writes the defaults of columns, which Teradata's dialect drops without a word."""

    def get_column_specification(self, column: sa.Column[Any], **kwargs: Any) -> str:
        """Spell a column."""
        spelled: str = super().get_column_specification(column, **kwargs)  # type: ignore[no-untyped-call]
        default = self.get_column_default_string(column)
        return spelled if default is None else f"{spelled} DEFAULT {default}"


def dialect_of(house: House) -> Dialect:
    """Give a house's dialect; raises MissingPart when its package is not there."""
    module, name = _WHERE[house]
    try:
        dialect: Any = getattr(import_module(module), name)()
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPart(f"DDL for {house} needs {package}: pip install 'lineage-bridge[warehouse]'") from error
    # Says on stderr that it is not connected.
    logging.getLogger("ibm_db_sa").addHandler(logging.NullHandler())
    dialect.identifier_preparer = type("UpperCase", (_UpperCase, dialect.preparer), {})(dialect)
    if house is House.teradata:
        dialect.ddl_compiler = type("WithDefaults", (_WithDefaults, dialect.ddl_compiler), {})
    given: Dialect = dialect
    return given
