"""SQLAlchemy dialects with upper-case names and complete column defaults."""

import logging
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import DDLCompiler, IdentifierPreparer

from bridge.warehouse.dialect import WarehouseDialect
from connectors.errors import MissingDependency

_IMPORTS = {
    WarehouseDialect.sqlite: ("sqlalchemy.dialects.sqlite", "dialect"),
    WarehouseDialect.postgresql: ("sqlalchemy.dialects.postgresql", "dialect"),
    WarehouseDialect.db2: ("ibm_db_sa.base", "DB2Dialect"),
    WarehouseDialect.teradata: ("teradatasqlalchemy.dialect", "TeradataDialect"),
}


class _UpperCasePreparer(IdentifierPreparer):
    """Writes names in upper case and without quotes, so that queries can use them without quotes."""

    def quote(self, ident: str, force: Any = None) -> str:
        """Quote reserved words only; dialects that fold names to upper case treat both forms alike."""
        del force
        return self.quote_identifier(ident.upper()) if ident.lower() in self.reserved_words else ident.upper()


class _DefaultsCompiler(DDLCompiler):
    """Adds column defaults, which the Teradata dialect omits."""

    def get_column_specification(self, column: sa.Column[Any], **kwargs: Any) -> str:
        """Add the default to the column definition."""
        definition: str = super().get_column_specification(column, **kwargs)  # type: ignore[no-untyped-call]
        default = self.get_column_default_string(column)
        return definition if default is None else f"{definition} DEFAULT {default}"


def sqlalchemy_dialect(dialect: WarehouseDialect) -> Dialect:
    """Load the SQLAlchemy dialect; raises MissingDependency if its package is not installed."""
    module, class_name = _IMPORTS[dialect]
    try:
        sa_dialect: Any = getattr(import_module(module), class_name)()
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingDependency(
            f"DDL for {dialect} needs {package}: pip install 'lineage-bridge[warehouse]'"
        ) from error
    # Without a handler, ibm_db_sa logs to stderr that it is not connected.
    logging.getLogger("ibm_db_sa").addHandler(logging.NullHandler())
    sa_dialect.identifier_preparer = type("UpperCase", (_UpperCasePreparer, sa_dialect.preparer), {})(sa_dialect)
    if dialect is WarehouseDialect.teradata:
        sa_dialect.ddl_compiler = type("WithDefaults", (_DefaultsCompiler, sa_dialect.ddl_compiler), {})
    result: Dialect = sa_dialect
    return result
