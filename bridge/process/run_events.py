"""Builds the OpenLineage events of a run with openlineage-python."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import attr
from openlineage.client import event_v2 as ol
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    JobFacet,
    OutputDatasetFacet,
    RunFacet,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    data_quality_metrics_input_dataset,
    dataset_version_dataset,
    documentation_job,
    error_message_run,
    job_type_job,
    lineage,
    output_statistics_output_dataset,
    ownership_job,
    parent_run,
    schema_dataset,
)
from openlineage.client.serde import Serde

from bridge.process.check_sql import CheckOutcome
from bridge.process.dataset_location import DatasetLocation
from mappers.openlineage.event_builder import PRODUCER
from mappers.openlineage.versions import IDEMPOTENCY_KEY_FACET
from mappers.sql.column_source import ColumnSource, QueryLineage

State = Literal["START", "COMPLETE", "FAIL", "ABORT"]


@attr.define
class _KeyFacet(OutputDatasetFacet):
    key: str


@attr.define
class _PathFacet(DatasetFacet):
    path: str


@attr.define
class _SubsetFacet(OutputDatasetFacet):
    outputCondition: dict[str, Any]  # noqa: N815 - the spec's spelling


@attr.define
class _StepsFacet(JobFacet):
    steps: list[dict[str, Any]]


@attr.define
class _ParametersFacet(RunFacet):
    parameters: dict[str, str]


class ParentRun(NamedTuple):
    """The run that a run is a part of."""

    namespace: str
    name: str
    run_id: str


class RunContext(NamedTuple):
    """The process and its run."""

    namespace: str
    name: str
    run_id: str
    owner: str | None = None
    description: str | None = None
    parent: ParentRun | None = None
    parameters: Mapping[str, str] = {}
    steps: Sequence[dict[str, Any]] = ()
    #: What exactly each output is made from: nothing else is inferred from what the run reads and writes.
    flows: "Sequence[OutputLineage]" = ()


class OutputLineage(NamedTuple):
    """What an output is made from, down to columns as far as these are known."""

    target: DatasetLocation
    sources: Sequence[DatasetLocation]
    columns: QueryLineage | None = None
    #: The datasets by the names that the columns' views have.
    views: Mapping[str, DatasetLocation] = {}


class ReadDataset(NamedTuple):
    """An input, and which version of it."""

    address: DatasetLocation
    version: str | None
    columns: Mapping[str, str]


class WrittenDataset(NamedTuple):
    """An output, as far as it is known yet."""

    address: DatasetLocation
    #: What its version is called; None where the system itself says so.
    version: str | None
    key: str
    path: str | None
    columns: Mapping[str, str] = {}
    partitions: Sequence[str] = ()
    rows: int | None = None
    bytes: int | None = None
    files: int | None = None
    flow: OutputLineage | None = None
    outcomes: Sequence[CheckOutcome] = ()
    profile: Mapping[str, Mapping[str, Any]] = {}


def run_event(
    state: State,
    who: RunContext,
    at: datetime,
    reads: Sequence[ReadDataset],
    writes: Sequence[WrittenDataset],
    error: str | None = None,
) -> bytes:
    """Write an event of a run."""
    run: dict[str, Any] = {}
    if who.parent is not None:
        of = parent_run
        up = who.parent
        run["parent"] = of.ParentRunFacet(of.Run(up.run_id), of.Job(up.namespace, up.name))
    if who.parameters:
        run["lineageBridge_parameters"] = _ParametersFacet(dict(who.parameters))
    if error is not None:
        run["errorMessage"] = error_message_run.ErrorMessageRunFacet(error, "PYTHON")
    event = ol.RunEvent(
        eventTime=at.isoformat(),
        eventType=ol.RunState[state],
        run=ol.Run(who.run_id, run),
        job=ol.Job(who.namespace, who.name, _job_facets(who)),
        inputs=[_read(one) for one in reads],
        outputs=[_written(one) for one in writes],
        producer=PRODUCER,
    )
    return Serde.to_json(event).encode()


def job_event(
    who: RunContext, at: datetime, reads: Sequence[DatasetLocation], writes: Sequence[DatasetLocation]
) -> bytes:
    """Write what a process is declared to read and write."""
    event = ol.JobEvent(
        eventTime=at.isoformat(),
        job=ol.Job(who.namespace, who.name, _job_facets(who)),
        inputs=[ol.InputDataset(one.namespace, one.name) for one in reads],
        outputs=[ol.OutputDataset(one.namespace, one.name) for one in writes],
        producer=PRODUCER,
    )
    return Serde.to_json(event).encode()


def version_event(read: ReadDataset, at: datetime, rows: int | None, path: str) -> bytes:
    """Write that a version of a dataset was found, with nobody known to have written it."""
    facets: dict[str, Any] = {**_facets(read.version, read.columns), "lineageBridge_path": _PathFacet(path)}
    if rows is not None:
        facets["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rows)
    dataset = ol.StaticDataset(read.address.namespace, read.address.name, facets=facets)
    return Serde.to_json(ol.DatasetEvent(eventTime=at.isoformat(), dataset=dataset, producer=PRODUCER)).encode()


def _job_facets(who: RunContext) -> dict[str, Any]:
    facets: dict[str, Any] = {"jobType": job_type_job.JobTypeJobFacet("BATCH", "LINEAGE_BRIDGE", "PROCESS")}
    if who.owner:
        facets["ownership"] = ownership_job.OwnershipJobFacet([ownership_job.Owner(who.owner)])
    if who.description:
        facets["documentation"] = documentation_job.DocumentationJobFacet(who.description)
    if who.steps:
        facets["lineageBridge_steps"] = _StepsFacet(list(who.steps))
    if who.flows:
        facets["lineage"] = lineage.LineageJobFacet([_flow(one) for one in who.flows])
    return facets


def _flow(flow: OutputLineage) -> lineage.LineageEntry:
    named = [_source(one) for one in flow.sources]
    fields: dict[str, lineage.LineageFieldEntry] = {}
    if flow.columns is not None:
        named += _columns(flow.columns.dataset_level, flow.views)
        fields = {
            name: lineage.LineageFieldEntry(_columns(found, flow.views))
            for name, found in flow.columns.columns.items()
            if found
        }
    return lineage.LineageDatasetEntry(flow.target.namespace, flow.target.name, "DATASET", named, fields)


def _source(
    one: DatasetLocation, column: str | None = None, how: list[lineage.LineageTransformation] | None = None
) -> lineage.LineageInput:
    return lineage.LineageDatasetInput(one.namespace, one.name, "DATASET", column, how or [])


def _columns(found: Sequence[ColumnSource], views: Mapping[str, DatasetLocation]) -> list[lineage.LineageInput]:
    return [
        _source(
            views[one.view],
            one.column,
            [lineage.LineageTransformation(one.type, one.subtype, masking=one.masking)],
        )
        for one in found
        if one.view in views
    ]


def _facets(version: str | None, columns: Mapping[str, str]) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if version is not None:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(version)
    if columns:
        fields = [schema_dataset.SchemaDatasetFacetFields(name, kind) for name, kind in columns.items()]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields)
    return facets


def _read(one: ReadDataset) -> ol.InputDataset:
    return ol.InputDataset(one.address.namespace, one.address.name, facets=_facets(one.version, one.columns))


def _written(one: WrittenDataset) -> ol.OutputDataset:
    facets = _facets(one.version, one.columns)
    if one.path is not None:
        facets["lineageBridge_path"] = _PathFacet(one.path)
    if one.flow is not None and one.flow.columns is not None and one.flow.columns.columns:
        facets["columnLineage"] = _lineage(one.flow.columns, one.flow.views)
    if one.outcomes:
        facets["dataQualityAssertions"] = _assertions(one.outcomes)
    output: dict[str, Any] = {IDEMPOTENCY_KEY_FACET: _KeyFacet(one.key)}
    if one.rows is not None:
        statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
        output["outputStatistics"] = statistics(one.rows, one.bytes, one.files)
    if one.partitions:
        output["subset"] = _SubsetFacet({"type": "location", "locations": list(one.partitions)})
    if one.profile:
        metrics = data_quality_metrics_input_dataset
        columns = {name: metrics.ColumnMetrics(**found) for name, found in one.profile.items()}
        output["dataQualityMetrics"] = metrics.DataQualityMetricsInputDatasetFacet(
            columns, one.rows, one.bytes, one.files
        )
    return ol.OutputDataset(one.address.namespace, one.address.name, facets=facets, outputFacets=output)


def _lineage(traced: QueryLineage, sources: Mapping[str, DatasetLocation]) -> DatasetFacet:
    of = column_lineage_dataset
    fields = {name: of.Fields(_elements(found, sources)) for name, found in traced.columns.items() if found}
    return of.ColumnLineageDatasetFacet(fields, _elements(traced.dataset_level, sources))


def _elements(
    found: Sequence[ColumnSource], sources: Mapping[str, DatasetLocation]
) -> list[column_lineage_dataset.InputField]:
    of = column_lineage_dataset
    gathered: dict[tuple[str, str], list[column_lineage_dataset.Transformation]] = {}
    for one in found:
        transformation = of.Transformation(one.type, one.subtype, "", one.masking)
        gathered.setdefault((one.view, one.column), []).append(transformation)
    return [
        of.InputField(sources[view].namespace, sources[view].name, column, how)
        for (view, column), how in gathered.items()
        if view in sources
    ]


def _assertions(outcomes: Sequence[CheckOutcome]) -> InputDatasetFacet:
    of = data_quality_assertions_dataset
    return of.DataQualityAssertionsDatasetFacet(
        [
            of.Assertion(
                assertion=one.check.check,
                success=one.passed,
                column=one.check.column,
                severity="warn" if one.check.severity == "warn" else "error",
                name=one.check.name,
                expected=_text(one.check.expected_values()),
                actual=None if one.actual is None else str(one.actual),
            )
            for one in outcomes
        ]
    )


def _text(expected: Mapping[str, Any]) -> str | None:
    return ", ".join(f"{key}: {value}" for key, value in expected.items()) or None
