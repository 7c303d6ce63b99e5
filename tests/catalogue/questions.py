"""A small estate, and every question about it with one of its things."""

from typing import Any

from bridge.catalogue.consumers import Consumers
from bridge.catalogue.dag import Dag
from bridge.catalogue.dataset import Dataset
from bridge.catalogue.explain import Explain
from bridge.catalogue.governance import Governance, Violations
from bridge.catalogue.history import ProcessRuns, Runs
from bridge.catalogue.impact import Impact
from bridge.catalogue.lineage import ColumnLineage, Lineage
from bridge.catalogue.log import Events
from bridge.catalogue.namespaces import Namespaces
from bridge.catalogue.process import Process
from bridge.catalogue.processes import Processes
from bridge.catalogue.quality import Quality
from bridge.catalogue.question import Question
from bridge.catalogue.registry import Partitions, Pins, ProcessVersions, Publications, Resolve
from bridge.catalogue.run import Run
from bridge.catalogue.search import Search
from bridge.catalogue.sync_status import Sync
from bridge.catalogue.syncing import DatasetSync, ProcessSync, SyncItems
from bridge.catalogue.version import LastSuccess, Versions
from tests import factories as make
from tests.factories import Json, columns, dataset, done, facet, field, job_event, parent, run_event, run_uuid

RAW = dataset("raw", schema=make.schema("email", "id"), version=facet(datasetVersion="v7"))
CLEAN = dataset(
    "clean",
    schema=make.schema("mail", id="who it is"),
    symlinks=make.symlinks("lake.clean"),
    documentation=facet(description="Cleaned."),
    ownership=facet(owners=[{"name": "data", "type": "team"}]),
    columnLineage=columns({"mail": [field("raw", "email", done("DIRECT", "TRANSFORMATION", masking=True))]}),
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

#: A run that cleans raw data, a Spark application that reports on it with two actions, and what somebody declares.
ESTATE: tuple[Json, ...] = (
    run_event("START", 0, job="clean", inputs=[RAW]),
    run_event("COMPLETE", 5, job="clean", inputs=[RAW], outputs=[CLEAN], job_facets={"documentation": facet(description="Cleans.")}),
    make.app("START", 10, run=2),
    make.action("COMPLETE", 12, run=3, above=parent(2, "app2"), outputs=[dataset("report")]) | {"inputs": [dataset("clean")]},
    make.action("FAIL", 13, "boom", run=4, above=parent(2, "app2")),
    make.app("COMPLETE", 14, run=2),
    make.dataset_event(11, GOVERNED),
    make.dataset_event(19, dataset("report", dataQualityAssertions=facet(assertions=[BROKEN]))),
    job_event(20, job="nightly", inputs=[dataset("report")], outputs=[dataset("mail")]),
    job_event(
        21, job="mailer",
        lineageBridge_jobDependencies=facet(upstream=[{"job": {"namespace": "jobs", "name": "nightly"}, "dependency_type": "IMPLICIT_DEPENDENCY"}]),
    ),
)  # fmt: skip

OF_CLEAN: dict[str, Any] = {"namespace": "db", "name": "clean"}
OF_APP: dict[str, Any] = {"namespace": "jobs", "name": "app2"}

EVERY: tuple[Question[Any], ...] = (
    Dataset(**OF_CLEAN),
    Versions(**OF_CLEAN),
    Lineage(**OF_CLEAN, direction="both", columns=True, granularity="run"),
    ColumnLineage(**OF_CLEAN, field="mail"),
    Consumers(**OF_CLEAN),
    LastSuccess(**OF_CLEAN),
    Quality(**OF_CLEAN),
    Impact(**OF_CLEAN),
    Process(**OF_APP),
    ProcessRuns(**OF_APP, steps=10),
    Run(id=run_uuid(1)),
    Runs(),
    Search(q="clean"),
    Namespaces(),
    Dag(),
    Explain(**OF_CLEAN, source_namespace="db", source_name="raw"),
    Events(),
    Sync(),
    SyncItems(which="pending"),
    DatasetSync(**OF_CLEAN),
    ProcessSync(**OF_APP),
    Governance(**OF_CLEAN),
    Violations(),
    Resolve(**OF_CLEAN, pin="latest"),
    Publications(**OF_CLEAN),
    Partitions(namespace="db", name="report"),
    ProcessVersions(**OF_APP),
    Pins(),
    Processes(),
)
