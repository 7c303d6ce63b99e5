"""The databases that warehouses are kept in; nothing heavy is imported here, so that commands may name them."""

from enum import StrEnum


class House(StrEnum):
    """A kind of database that DDL can be written for."""

    sqlite = "sqlite"
    postgresql = "postgresql"
    db2 = "db2"
    teradata = "teradata"
