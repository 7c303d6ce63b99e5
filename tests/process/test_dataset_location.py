"""Where datasets of process files lie: for Spark, and by the names under which the listener tells of them."""

import pytest

from bridge.process.dataset_location import DatasetLocation, locate_dataset
from connectors.errors import ConfigError

LAKE = "/data/lake"
FOUND = {
    "a word of the lake": (("trades", None, "parquet", None, LAKE), ("file", "/data/lake/trades", "/data/lake/trades")),
    "a word of a lake in a bucket": (("trades", None, "csv", None, "s3a://b/lake/"), ("s3a://b", "lake/trades", "s3a://b/lake/trades")),
    "a word of a lake in HDFS": (("trades", None, "json", None, "hdfs://nn:8020/lake"), ("hdfs://nn:8020", "/lake/trades", "hdfs://nn:8020/lake/trades")),
    "a path": (("/raw/a.csv", None, "csv", None, LAKE), ("file", "/raw/a.csv", "/raw/a.csv")),
    "a path with a scheme": (("file:/raw/a", None, "csv", None, None), ("file", "/raw/a", "/raw/a")),
    "a name of a bucket": (("sales/daily", "s3://lake", "delta", None, None), ("s3://lake", "sales/daily", "s3://lake/sales/daily")),
    "a table of PostgreSQL": (("public.trades", None, "jdbc", "jdbc:postgresql://db:5433/shop", LAKE), ("postgres://db:5433", "shop.public.trades", "public.trades")),
    "its port goes without saying": (("public.trades", None, "jdbc", "jdbc:postgresql://db/shop?user=x", LAKE), ("postgres://db:5432", "shop.public.trades", "public.trades")),
    "a password is not in its name": (("t", None, "jdbc", "jdbc:mysql://ann:secret@db:1/shop", LAKE), ("mysql://db:1", "shop.t", "t")),
    "a table of Oracle": (("S.T", None, "jdbc", "jdbc:oracle:thin:@//db:1521/shop", LAKE), ("oracle://db:1521", "shop.S.T", "S.T")),
    "a table of SQL Server": (("dbo.t", None, "jdbc", "jdbc:sqlserver://db:1433;databaseName=shop", LAKE), ("mssql://db:1433", "shop.dbo.t", "dbo.t")),
    "a table of Iceberg": (("lake.sales.orders", "file:/w", "iceberg", None, None), ("file:/w", "sales.orders", "lake.sales.orders")),
}  # fmt: skip
REFUSED = {
    "a word without a lake": (("trades", None, "parquet", None, None), "trades: no location for this dataset"),
    "a lake that is no path": (("trades", None, "parquet", None, "lake"), "lake/trades: not an absolute path"),
    "jdbc without an address": (("t", None, "jdbc", None, LAKE), "t: format jdbc needs options.url"),
    "an address that is none": (("t", None, "jdbc", "postgres://db", LAKE), "options.url: postgres://db is not a supported JDBC URL"),
    "iceberg without a warehouse": (("a.t", None, "iceberg", None, LAKE), "a.t: format iceberg needs the namespace"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "found"), FOUND.values(), ids=FOUND)
def test_it_lies_where_the_file_says(
    given: tuple[str, str | None, str, str | None, str | None], found: tuple[str, ...]
) -> None:
    assert locate_dataset(*given) == DatasetLocation(*found)


@pytest.mark.parametrize(("given", "said"), REFUSED.values(), ids=REFUSED)
def test_what_lies_nowhere_is_told(given: tuple[str, str | None, str, str | None, str | None], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        locate_dataset(*given)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(("namespace", "live"), [("postgres://db:5432", True), ("file", False), ("s3://lake", False)])
def test_tables_of_databases_change_where_they_lie(namespace: str, live: bool) -> None:
    assert DatasetLocation(namespace, "t", "t").is_mutable is live
