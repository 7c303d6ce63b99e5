"""The database of a job of SQL: what its `connect_string` means, and what of that is not sure."""

import re
from typing import NamedTuple

from mappers.jdbc import Database, read_jdbc

#: What is no JDBC address, and still names something: a bare name, or what stands behind who logs in.
_NAMED = re.compile(r"[\w.$#-]+|[^@]*@/*([\w.$#-]+(?::\d+)?(?:/[\w.$#-]+)?)")


class Connected(NamedTuple):
    """A database, None where nobody can tell which, and a remark on what is not sure of it."""

    database: Database | None
    remark: str | None = None


def connected(text: str | None) -> Connected:
    """Read a `connect_string`; tables of one that cannot be read are never those of another."""
    address = (text or "").strip()
    if not address:
        return Connected(None, "sql_command without connect_string: no dataset is named")
    database = read_jdbc(address)
    if database is not None:
        said = f"connect_string holds an alias, no server: its tables are named by {database.namespace}"
        return Connected(database, said if database.by_alias else None)
    named = None if address.lower().startswith("jdbc:") else _NAMED.fullmatch(address)
    if named is None:
        return Connected(None, "connect_string cannot be read: no dataset is named")
    namespace = f"sql://{named[1] or address}"
    said = f"connect_string is no JDBC address: its tables are named by {namespace}"
    return Connected(Database(namespace, ""), said)
