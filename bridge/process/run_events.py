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
    """The run that started another run."""

    namespace: str
    name: str
    run_id: str


class RunContext(NamedTuple):
    """What the events of a run contain about the run and its process."""

    namespace: str
    name: str
    run_id: str
    owner: str | None = None
    description: str | None = None
    parent: ParentRun | None = None
    parameters: Mapping[str, str] = {}
    steps: Sequence[dict[str, Any]] = ()
    #: Exact lineage of each output; nothing is inferred from the inputs and outputs of the run.
    output_lineage: "Sequence[OutputLineage]" = ()


class OutputLineage(NamedTuple):
    """Sources of an output, and its column lineage if known."""

    target: DatasetLocation
    sources: Sequence[DatasetLocation]
    columns: QueryLineage | None = None
    #: Datasets by view name.
    views: Mapping[str, DatasetLocation] = {}


class ReadDataset(NamedTuple):
    """An input and its version."""

    location: DatasetLocation
    version: str | None
    columns: Mapping[str, str]


class WrittenDataset(NamedTuple):
    """An output. Unknown values are omitted."""

    location: DatasetLocation
    #: Version tag, or None if the table format reports the version.
    version: str | None
    key: str
    path: str | None
    columns: Mapping[str, str] = {}
    partitions: Sequence[str] = ()
    rows: int | None = None
    bytes: int | None = None
    files: int | None = None
    lineage: OutputLineage | None = None
    outcomes: Sequence[CheckOutcome] = ()
    profile: Mapping[str, Mapping[str, Any]] = {}


def run_event(
    state: State,
    context: RunContext,
    at: datetime,
    inputs: Sequence[ReadDataset],
    outputs: Sequence[WrittenDataset],
    error: str | None = None,
) -> bytes:
    """Build the JSON of a run event."""
    run_facets: dict[str, Any] = {}
    if context.parent is not None:
        parent = context.parent
        run_facets["parent"] = parent_run.ParentRunFacet(
            parent_run.Run(parent.run_id), parent_run.Job(parent.namespace, parent.name)
        )
    if context.parameters:
        run_facets["lineageBridge_parameters"] = _ParametersFacet(dict(context.parameters))
    if error is not None:
        run_facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(error, "PYTHON")
    event = ol.RunEvent(
        eventTime=at.isoformat(),
        eventType=ol.RunState[state],
        run=ol.Run(context.run_id, run_facets),
        job=ol.Job(context.namespace, context.name, _job_facets(context)),
        inputs=[_input_dataset(dataset) for dataset in inputs],
        outputs=[_output_dataset(dataset) for dataset in outputs],
        producer=PRODUCER,
    )
    return Serde.to_json(event).encode()


def check_results_event(
    job: tuple[str, str], run_id: str, at: datetime, location: DatasetLocation, outcomes: Sequence[CheckOutcome]
) -> bytes:
    """Build the JSON of a run event that adds check results to the version that an earlier run wrote."""
    facets: dict[str, Any] = {"dataQualityAssertions": _assertions_facet(outcomes)}
    event = ol.RunEvent(
        eventTime=at.isoformat(),
        eventType=ol.RunState.OTHER,
        run=ol.Run(run_id),
        job=ol.Job(*job),
        outputs=[ol.OutputDataset(location.namespace, location.name, facets=facets)],
        producer=PRODUCER,
    )
    return Serde.to_json(event).encode()


def job_event(
    context: RunContext, at: datetime, inputs: Sequence[DatasetLocation], outputs: Sequence[DatasetLocation]
) -> bytes:
    """Build the JSON of a job event with the declared inputs and outputs."""
    event = ol.JobEvent(
        eventTime=at.isoformat(),
        job=ol.Job(context.namespace, context.name, _job_facets(context)),
        inputs=[ol.InputDataset(dataset.namespace, dataset.name) for dataset in inputs],
        outputs=[ol.OutputDataset(dataset.namespace, dataset.name) for dataset in outputs],
        producer=PRODUCER,
    )
    return Serde.to_json(event).encode()


