"""All requests built by the mappers are valid according to OpenMetadata's models."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.openmetadata import body_validation
from mappers.canonical.columns import SchemaColumn
from mappers.openmetadata.data_contracts import data_contract
from mappers.openmetadata.entity_requests import DatasetContent, EntityRequest, dataset_requests
from mappers.openmetadata.lineage_details import ColumnEdge, EdgeEndpoint, lineage_details
from mappers.openmetadata.locations import CUSTOM_SERVICES, ServiceLayout, ServiceMapping, locate_dataset
from mappers.openmetadata.pipeline_status import last_run
from mappers.openmetadata.pipelines import PipelineContent, PipelineTask, locate_job, pipeline_requests
from tests.fuzz.hostile_names import HOSTILE

installed = pytest.mark.system("openmetadata-ingestion")

DATASETS = {
    "postgres://h:1": "d.s.t", "mysql://h:1": "d.t", "mariadb://h:1": "d.t", "mssql://h:1": "d.s.t", "oracle://h:1": "d.s.t",
    "db2://h:1": "d.s.t", "teradata://h:1": "d.t", "redshift://c:1": "d.s.t", "snowflake://a": "d.s.t", "bigquery": "d.s.t",
    "trino://h:1": "d.s.t", "presto://h:1": "d.s.t", "hive://h:1": "d.t", "impala://h:1": "d.t", "awsathena://h": "d.s.t",
    "unitycatalog://h": "d.s.t", "databricks://h": "d.s.t", "clickhouse://h:1": "d.t", "cassandra://h:1": "k.t",
    "vertica://h:1": "d.s.t", "greenplum://h:1": "d.s.t", "singlestore://h:1": "d.t", "oceanbase://h:1": "d.t",
    "crate://h:1": "d.t", "spanner://p:i": "d.t", "saphana://h:1": "s.t", "sqlite": "d.t", "arn:aws:glue:r:1": "table/d/t",
    "mongodb://h:1": "d.c", "s3://lake": "sales/daily", "gs://lake": "sales/daily", "abfss://c@a": "sales/daily",
    "wasbs://c@a": "sales/daily", "file": "/data/x.csv", "hdfs://n:1": "/data/x", "dbfs://w": "/data/x", "kafka://h:1": "orders",
    "pubsub": "topic:p:t", "kinesis://s": "orders", "inmemory://": "/x", "https://api": "/v1/orders", "mlflow://h": "churn",
}  # fmt: skip
#: Column types with and without lengths.
TYPES = (
    "string", "varchar", "varchar(20)", "char", "binary", "binary(8)", "decimal", "decimal(18,2)", "numeric(9)", "boolean",
    "timestamp(6)", "timestamp with time zone", "interval day to second", "array<int>", "array<struct<x:array<varchar(3)>>>",
    "map<string,struct<a:int,b:decimal(9,2)>>", "struct<x:int,y:struct<z:date>>", "object", "uuid", "enum('a','b')", "gibberish", None,
)  # fmt: skip
COLUMNS = tuple(SchemaColumn(f"c{i}", type_, "what = it is") for i, type_ in enumerate(TYPES))
LAYOUTS = [
    ServiceLayout(tuple(ServiceMapping(f"{namespace}*", "mapped") for namespace in mapped), files_as=files)
    for mapped in ((), DATASETS)
    for files in ("table", "container")
]
ENTITY_ID = "11111111-2222-3333-4444-555555555555"


def validation_errors(requests: list[EntityRequest]) -> dict[str, str]:
    """Validate serialized requests, and return errors by name."""
    errors = {
        request.fqn: body_validation.validation_error(request.collection, json.loads(json.dumps(request.body)))
        for request in requests
    }
    return {name: error for name, error in errors.items() if error}


def build_requests(layout: ServiceLayout, namespace: str, name: str, **content: Any) -> list[EntityRequest]:
    entity_requests = dataset_requests(locate_dataset(layout, namespace, name), DatasetContent(name, **content))
    return [*entity_requests.parents, entity_requests.entity]


@installed
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("namespace", DATASETS)
def test_requests_of_every_namespace_are_valid(layout: ServiceLayout, namespace: str) -> None:
    requests = build_requests(
        layout, namespace, DATASETS[namespace], description="a=b", columns=COLUMNS, full_path="s3://lake/x"
    )
    assert validation_errors(requests) == {}


@installed
@pytest.mark.parametrize(
    "format_", ["parquet", "PARQUET", "orc", "avro", "csv", "json", "tsv", "delta", "iceberg", "hudi", "?", "", None]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_requests_of_every_format_are_valid(layout: ServiceLayout, format_: str | None) -> None:
    assert validation_errors(build_requests(layout, "s3://lake", "sales", format=format_)) == {}


@installed
@pytest.mark.parametrize("name", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("namespace", ["file", "kafka://h:1", "https://api", "mlflow://h"])
def test_requests_of_hostile_names_are_valid(namespace: str, name: str) -> None:
    columns = (SchemaColumn(name, "struct<x:int>", name), SchemaColumn("plain", name))
    assert (
        validation_errors(build_requests(ServiceLayout(), namespace, name, description=name, columns=columns)) == {}
    )


names = st.text(max_size=300)


@installed
@given(
    st.sampled_from(LAYOUTS),
    st.sampled_from(sorted(DATASETS)),
    names,
    st.lists(
        st.builds(
            SchemaColumn, names, st.one_of(st.sampled_from(TYPES), names), st.none() | names, st.integers(0, 3)
        ),
        max_size=6,
    ),
)
def test_requests_of_arbitrary_datasets_are_valid(
    layout: ServiceLayout, namespace: str, name: str, columns: list[SchemaColumn]
) -> None:
    assert validation_errors(build_requests(layout, namespace, name, columns=tuple(columns), description=name)) == {}


@installed
@given(
    st.sampled_from([ServiceLayout(), ServiceLayout((ServiceMapping("*", "mapped"),))]),
    names,
    names,
    st.sampled_from([None, "SPARK", "airflow", "DBT", "FLINK", "whatever"]),
    st.lists(st.builds(PipelineTask, names, st.none() | names, st.tuples(names)), max_size=4),
)
def test_requests_of_arbitrary_jobs_are_valid(
    layout: ServiceLayout, namespace: str, name: str, integration: str | None, tasks: list[PipelineTask]
) -> None:
    job = PipelineContent(name, name, "https://git/x", tuple(tasks))
    assert validation_errors(list(pipeline_requests(locate_job(layout, namespace, name, integration), job))) == {}


@installed
@given(names, names)
def test_edges_are_valid(column: str, function: str) -> None:
    ends = EdgeEndpoint("a.b.c.t", {column: (column or "x",)}), EdgeEndpoint("a.b.c.u", {column: (column or "x",)})
    details = lineage_details(*ends, [ColumnEdge(column, column, "DIRECT", function, True, function)])
    edge = {
        "fromEntity": {"id": ENTITY_ID, "type": "table"},
        "toEntity": {"id": ENTITY_ID, "type": "container"},
        "lineageDetails": {
            "columnsLineage": details.columns,
            "description": details.description,
            "sqlQuery": function,
            "source": "OpenLineage",
            "pipeline": {"id": ENTITY_ID, "type": "pipeline"},
        },
    }
    assert body_validation.validation_error("lineage", {"edge": edge}) is None


@installed
@pytest.mark.parametrize("status", ["STARTED", "SUCCESS", "FAILED", "CANCELLED", "UNKNOWN"])
def test_last_runs_are_valid(status: str) -> None:
    body = last_run(ENTITY_ID, "etl.daily", status, 1_795_000_000_000)
    assert body_validation.validation_error("pipelineObservability", body) is None


@installed
@pytest.mark.parametrize(
    "sla", [{}, {"expected_by": "06:30"}, {"freshness": "90s"}, {"freshness": "2d", "timezone": "Europe/London"}]
)
@pytest.mark.parametrize("retention_days", [None, 30])
def test_data_contracts_are_valid(sla: dict[str, Any], retention_days: int | None) -> None:
    columns = [{"name": column.name} | ({"type": column.type} if column.type else {}) for column in COLUMNS]
    contract = {"version": "2", "columns": columns}
    names = {column.name for column in COLUMNS}
    body = data_contract("table", ENTITY_ID, contract, sla, retention_days, names)
    assert len(body["schema"]) == len(COLUMNS)
    assert body_validation.validation_error("dataContracts", body) is None


def test_every_written_collection_is_validated() -> None:
    requests = [
        request
        for layout in LAYOUTS
        for namespace, name in DATASETS.items()
        for request in build_requests(layout, namespace, name)
    ]
    services = {f"services/{kind}s" for kind, _ in CUSTOM_SERVICES.values()} | {
        "services/pipelineServices",
        "pipelines",
    }
    assert {request.collection for request in requests} | services <= body_validation.VALIDATED_COLLECTIONS
