"""Locations of datasets in process files, and their OpenLineage names."""

import pytest

from bridge.process.dataset_location import DatasetLocation, locate_dataset
from connectors.errors import ConfigError

LAKE = "/data/lake"
LOCATIONS = {
    "name in the lake": (("trades", None, "parquet", None, LAKE), ("file", "/data/lake/trades", "/data/lake/trades")),
    "name in a lake in a bucket": (("trades", None, "csv", None, "s3a://b/lake/"), ("s3a://b", "lake/trades", "s3a://b/lake/trades")),
    "name in a lake in HDFS": (("trades", None, "json", None, "hdfs://nn:8020/lake"), ("hdfs://nn:8020", "/lake/trades", "hdfs://nn:8020/lake/trades")),
    "path": (("/raw/a.csv", None, "csv", None, LAKE), ("file", "/raw/a.csv", "/raw/a.csv")),
    "path with a scheme": (("file:/raw/a", None, "csv", None, None), ("file", "/raw/a", "/raw/a")),
    "bucket namespace": (("sales/daily", "s3://lake", "delta", None, None), ("s3://lake", "sales/daily", "s3://lake/sales/daily")),
    "PostgreSQL table": (("public.trades", None, "jdbc", "jdbc:postgresql://db:5433/shop", LAKE), ("postgres://db:5433", "shop.public.trades", "public.trades")),
    "default port": (("public.trades", None, "jdbc", "jdbc:postgresql://db/shop?user=x", LAKE), ("postgres://db:5432", "shop.public.trades", "public.trades")),
    "password is removed": (("t", None, "jdbc", "jdbc:mysql://ann:secret@db:1/shop", LAKE), ("mysql://db:1", "shop.t", "t")),
    "Oracle table": (("S.T", None, "jdbc", "jdbc:oracle:thin:@//db:1521/shop", LAKE), ("oracle://db:1521", "shop.S.T", "S.T")),
    "SQL Server table": (("dbo.t", None, "jdbc", "jdbc:sqlserver://db:1433;databaseName=shop", LAKE), ("mssql://db:1433", "shop.dbo.t", "dbo.t")),
    "Iceberg table": (("lake.sales.orders", "file:/w", "iceberg", None, None), ("file:/w", "sales.orders", "lake.sales.orders")),
}  # fmt: skip
INVALID = {
    "name without a lake": (("trades", None, "parquet", None, None), "trades: no location for this dataset"),
    "relative lake path": (("trades", None, "parquet", None, "lake"), "lake/trades: not an absolute path"),
    "jdbc without URL": (("t", None, "jdbc", None, LAKE), "t: format jdbc needs options.url"),
    "invalid JDBC URL": (("t", None, "jdbc", "postgres://db", LAKE), "options.url: postgres://db is not a supported JDBC URL"),
    "iceberg without a warehouse": (("a.t", None, "iceberg", None, LAKE), "a.t: format iceberg needs the namespace"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "expected"), LOCATIONS.values(), ids=LOCATIONS)
def test_locate_dataset(
    arguments: tuple[str, str | None, str, str | None, str | None], expected: tuple[str, ...]
) -> None:
    assert locate_dataset(*arguments) == DatasetLocation(*expected)


@pytest.mark.parametrize(("arguments", "message"), INVALID.values(), ids=INVALID)
def test_missing_location_is_an_error(
    arguments: tuple[str, str | None, str, str | None, str | None], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        locate_dataset(*arguments)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("namespace", "expected"), [("postgres://db:5432", True), ("file", False), ("s3://lake", False)]
)
def test_database_tables_are_mutable(namespace: str, expected: bool) -> None:
    assert DatasetLocation(namespace, "t", "t").is_mutable is expected
