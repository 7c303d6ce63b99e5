"""Locations of datasets of all supported systems."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.openmetadata.fqn import split_fqn
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping, find_mapping, locate_dataset
from tests.fuzz.hostile_names import HOSTILE

MAPPED = ServiceLayout(
    mappings=(
        ServiceMapping("postgres://pg:5432", "pg"),
        ServiceMapping("postgres://*", "other_pg"),
        ServiceMapping("mysql://*", "my"), ServiceMapping("hive://*", "hive"), ServiceMapping("teradata://*", "td"), ServiceMapping("db2://*", "db2"),
        ServiceMapping("mssql://*", "ms"), ServiceMapping("oracle://*", "ora"), ServiceMapping("bigquery", "bq"), ServiceMapping("snowflake://*", "sf"),
        ServiceMapping("arn:aws:glue:*", "glue"), ServiceMapping("kafka://*", "kafka"), ServiceMapping("https://*", "api"), ServiceMapping("mlflow://*", "ml"),
        ServiceMapping("s3://lake", "lake", database="lake", schema="{folder}"),
        ServiceMapping("s3://*", "buckets", database="{namespace}"),
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("namespace", "name", "kind", "type_", "fqn"),
    [
        ("postgres://pg:5432", "shop.public.orders", "table", "Postgres", "pg.shop.public.orders"),
        ("postgres://pg:5433", "shop.public.orders", "table", "Postgres", "other_pg.shop.public.orders"),
        ("postgres://pg:5432", "public.orders", "table", "Postgres", "pg.default.public.orders"),
        ("postgres://pg:5432", "orders", "table", "Postgres", "pg.default.default.orders"),
        ("postgres://pg:5432", "a.b.c.d", "table", "Postgres", 'pg.a.b."c.d"'),
        ("mysql://h:3306", "shop.orders", "table", "Mysql", "my.default.shop.orders"),
        ("hive://h:10000", "shop.orders", "table", "Hive", "hive.default.shop.orders"),
        ("teradata://h:1025", "shop.orders", "table", "Teradata", "td.default.shop.orders"),
        ("db2://h:50000", "SAMPLE.S.T", "table", "Db2", "db2.SAMPLE.S.T"),
        ("mssql://h:1433", "d.s.t", "table", "Mssql", "ms.d.s.t"),
        ("oracle://h:1521", "ORCL.S.T", "table", "Oracle", "ora.ORCL.S.T"),
        ("bigquery", "project.dataset.table", "table", "BigQuery", "bq.project.dataset.table"),
        ("snowflake://org-account", "DB.SCHEMA.T", "table", "Snowflake", "sf.DB.SCHEMA.T"),
        ("arn:aws:glue:eu-west-1:1", "table/db/t", "table", "Glue", "glue.default.db.t"),
        ("s3://lake", "sales/daily", "table", "CustomDatabase", "lake.lake.sales.daily"),
        ("s3://lake", "daily", "table", "CustomDatabase", "lake.lake.default.daily"),
        ("s3://pond", "sales/daily.parquet", "table", "CustomDatabase", 'buckets.s3://pond.sales."daily.parquet"'),
        ("s3://pond", "daily.parquet", "table", "CustomDatabase", 'buckets.s3://pond.default."daily.parquet"'),
        ("kafka://h:9092", "orders.v1", "topic", "Kafka", 'kafka."orders.v1"'),
        ("https://api.example.com", "/v1/orders", "apiEndpoint", "Rest", "api.default./v1/orders"),
        ("mlflow://h", "churn", "mlmodel", "CustomMlModel", "ml.churn"),
        ("file", "/data/out", "table", "CustomDatabase", "lineage_bridge.file./data.out"),
        ("file", "/data", "table", "CustomDatabase", "lineage_bridge.file./.data"),
        ("file", "/data/", "table", "CustomDatabase", "lineage_bridge.file.default./data/"),
        ("file:/warehouse", "sales.orders", "table", "CustomDatabase", "lineage_bridge.file:/warehouse.sales.orders"),
        ("file:/warehouse", "orders", "table", "CustomDatabase", "lineage_bridge.file:/warehouse.default.orders"),
        ("oceanbase://h:1", "d.t", "table", "CustomDatabase", "lineage_bridge.oceanbase://h:1.d.t"),
        ("anything", "x.y", "table", "CustomDatabase", 'lineage_bridge.anything.default."x.y"'),
    ],
)  # fmt: skip
def test_location_of_a_mapped_dataset(namespace: str, name: str, kind: str, type_: str, fqn: str) -> None:
    location = locate_dataset(MAPPED, namespace, name)
    assert (location.kind, location.service.type, location.fqn) == (kind, type_, fqn)


@pytest.mark.parametrize(
    "namespace", ["postgres://a:1", "postgres://b:1", "s3://a", "file", "kafka://a", "https://a", "mlflow://a"]
)
@pytest.mark.parametrize("name", [*HOSTILE.values(), "d.s.t", "s.t", "t"])
def test_unmapped_datasets_never_share_a_location(namespace: str, name: str) -> None:
    layout = ServiceLayout()
    location = locate_dataset(layout, namespace, name)
    assert location.service.name == "lineage_bridge"
    other_locations = [
        locate_dataset(layout, other_namespace, name)
        for other_namespace in ("postgres://a:1", "postgres://b:1", "s3://a", "file")
        if other_namespace != namespace
    ]
    assert location.fqn not in {other_location.fqn for other_location in other_locations}
    assert locate_dataset(layout, namespace, name + "x").fqn != location.fqn


@given(st.text(min_size=1, max_size=50), st.text(min_size=1, max_size=50))
def test_any_location_has_valid_names(namespace: str, name: str) -> None:
    location = locate_dataset(ServiceLayout(), namespace, name)
    assert split_fqn(location.fqn) == [
        location.service.name,
        *(parent.name for parent in location.parents),
        location.name.name,
    ]


def test_files_can_be_containers() -> None:
    location = locate_dataset(ServiceLayout(files_as="container"), "s3://lake", "sales/daily")
    assert (location.kind, location.service.kind, location.fqn) == (
        "container",
        "storageService",
        "lineage_bridge.s3://lake/sales/daily",
    )


def test_longest_mapping_wins_in_any_order() -> None:
    mappings = {find_mapping(order, "postgres://pg:5432") for order in (MAPPED.mappings, MAPPED.mappings[::-1])}
    assert mappings == {MAPPED.mappings[0]}


@pytest.mark.parametrize(
    ("namespace", "name", "files_as", "display_names"),
    [
        ("file", "/data/out/enriched", "table", [None, None, None]),
        ("s3://lake", "curated/orders", "table", ["lake (s3)", None, None]),
        ("s3://lake", "curated/orders", "container", ["orders"]),
        ("h2:file:/data/db/shop;MODE=DB2", "PUBLIC.ORDERS", "table", ["shop (h2)", None, None]),
        ("postgres://h:5432", "shop.public.orders", "table", ["shop (postgres)", None, None]),
        ("mysql://h:3306", "shop.orders", "table", ["h (mysql)", None, None]),
        ("kafka://h:9092", "orders.v1", "table", ["orders.v1"]),
        ("https://api.example.com", "/v1/users", "table", ["api.example.com (https)", None]),
        ("file", "/a::b", "table", [None, None, "a::b"]),
    ],
)
def test_long_names_have_short_display_names(
    namespace: str, name: str, files_as: Literal["table", "container"], display_names: list[str | None]
) -> None:
    location = locate_dataset(ServiceLayout(files_as=files_as), namespace, name)
    assert [part.display_name for part in (*location.parents, location.name)] == display_names


def test_flat_layout_of_earlier_versions_uses_full_paths_as_names() -> None:
    location = locate_dataset(ServiceLayout(folders_as_schemas=False), "file", "/data/out/enriched")
    assert location.fqn == "lineage_bridge.file.default./data/out/enriched"
    assert location.name.display_name == "enriched"
