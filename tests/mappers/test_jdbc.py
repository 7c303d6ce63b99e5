"""JDBC URLs of all supported systems, and the names that follow from them."""

import pytest

from mappers.jdbc import parse_jdbc_url

NAMES = {
    "postgresql://h:5433/shop": ("postgres://h:5433", "shop.S.T"),
    "postgresql://h/shop?user=x&password=y": ("postgres://h:5432", "shop.S.T"),
    "postgresql://h1:1,h2/shop": ("postgres://h1:1,h2:5432", "shop.S.T"),
    "postgresql://H.Example.COM/shop": ("postgres://h.example.com:5432", "shop.S.T"),
    "mysql://ann:pw@h:1/shop": ("mysql://h:1", "S.T"),
    "mysql:loadbalance://h/shop": ("mysql://h:3306", "S.T"),
    "db2://h:50000/DB": ("db2://h:50000", "DB.S.T"),
    "db2://h/DB:user=ann;password=pw;": ("db2://h:50000", "DB.S.T"),
    "oracle:thin:@//h:1522/service": ("oracle://h:1522", "service.S.T"),
    "oracle:thin:@h:1521:sid": ("oracle://h:1521", "sid.S.T"),
    "oracle:thin:@h:1521/service": ("oracle://h:1521", "service.S.T"),
    "oracle:thin:@PROD": ("oracle://PROD", "S.T"),
    "oracle:thin:scott/tiger@prod.world?TNS_ADMIN=/x": ("oracle://prod.world", "S.T"),
    "oracle:thin:@//h/service": ("oracle://h:1521", "service.S.T"),
    "oracle:thin:scott/tiger@//h:1521/service?x=y": ("oracle://h:1521", "service.S.T"),
    "oracle:oci:@h:1521:sid": ("oracle://h:1521", "sid.S.T"),
    "oracle:thin:@tcps://h:2484/service:dedicated": ("oracle://h:2484", "service.S.T"),
    "oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=h)(PORT=1523))(CONNECT_DATA=(SERVICE_NAME=s)))": ("oracle://h:1523", "s.S.T"),
    "sqlserver://h:1433;databaseName=x": ("mssql://h:1433", "x.S.T"),
    "sqlserver://h:1433;encrypt=true;DatabaseName=x;user=a;password=p": ("mssql://h:1433", "x.S.T"),
    "sqlserver://h;database=x": ("mssql://h", "x.S.T"),
    "sqlserver://h\\inst:1433;databaseName=x": ("mssql://h:1433/inst", "x.S.T"),
    "sqlserver://;serverName=h;portNumber=1434;databaseName=x": ("mssql://h:1434", "x.S.T"),
    "sqlserver://h:1433": ("mssql://h:1433", "S.T"),
    "jtds:sqlserver://h:1433/x;user=a": ("mssql://h:1433", "x.S.T"),
    "teradata://h/DATABASE=x,DBS_PORT=1026": ("teradata://h:1026", "S.T"),
    "teradata://h": ("teradata://h:1025", "S.T"),
    "h2:file:/data/db/shop;CASE_INSENSITIVE_IDENTIFIERS=TRUE": ("h2:file:/data/db/shop;CASE_INSENSITIVE_IDENTIFIERS=TRUE", "S.T"),
    "h2:mem:shop;USER=sa;PASSWORD=pw": ("h2:mem:shop", "S.T"),
    "db2:SAMPLE:user=ann;password=pw": ("db2:SAMPLE", "S.T"),
    "sqlite:/data/x.db": ("sqlite:/data/x.db", "S.T"),
}  # fmt: skip


@pytest.mark.parametrize(("url", "expected"), NAMES.items(), ids=NAMES)
def test_table_name_follows_openlineage_naming(url: str, expected: tuple[str, str]) -> None:
    database = parse_jdbc_url(f"jdbc:{url}")
    assert database is not None
    assert (database.namespace, database.qualify("S.T")) == expected


@pytest.mark.parametrize(
    ("url", "table", "name"),
    [
        ("jdbc:mysql://h/shop", "t", "shop.t"),
        ("jdbc:mysql://h/shop", "other.t", "other.t"),
        ("jdbc:teradata://h/DATABASE=x", "t", "x.t"),
        ("jdbc:oracle:thin:@h:1521:sid", "a.b.c", "a.b.c"),
        ("jdbc:postgresql://h/shop", "t", "shop.t"),
    ],
)
def test_qualify_keeps_complete_names(url: str, table: str, name: str) -> None:
    database = parse_jdbc_url(url)
    assert database is not None
    assert database.qualify(table) == name


@pytest.mark.parametrize(
    "url", ["", "jdbc:oracle:thin:scott/tiger", "postgres://h", "jdbc:", "jdbc:x", "sqlplus u/p@h"]
)
def test_other_texts_are_not_jdbc_urls(url: str) -> None:
    assert parse_jdbc_url(url) is None