def version_event(dataset: ReadDataset, at: datetime, rows: int | None, path: str) -> bytes:
    """Build the JSON of a dataset event for a version without a known writer."""
    facets = _dataset_facets(dataset.version, dataset.columns)
    facets["lineageBridge_path"] = _PathFacet(path)
    if rows is not None:
        facets["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rows)
    static_dataset = ol.StaticDataset(dataset.location.namespace, dataset.location.name, facets=facets)
    event = ol.DatasetEvent(eventTime=at.isoformat(), dataset=static_dataset, producer=PRODUCER)
    return Serde.to_json(event).encode()


def _job_facets(context: RunContext) -> dict[str, Any]:
    facets: dict[str, Any] = {"jobType": job_type_job.JobTypeJobFacet("BATCH", "LINEAGE_BRIDGE", "PROCESS")}
    if context.owner:
        facets["ownership"] = ownership_job.OwnershipJobFacet([ownership_job.Owner(context.owner)])
    if context.description:
        facets["documentation"] = documentation_job.DocumentationJobFacet(context.description)
    if context.steps:
        facets["lineageBridge_steps"] = _StepsFacet(list(context.steps))
    if context.output_lineage:
        facets["lineage"] = lineage.LineageJobFacet([_lineage_entry(entry) for entry in context.output_lineage])
    return facets


def _lineage_entry(output_lineage: OutputLineage) -> lineage.LineageEntry:
    """Build the entry of an output in the lineage facet."""
    sources = [_lineage_input(dataset) for dataset in output_lineage.sources]
    fields: dict[str, lineage.LineageFieldEntry] = {}
    if output_lineage.columns is not None:
        sources += _lineage_inputs(output_lineage.columns.dataset_level, output_lineage.views)
        fields = {
            name: lineage.LineageFieldEntry(_lineage_inputs(column_sources, output_lineage.views))
            for name, column_sources in output_lineage.columns.columns.items()
            if column_sources
        }
    return lineage.LineageDatasetEntry(
        output_lineage.target.namespace, output_lineage.target.name, "DATASET", sources, fields
    )


def _lineage_input(
    dataset: DatasetLocation,
    column: str | None = None,
    transformations: list[lineage.LineageTransformation] | None = None,
) -> lineage.LineageInput:
    return lineage.LineageDatasetInput(dataset.namespace, dataset.name, "DATASET", column, transformations or [])


def _lineage_inputs(
    column_sources: Sequence[ColumnSource], views: Mapping[str, DatasetLocation]
) -> list[lineage.LineageInput]:
    """Convert column sources for the lineage facet. Views without a dataset are left out."""
    return [
        _lineage_input(
            views[source.view],
            source.column,
            [lineage.LineageTransformation(source.type, source.subtype, masking=source.masking)],
        )
        for source in column_sources
        if source.view in views
    ]


def _dataset_facets(version: str | None, columns: Mapping[str, str]) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if version is not None:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(version)
    if columns:
        fields = [schema_dataset.SchemaDatasetFacetFields(name, type_) for name, type_ in columns.items()]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields)
    return facets


def _input_dataset(dataset: ReadDataset) -> ol.InputDataset:
    return ol.InputDataset(
        dataset.location.namespace, dataset.location.name, facets=_dataset_facets(dataset.version, dataset.columns)
    )


def _output_dataset(dataset: WrittenDataset) -> ol.OutputDataset:
    facets = _dataset_facets(dataset.version, dataset.columns)
    if dataset.path is not None:
        facets["lineageBridge_path"] = _PathFacet(dataset.path)
    if dataset.lineage is not None and dataset.lineage.columns is not None and dataset.lineage.columns.columns:
        facets["columnLineage"] = _column_lineage_facet(dataset.lineage.columns, dataset.lineage.views)
    if dataset.outcomes:
        facets["dataQualityAssertions"] = _assertions_facet(dataset.outcomes)
    output_facets: dict[str, Any] = {IDEMPOTENCY_KEY_FACET: _KeyFacet(dataset.key)}
    if dataset.rows is not None:
        statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
        output_facets["outputStatistics"] = statistics(dataset.rows, dataset.bytes, dataset.files)
    if dataset.partitions:
        output_facets["subset"] = _SubsetFacet({"type": "location", "locations": list(dataset.partitions)})
    if dataset.profile:
        metrics = data_quality_metrics_input_dataset
        columns = {name: metrics.ColumnMetrics(**values) for name, values in dataset.profile.items()}
        output_facets["dataQualityMetrics"] = metrics.DataQualityMetricsInputDatasetFacet(
            columns, dataset.rows, dataset.bytes, dataset.files
        )
    return ol.OutputDataset(
        dataset.location.namespace, dataset.location.name, facets=facets, outputFacets=output_facets
    )


def _column_lineage_facet(query_lineage: QueryLineage, views: Mapping[str, DatasetLocation]) -> DatasetFacet:
    fields = {
        name: column_lineage_dataset.Fields(_input_fields(column_sources, views))
        for name, column_sources in query_lineage.columns.items()
        if column_sources
    }
    return column_lineage_dataset.ColumnLineageDatasetFacet(fields, _input_fields(query_lineage.dataset_level, views))


def _input_fields(
    column_sources: Sequence[ColumnSource], views: Mapping[str, DatasetLocation]
) -> list[column_lineage_dataset.InputField]:
    """Convert column sources for the facet columnLineage, which lists each source column once."""
    transformations: dict[tuple[str, str], list[column_lineage_dataset.Transformation]] = {}
    for source in column_sources:
        transformation = column_lineage_dataset.Transformation(source.type, source.subtype, "", source.masking)
        transformations.setdefault((source.view, source.column), []).append(transformation)
    return [
        column_lineage_dataset.InputField(views[view].namespace, views[view].name, column, column_transformations)
        for (view, column), column_transformations in transformations.items()
        if view in views
    ]


def _assertions_facet(outcomes: Sequence[CheckOutcome]) -> InputDatasetFacet:
    return data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
        [
            data_quality_assertions_dataset.Assertion(
                assertion=outcome.check.check,
                success=outcome.passed,
                column=outcome.check.column,
                severity="warn" if outcome.check.severity == "warn" else "error",
                name=outcome.check.name,
                expected=_format_expected(outcome.check.expected_values()),
                actual=None if outcome.actual is None else str(outcome.actual),
            )
            for outcome in outcomes
        ]
    )


def _format_expected(expected: Mapping[str, Any]) -> str | None:
    return ", ".join(f"{key}: {value}" for key, value in expected.items()) or None
