"""JDBC addresses: the server and the database that they mean, as OpenLineage names them."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from mappers.naming import canonical_namespace

_ADDRESS = re.compile(r"jdbc:(?:(?:jtds|microsoft):)?(?P<system>\w+)(?P<rest>[+:].*)", re.IGNORECASE | re.DOTALL)
#: `//host:port/database`, and what goes with it: behind `?` or `;`, of Db2 behind another colon.
_SERVER = re.compile(r"[\w+:]*?://(?P<hosts>[^/;?]*)(?:/(?P<database>[^:;?]*))?(?P<more>.*)", re.DOTALL)
_LOGIN = re.compile(r"[;?&:,/](?:user(?:name)?|login|pass(?:word|wd)?|pwd)=[^;&]*", re.IGNORECASE)
_PORT = re.compile(r":\d*$")
#: Behind the `@` of Oracle alone: a host has a port or a service, or stands behind `//`.
_ALIAS = re.compile(r"[\w.$#-]+")
_PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306, "db2": 50000, "oracle": 1521, "teradata": 1025}
#: Systems whose tables have no schema between the database and their own name.
_WITHOUT_SCHEMAS = frozenset({"mysql", "mariadb", "teradata", "hive2"})


class Database(NamedTuple):
    """A database: the namespace of its server, and what stands before the names of its tables."""

    namespace: str
    name: str
    #: Of how many parts the name of a table is whole.
    parts: int = 3
    #: Whether the namespace holds a name that only the client's own configuration can turn into a server.
    by_alias: bool = False

    def table(self, table: str) -> str:
        """Name a table of it; a name that is whole, or that nothing stands before, is left as it is."""
        return f"{self.name}.{table}" if self.name and table.count(".") + 1 < self.parts else table


class _Place(NamedTuple):
    hosts: str
    database: str = ""
    #: SQL Server has several on one host.
    instance: str = ""
    #: What stands where servers do, and is none.
    alias: str = ""


def read_jdbc(address: str) -> Database | None:
    """Read an address; None when it is none. Nobody's name and password are a part of what it means."""
    found = _ADDRESS.fullmatch(address.strip())
    if found is None:
        return None
    system, rest = found["system"].lower(), found["rest"]
    place = _READERS.get(system, _plain)(rest)
    if place is not None and place.alias:
        return Database(canonical_namespace(f"{system}://{place.alias}"), "", by_alias=True)
    if system == "oracle" and (place is None or not place.hosts):
        return None  # all that is there is who logs in
    if place is None or not place.hosts:
        # It is on no server: the driver alone knows where, and the whole address names it.
        return Database(canonical_namespace(f"{system}{_LOGIN.sub('', rest)}"), "")
    hosts = ",".join(_with_port(host, _PORTS.get(system)) for host in place.hosts.lower().split(","))
    instance = f"/{place.instance}" if place.instance else ""
    parts = 2 if system in _WITHOUT_SCHEMAS else 3
    return Database(canonical_namespace(f"{system}://{hosts}{instance}"), place.database, parts)


def _plain(rest: str) -> _Place | None:
    found = _SERVER.fullmatch(rest)
    return _Place(_host(found["hosts"]), found["database"] or "") if found else None


def _oracle(rest: str) -> _Place | None:
    """Read `:thin:@//host:port/service`, `:thin:@host:port:sid`, a description in parentheses, or an alias."""
    _, at, target = rest.rpartition("@")
    if not at:
        return None
    if "(" in target:
        told = {key.lower(): value for key, value in re.findall(r"\(\s*(\w+)\s*=\s*([^()\s]+)\s*\)", target)}
        host, port = told.get("host", ""), told.get("port", "")
        return _Place(f"{host}:{port}" if host and port else host, told.get("service_name") or told.get("sid", ""))
    if _ALIAS.fullmatch(alias := target.partition("?")[0]):
        return _Place("", alias=alias)
    target = re.sub(r"^(?:\w+:)?//", "", target).partition("?")[0]
    host, slash, service = target.partition("/")
    if slash:
        return _Place(host, service.partition(":")[0])
    before, colon, last = target.rpartition(":")
    return _Place(before, last) if colon and not last.isdigit() and not last.endswith("]") else _Place(target)


def _sql_server(rest: str) -> _Place | None:
    found = _SERVER.fullmatch(rest)
    if found is None:
        return None
    told = _properties(found["more"], ";")
    server, _, instance = _host(found["hosts"]).partition("\\")
    instance, colon, port = instance.partition(":")
    server = server or told.get("servername", "")
    port = port if colon else told.get("portnumber", "") if not _PORT.search(server) else ""
    database = found["database"] or told.get("databasename") or told.get("database", "")
    return _Place(f"{server}:{port}" if port else server, database, instance or told.get("instancename", ""))


def _teradata(rest: str) -> _Place | None:
    """Read `://host/DATABASE=x,DBS_PORT=y`: what stands behind the host are properties."""
    found = _SERVER.fullmatch(rest)
    if found is None:
        return None
    told = _properties(found["database"] or "", ",")
    port = told.get("dbs_port")
    return _Place(f"{found['hosts']}:{port}" if port else found["hosts"], told.get("database", ""))


_READERS: Mapping[str, Callable[[str], _Place | None]] = {
    "oracle": _oracle, "sqlserver": _sql_server, "teradata": _teradata,
}  # fmt: skip


def _properties(text: str, mark: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(mark))
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _host(text: str) -> str:
    """Give hosts without who logs in there."""
    return text.rpartition("@")[2]


def _with_port(host: str, port: int | None) -> str:
    return f"{host}:{port}" if port and not _PORT.search(host) else host
