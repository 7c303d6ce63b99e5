"""The events of a small sample store, and an example of every query about it."""

from typing import Any

from bridge.queries.consumers import ConsumersQuery
from bridge.queries.dag import DagQuery
from bridge.queries.dataset import DatasetQuery
from bridge.queries.events import EventsQuery
from bridge.queries.explain import ExplainQuery
from bridge.queries.governance import ContractViolationsQuery, GovernanceQuery
from bridge.queries.impact import ImpactQuery
from bridge.queries.lineage import ColumnLineageQuery, LineageQuery
from bridge.queries.namespaces import NamespacesQuery
from bridge.queries.processes import DefinitionsQuery, JobQuery, RegisteredProcessesQuery
from bridge.queries.publications import PinsQuery, PublicationsQuery
from bridge.queries.quality import QualityQuery
from bridge.queries.query import Query
from bridge.queries.runs import JobRunsQuery, RunQuery, RunsQuery
from bridge.queries.search import SearchQuery
from bridge.queries.sync_items import DatasetSyncQuery, JobSyncQuery, SyncItemsQuery
from bridge.queries.sync_status import SyncStatusQuery
from bridge.queries.versions import LastSuccessQuery, PartitionsQuery, ResolveVersionQuery, VersionsQuery
from tests import factories as make
from tests.factories import (
    Json,
    columns,
    dataset,
    facet,
    field,
    job_event,
    parent,
    run_event,
    run_uuid,
    transformation,
)

RAW = dataset("raw", schema=make.schema("email", "id"), version=facet(datasetVersion="v7"))
CLEAN = dataset(
    "clean",
    schema=make.schema("mail", id="who it is"),
    symlinks=make.symlinks("lake.clean"),
    documentation=facet(description="Cleaned."),
    ownership=facet(owners=[{"name": "data", "type": "team"}]),
    columnLineage=columns(
        {"mail": [field("raw", "email", transformation("DIRECT", "TRANSFORMATION", masking=True))]}
    ),
    dataQualityAssertions=facet(
        assertions=[
            {"assertion": "not_null", "success": True, "column": "mail"},
            {"assertion": "unique", "success": False, "column": "id"},
        ]
    ),
    output_facets={"outputStatistics": facet(rowCount=3, size=30, fileCount=1)},
)

GOVERNED = dataset(
    "clean", lineageBridge_governance=facet(asset="clean", tags=["pii"], category="people", retentionDays=90)
)
BROKEN = {"assertion": "contract", "name": "contract", "success": False, "actual": {"broken": ["x is missing"]}}

#: A run that cleans raw data, a Spark application that reports on it with two actions, and declarations.
SAMPLE_EVENTS: tuple[Json, ...] = (
    run_event("START", 0, job="clean", inputs=[RAW]),
    run_event("COMPLETE", 5, job="clean", inputs=[RAW], outputs=[CLEAN], job_facets={"documentation": facet(description="Cleans.")}),
    make.app("START", 10, run=2),
    make.action("COMPLETE", 12, run=3, parent_facet=parent(2, "app2"), outputs=[dataset("report")]) | {"inputs": [dataset("clean")]},
    make.action("FAIL", 13, "boom", run=4, parent_facet=parent(2, "app2")),
    make.app("COMPLETE", 14, run=2),
    make.dataset_event(11, GOVERNED),
    make.dataset_event(19, dataset("report", dataQualityAssertions=facet(assertions=[BROKEN]))),
    job_event(20, job="nightly", inputs=[dataset("report")], outputs=[dataset("mail")]),
    job_event(
        21, job="mailer",
        lineageBridge_jobDependencies=facet(upstream=[{"job": {"namespace": "jobs", "name": "nightly"}, "dependency_type": "IMPLICIT_DEPENDENCY"}]),
    ),
)  # fmt: skip

CLEAN_DATASET: dict[str, Any] = {"namespace": "db", "name": "clean"}
APP_JOB: dict[str, Any] = {"namespace": "jobs", "name": "app2"}

EXAMPLE_QUERIES: tuple[Query[Any], ...] = (
    DatasetQuery(**CLEAN_DATASET),
    VersionsQuery(**CLEAN_DATASET),
    LineageQuery(**CLEAN_DATASET, direction="both", columns=True, granularity="run"),
    ColumnLineageQuery(**CLEAN_DATASET, field="mail"),
    ConsumersQuery(**CLEAN_DATASET),
    LastSuccessQuery(**CLEAN_DATASET),
    QualityQuery(**CLEAN_DATASET),
    ImpactQuery(**CLEAN_DATASET),
    JobQuery(**APP_JOB),
    JobRunsQuery(**APP_JOB, steps=10),
    RunQuery(id=run_uuid(1)),
    RunsQuery(),
    SearchQuery(q="clean"),
    NamespacesQuery(),
    DagQuery(),
    ExplainQuery(**CLEAN_DATASET, source_namespace="db", source_name="raw"),
    EventsQuery(),
    SyncStatusQuery(),
    SyncItemsQuery(which="pending"),
    DatasetSyncQuery(**CLEAN_DATASET),
    JobSyncQuery(**APP_JOB),
    GovernanceQuery(**CLEAN_DATASET),
    ContractViolationsQuery(),
    ResolveVersionQuery(**CLEAN_DATASET, pin="latest"),
    PublicationsQuery(**CLEAN_DATASET),
    PartitionsQuery(namespace="db", name="report"),
    DefinitionsQuery(**APP_JOB),
    PinsQuery(),
    RegisteredProcessesQuery(),
)
