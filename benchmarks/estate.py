"""Generates tables of 10 columns in several databases and schemas, and jobs between some of them."""

from collections.abc import Iterator
from typing import Any

import msgspec

from benchmarks.events import facet

_DATABASES, _SCHEMAS = 4, 25
_TYPES = ("bigint", "varchar(64)", "decimal(18,2)", "timestamp", "boolean")
_COLUMNS = 10
#: Of ten tables, three are outputs of jobs, which read seven, seven and six of the other tables.
_TABLES, _READS = 10, (7, 7, 6)
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"


def job_count(tables: int) -> int:
    return tables // _TABLES * len(_READS)


def edge_count(tables: int) -> int:
    return tables // _TABLES * sum(_READS)


def estate(tables: int) -> Iterator[bytes]:
    """Events of all tables: runs of the jobs, and dataset events for the tables that no job writes."""
    jobs = job_count(tables)
    for job in range(jobs):
        reads = [jobs + (7 * job + i) % (tables - jobs) for i in range(_READS[job % len(_READS)])]
        yield msgspec.json.encode(run_event(f"build {job}", job, reads, job))
    for number in range(jobs, tables):
        yield msgspec.json.encode(
            {
                "eventTime": "2027-01-01T00:00:00Z",
                "producer": "https://example.com/crawler",
                "schemaURL": f"{_SPEC}/DatasetEvent",
                "dataset": table(number),
            }
        )


def run_event(job: str, run: int, reads: list[int], writes: int) -> dict[str, Any]:
    """A complete run with column lineage from its inputs to its output."""
    sources = [table(number) for number in reads]
    target = table(writes)
    lines = {f"col{i}": {"inputFields": [_field(sources[i % len(sources)], i)]} for i in range(_COLUMNS)}
    target["facets"]["columnLineage"] = facet("ColumnLineageDatasetFacet", "1-2-0", fields=lines)
    return {
        "eventType": "COMPLETE",
        "eventTime": f"2027-01-02T{run // 3600 % 24:02}:{run // 60 % 60:02}:{run % 60:02}Z",
        "producer": "https://example.com/jobs",
        "schemaURL": f"{_SPEC}/RunEvent",
        "run": {"runId": f"{run:08x}-0000-7000-8000-000000000000"},
        "job": {"namespace": "jobs", "name": job},
        "inputs": sources,
        "outputs": [target],
    }


def table(number: int) -> dict[str, Any]:
    """A dataset with a schema."""
    fields = [{"name": f"col{i}", "type": _TYPES[i % len(_TYPES)]} for i in range(_COLUMNS)]
    return {
        "namespace": f"postgres://warehouse{number % _DATABASES}.example.com:5432",
        "name": f"analytics.schema{number // _DATABASES % _SCHEMAS}.{table_name(number)}",
        "facets": {"schema": facet("SchemaDatasetFacet", "1-2-0", fields=fields)},
    }


def table_name(number: int) -> str:
    """Name of a table in the target."""
    return f"table_{number:07}"


def _field(source: dict[str, Any], column: int) -> dict[str, Any]:
    transformations = [{"type": "DIRECT", "subtype": "IDENTITY", "masking": False}]
    dataset = {"namespace": source["namespace"], "name": source["name"]}
    return {**dataset, "field": f"col{column}", "transformations": transformations}
