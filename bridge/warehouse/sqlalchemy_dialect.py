"""SQLAlchemy dialects with upper-case names and complete column defaults."""

import logging
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import DDLCompiler, IdentifierPreparer

from bridge.warehouse.dialect import WarehouseDialect
from connectors.errors import MissingDependency

_WHERE = {
    WarehouseDialect.sqlite: ("sqlalchemy.dialects.sqlite", "dialect"),
    WarehouseDialect.postgresql: ("sqlalchemy.dialects.postgresql", "dialect"),
    WarehouseDialect.db2: ("ibm_db_sa.base", "DB2Dialect"),
    WarehouseDialect.teradata: ("teradatasqlalchemy.dialect", "TeradataDialect"),
}


class _UpperCasePreparer(IdentifierPreparer):
    """Writes names in upper case and without quotes, so that queries need no quotes."""

    def quote(self, ident: str, force: Any = None) -> str:
        """Spell a name; a reserved word needs its quotes, and means the same with them where names are folded up."""
        del force
        return self.quote_identifier(ident.upper()) if ident.lower() in self.reserved_words else ident.upper()


class _DefaultsCompiler(DDLCompiler):
    """Writes the defaults of columns, which Teradata's dialect drops without a word."""

    def get_column_specification(self, column: sa.Column[Any], **kwargs: Any) -> str:
        """Spell a column."""
        spelled: str = super().get_column_specification(column, **kwargs)  # type: ignore[no-untyped-call]
        default = self.get_column_default_string(column)
        return spelled if default is None else f"{spelled} DEFAULT {default}"


def sqlalchemy_dialect(house: WarehouseDialect) -> Dialect:
    """Give a house's dialect; raises MissingPart when its package is not there."""
    module, name = _WHERE[house]
    try:
        dialect: Any = getattr(import_module(module), name)()
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingDependency(
            f"DDL for {house} needs {package}: pip install 'lineage-bridge[warehouse]'"
        ) from error
    # Says on stderr that it is not connected.
    logging.getLogger("ibm_db_sa").addHandler(logging.NullHandler())
    dialect.identifier_preparer = type("UpperCase", (_UpperCasePreparer, dialect.preparer), {})(dialect)
    if house is WarehouseDialect.teradata:
        dialect.ddl_compiler = type("WithDefaults", (_DefaultsCompiler, dialect.ddl_compiler), {})
    given: Dialect = dialect
    return given
