"""SQL dialects of the warehouse export; imports nothing heavy."""

from enum import StrEnum


class WarehouseDialect(StrEnum):
    """A SQL dialect with generated DDL."""

    sqlite = "sqlite"
    postgresql = "postgresql"
    db2 = "db2"
    teradata = "teradata"
