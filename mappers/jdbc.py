"""Parses JDBC URLs into OpenLineage namespaces."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from mappers.naming import canonical_namespace

_JDBC_URL = re.compile(r"jdbc:(?:(?:jtds|microsoft):)?(?P<system>\w+)(?P<location>[+:].*)", re.IGNORECASE | re.DOTALL)
#: `//host:port/database`, and the properties after `?` or `;` (in Db2, after another colon).
_SERVER = re.compile(r"[\w+:]*?://(?P<hosts>[^/;?]*)(?:/(?P<database>[^:;?]*))?(?P<properties>.*)", re.DOTALL)
_CREDENTIALS = re.compile(r"[;?&:,/](?:user(?:name)?|login|pass(?:word|wd)?|pwd)=[^;&]*", re.IGNORECASE)
_PORT = re.compile(r":\d*$")
#: An Oracle TNS alias, which stands alone after the `@`; a host has a port or service, or follows `//`.
_TNS_ALIAS = re.compile(r"[\w.$#-]+")
_DEFAULT_PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306, "db2": 50000, "oracle": 1521, "teradata": 1025}
#: Systems without a schema level between database and table.
_WITHOUT_SCHEMAS = frozenset({"mysql", "mariadb", "teradata", "hive2"})


class JdbcDatabase(NamedTuple):
    """A database: the namespace of its server, and the prefix of its table names."""

    namespace: str
    name: str
    #: Number of parts in a complete table name.
    name_parts: int = 3
    #: The namespace contains an alias, which only the client's configuration maps to a server.
    is_alias: bool = False

    def qualify(self, table: str) -> str:
        """Prefix a table name with the database, unless the name is already complete or the database has no name."""
        return f"{self.name}.{table}" if self.name and table.count(".") + 1 < self.name_parts else table


class _JdbcServer(NamedTuple):
    hosts: str
    database: str = ""
    #: SQL Server can run several instances on one host.
    instance: str = ""
    #: Oracle TNS alias, given instead of hosts.
    alias: str = ""


def parse_jdbc_url(url: str) -> JdbcDatabase | None:
    """Parse a JDBC URL; returns None if the text is not a JDBC URL. The result contains no credentials."""
    match = _JDBC_URL.fullmatch(url.strip())
    if match is None:
        return None
    system, location = match["system"].lower(), match["location"]
    server = _PARSERS.get(system, _parse_server)(location)
    if server is not None and server.alias:
        return JdbcDatabase(canonical_namespace(f"{system}://{server.alias}"), "", is_alias=True)
    if server is None or not server.hosts:
        if system == "oracle":
            return None  # the URL contains nothing but credentials
        # Only the driver knows the location, so the namespace is the complete URL without credentials.
        return JdbcDatabase(canonical_namespace(f"{system}{_CREDENTIALS.sub('', location)}"), "")
    hosts = ",".join(_with_default_port(host, _DEFAULT_PORTS.get(system)) for host in server.hosts.lower().split(","))
    instance = f"/{server.instance}" if server.instance else ""
    name_parts = 2 if system in _WITHOUT_SCHEMAS else 3
    return JdbcDatabase(canonical_namespace(f"{system}://{hosts}{instance}"), server.database, name_parts)


def _parse_server(location: str) -> _JdbcServer | None:
    match = _SERVER.fullmatch(location)
    if match is None:
        return None
    return _JdbcServer(_without_login(match["hosts"]), match["database"] or "")


def _parse_oracle(location: str) -> _JdbcServer | None:
    """Parse `:thin:@//host:port/service`, `:thin:@host:port:sid`, a descriptor in parentheses, or an alias."""
    _, separator, target = location.rpartition("@")
    if not separator:
        return None
    if "(" in target:
        descriptor = {key.lower(): value for key, value in re.findall(r"\(\s*(\w+)\s*=\s*([^()\s]+)\s*\)", target)}
        host, port = descriptor.get("host", ""), descriptor.get("port", "")
        service = descriptor.get("service_name") or descriptor.get("sid", "")
        return _JdbcServer(f"{host}:{port}" if host and port else host, service)
    alias = target.partition("?")[0]
    if _TNS_ALIAS.fullmatch(alias):
        return _JdbcServer("", alias=alias)
    target = re.sub(r"^(?:\w+:)?//", "", target).partition("?")[0]
    host, slash, service = target.partition("/")
    if slash:
        return _JdbcServer(host, service.partition(":")[0])
    host_and_port, colon, sid = target.rpartition(":")
    if colon and not sid.isdigit() and not sid.endswith("]"):
        return _JdbcServer(host_and_port, sid)
    return _JdbcServer(target)


def _parse_sql_server(location: str) -> _JdbcServer | None:
    """Parse `://server:port;databaseName=x`; an instance follows the server after a backslash."""
    match = _SERVER.fullmatch(location)
    if match is None:
        return None
    properties = _parse_properties(match["properties"], ";")
    server, _, instance = _without_login(match["hosts"]).partition("\\")
    instance, colon, port = instance.partition(":")
    server = server or properties.get("servername", "")
    if not colon and not _PORT.search(server):
        port = properties.get("portnumber", "")
    database = match["database"] or properties.get("databasename") or properties.get("database", "")
    instance = instance or properties.get("instancename", "")
    return _JdbcServer(f"{server}:{port}" if port else server, database, instance)


def _parse_teradata(location: str) -> _JdbcServer | None:
    """Parse `://host/DATABASE=x,DBS_PORT=y`."""
    match = _SERVER.fullmatch(location)
    if match is None:
        return None
    properties = _parse_properties(match["database"] or "", ",")
    port = properties.get("dbs_port")
    return _JdbcServer(f"{match['hosts']}:{port}" if port else match["hosts"], properties.get("database", ""))


_PARSERS: Mapping[str, Callable[[str], _JdbcServer | None]] = {
    "oracle": _parse_oracle, "sqlserver": _parse_sql_server, "teradata": _parse_teradata,
}  # fmt: skip


def _parse_properties(text: str, separator: str) -> dict[str, str]:
    assignments = (assignment.partition("=") for assignment in text.split(separator))
    return {key.strip().lower(): value.strip() for key, equals, value in assignments if equals}


def _without_login(hosts: str) -> str:
    return hosts.rpartition("@")[2]


def _with_default_port(host: str, default_port: int | None) -> str:
    return f"{host}:{default_port}" if default_port and not _PORT.search(host) else host
