"""SQL dialects of the warehouse export; imports nothing heavy."""

from enum import StrEnum


class WarehouseDialect(StrEnum):
    """A kind of database that DDL can be written for."""

    sqlite = "sqlite"
    postgresql = "postgresql"
    db2 = "db2"
    teradata = "teradata"
