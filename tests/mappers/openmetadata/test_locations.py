"""Where datasets of every kind of system lie in OpenMetadata."""

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
    ("namespace", "name", "kind", "type_", "whole"),
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
        ("s3://pond", "sales/daily.parquet", "table", "CustomDatabase", 'buckets.s3://pond.default."sales/daily.parquet"'),
        ("kafka://h:9092", "orders.v1", "topic", "Kafka", 'kafka."orders.v1"'),
        ("https://api.example.com", "/v1/orders", "apiEndpoint", "Rest", "api.default./v1/orders"),
        ("mlflow://h", "churn", "mlmodel", "CustomMlModel", "ml.churn"),
        ("file", "/data/out", "table", "CustomDatabase", "lineage_bridge.file.default./data/out"),
        ("oceanbase://h:1", "d.t", "table", "CustomDatabase", "lineage_bridge.oceanbase://h:1.d.t"),
        ("anything", "x.y", "table", "CustomDatabase", 'lineage_bridge.anything.default."x.y"'),
    ],
)  # fmt: skip
def test_a_dataset_lies_where_its_system_puts_it(
    namespace: str, name: str, kind: str, type_: str, whole: str
) -> None:
    found = locate_dataset(MAPPED, namespace, name)
    assert (found.kind, found.service.type, found.fqn) == (kind, type_, whole)


@pytest.mark.parametrize(
    "namespace", ["postgres://a:1", "postgres://b:1", "s3://a", "file", "kafka://a", "https://a", "mlflow://a"]
)
@pytest.mark.parametrize("name", [*HOSTILE.values(), "d.s.t", "s.t", "t"])
def test_without_a_mapping_no_two_datasets_meet(namespace: str, name: str) -> None:
    layout = ServiceLayout()
    mine = locate_dataset(layout, namespace, name)
    assert mine.service.name == "lineage_bridge"
    others = [
        locate_dataset(layout, other, name)
        for other in ("postgres://a:1", "postgres://b:1", "s3://a", "file")
        if other != namespace
    ]
    assert mine.fqn not in {other.fqn for other in others}
    assert locate_dataset(layout, namespace, name + "x").fqn != mine.fqn


@given(st.text(min_size=1, max_size=50), st.text(min_size=1, max_size=50))
def test_a_place_has_names_that_a_server_takes(namespace: str, name: str) -> None:
    found = locate_dataset(ServiceLayout(), namespace, name)
    assert split_fqn(found.fqn) == [found.service.name, *(one.name for one in found.parents), found.name.name]


def test_files_may_be_containers() -> None:
    found = locate_dataset(ServiceLayout(files_as="container"), "s3://lake", "sales/daily")
    assert (found.kind, found.service.kind, found.fqn) == (
        "container",
        "storageService",
        "lineage_bridge.s3://lake/sales/daily",
    )


def test_of_several_mappings_the_longest_wins_whatever_their_order() -> None:
    found = {find_mapping(order, "postgres://pg:5432") for order in (MAPPED.mappings, MAPPED.mappings[::-1])}
    assert found == {MAPPED.mappings[0]}
