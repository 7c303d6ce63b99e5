"""Generates tables of 10 columns in several databases and schemas, and jobs between some of them."""

from collections.abc import Iterator
from typing import Any

import msgspec

from benchmarks.events import facet

_DATABASES, _SCHEMAS = 4, 25
_TYPES = ("bigint", "varchar(64)", "decimal(18,2)", "timestamp", "boolean")
_COLUMNS = 10
#: One table in ten is the output of a job that reads two tables.
_TABLES_PER_JOB = 10
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs"


def job_count(tables: int) -> int:
    """Number of jobs for a number of tables; each job has two edges."""
    return tables // _TABLES_PER_JOB


def estate(tables: int) -> Iterator[bytes]:
    """Events of all tables: runs of the jobs, and dataset events for the remaining tables."""
    jobs = job_count(tables)
    for job in range(jobs):
        yield msgspec.json.encode(run_event(f"build {job}", job, [jobs + 2 * job, jobs + 2 * job + 1], job))
    for number in range(3 * jobs, tables):
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
