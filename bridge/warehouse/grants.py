"""Who may do what with the tables."""

from collections.abc import Iterator, Sequence

from bridge.warehouse.house import House

_EVERYTHING = "SELECT, INSERT, UPDATE, DELETE"
#: What people fill in; all else is written by the load alone.
_BY_HAND = ("SLA", "QUALITY_CHECK_DEF")
#: Raw events may hold what a query or a path gives away.
_RAW = "RUN_EVENT"

ROLES = ("PLATFORM_ADMIN", "DATA_STEWARD", "DATA_OWNER", "DATA_CONSUMER")


def privileges(role: str, table: str) -> str:
    """Say what a role may do with a table or view; nothing is empty."""
    if role == "PLATFORM_ADMIN":
        return _EVERYTHING if not table.startswith("V_") else "SELECT"
    if role == "DATA_STEWARD":
        may = dict.fromkeys(_BY_HAND, _EVERYTHING) | {"DATASET_REGISTRATION": "SELECT, UPDATE"}
    elif role == "DATA_OWNER":
        may = dict.fromkeys(_BY_HAND, "SELECT, INSERT, UPDATE")
        may |= {"DATASET_REGISTRATION": "SELECT, INSERT", _RAW: ""}
    else:
        may = {_RAW: ""}
    return may.get(table, "SELECT")


def grants(house: House, tables: Sequence[str]) -> Iterator[str]:
    """Write the roles, where everybody who makes tables may make them, and their grants."""
    if house is House.sqlite:
        return
    if house is House.postgresql:
        for role in ROLES:
            missing = f"NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role.lower()}')"
            yield f"DO $$ BEGIN IF {missing} THEN CREATE ROLE {role} NOLOGIN; END IF; END $$"
    what = "" if house is House.teradata else "TABLE "
    whom = "ROLE " if house is House.db2 else ""
    for role in ROLES:
        for table in tables:
            if may := privileges(role, table):
                yield f"GRANT {may} ON {what}{table} TO {whom}{role}"
