"""Maps one event to canonical rows."""

from fnmatch import fnmatchcase
from typing import NamedTuple

from mappers.cache import bounded_lru_cache
from mappers.canonical.identity import NO_ID
from mappers.canonical.merge import Row
from mappers.canonical.rank import Rank, register_order
from mappers.canonical.rows import JobRow
from mappers.errors import RowLimitExceeded
from mappers.openlineage import facets as facet_types
from mappers.openlineage.datasets import map_dataset
from mappers.openlineage.event import Event
from mappers.openlineage.explicit_lineage import DeclaringFacet, LineageOrigin, map_job_lineage
from mappers.openlineage.facet_parser import facet_value
from mappers.openlineage.names import CanonicalEntity, canonical_job_name
from mappers.openlineage.row_builder import DatasetContext, DatasetRole, MappingOptions, RowBuilder
from mappers.openlineage.runs import map_boxes, map_dependencies, map_run


class MappedEvent(NamedTuple):
    """The rows of an event, and notes on the assumptions made."""

    rows: list[Row]
    notes: list[str]


def map_event(event: Event, options: MappingOptions) -> MappedEvent:
    """Map an event to rows; an event of an ignored job has none. Raises RowLimitExceeded if it exceeds the limit."""
    if event.job is not None:
        _, job_name = event.job
        if _is_ignored(job_name, options.ignored_jobs):
            return MappedEvent([], [*event.notes, "events of this job are ignored (intake.ignored_jobs)"])
    builder = RowBuilder(event, options)
    if event.dataset is not None:
        map_dataset(
            builder, event.dataset, DatasetContext(DatasetRole.DATASET_EVENT, run_id=NO_ID, run_uuid="", job_id=NO_ID)
        )
    elif event.job is not None:
        job = canonical_job_name(options.org, *event.job)
        builder.add_namespace(job)
        if event.run_uuid is None:
            _map_job_event(builder, event, job)
        else:
            _map_run_event(builder, event, job, event.run_uuid)
    if len(builder.rows) > options.max_rows:
        raise RowLimitExceeded(
            f"the event maps to {len(builder.rows)} rows, and the limit is {options.max_rows}: raise intake.max_rows,"
            " then run `lineage-bridge rejected retry`"
        )
    return MappedEvent(builder.rows, list(dict.fromkeys(builder.notes)))


@bounded_lru_cache(4_096)
def _is_ignored(job_name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(job_name, pattern) for pattern in patterns)


def _map_run_event(builder: RowBuilder, event: Event, job: CanonicalEntity, run_uuid: str) -> None:
    """Map a RunEvent: its job, its run, and the datasets that the run read or wrote."""
    builder.rows.append(_job_row(builder, event, job, Rank.OUTPUT))
    lineage = facet_value(event.job_facets.get("lineage"), facet_types.LineageFacet, builder.notes)
    run_id = map_run(builder, event, job, explicit=lineage is not None)
    _map_job_facets(builder, event, job, Rank.OUTPUT)
    for role, datasets in ((DatasetRole.INPUT, event.inputs), (DatasetRole.OUTPUT, event.outputs)):
        context = DatasetContext(role, run_id, run_uuid, job.id)
        for dataset in datasets:
            map_dataset(builder, dataset, context)
    if lineage:
        map_job_lineage(builder, lineage, LineageOrigin(run_id, job, declared_order=None))


def _map_job_event(builder: RowBuilder, event: Event, job: CanonicalEntity) -> None:
    """Map a JobEvent, which declares a job with its inputs, outputs and lineage."""
    row = _job_row(builder, event, job, Rank.JOB_EVENT)
    if event.inputs or event.outputs:
        row = row._replace(declared_io=builder.event_order)
    lineage = facet_value(event.job_facets.get("lineage"), facet_types.LineageFacet, builder.notes)
    if lineage:
        row = row._replace(
            declared_lineage=register_order(DeclaringFacet.LINEAGE, builder.micros, builder.event_hash)
        )
    builder.rows.append(row)
    _map_job_facets(builder, event, job, Rank.JOB_EVENT, row.declared_lineage)
    context = DatasetContext(DatasetRole.DECLARED, run_id=NO_ID, run_uuid="", job_id=job.id)
    job_node = ("job", job.id)
    for dataset in event.inputs:
        dataset_node = ("dataset", map_dataset(builder, dataset, context).id)
        builder.add_edge("CONSUMES", dataset_node, job_node, job.id, "declared", declared_io=builder.event_order)
    for dataset in event.outputs:
        dataset_node = ("dataset", map_dataset(builder, dataset, context).id)
        builder.add_edge("PRODUCES", job_node, dataset_node, job.id, "declared", declared_io=builder.event_order)
    if lineage:
        map_job_lineage(builder, lineage, LineageOrigin(run_id=NO_ID, job=job, declared_order=row.declared_lineage))


def _map_job_facets(
    builder: RowBuilder, event: Event, job: CanonicalEntity, rank: int, declared_lineage: bytes | None = None
) -> None:
    builder.add_facets(job.id, event.job_facets, rank)
    map_dependencies(builder, event.job_facets.get("lineageBridge_jobDependencies"), job, declared_lineage)
    map_boxes(builder, event.job_facets.get("lineageBridge_boxes"), job)


def _job_row(builder: RowBuilder, event: Event, job: CanonicalEntity, rank: int) -> JobRow:
    """Build the row of a job with the columns that its facets set."""
    facets = event.job_facets
    columns = builder.documentation_and_owner_columns(facets, rank)
    if (type_assertion := builder.asserted_facet(facets.get("jobType"), facet_types.JobTypeFacet, rank)) is not None:
        order, type_facet = type_assertion
        pattern = type_facet.emissionPattern if type_facet else None
        columns |= {
            "type_order": order,
            "job_type": type_facet.jobType if type_facet else None,
            "processing_type": type_facet.processingType if type_facet else None,
            "integration": type_facet.integration if type_facet else None,
            "emits_snapshots": bool(pattern and pattern.eventContentMode == "COMPLETE_SNAPSHOT"),
        }
    return builder.job_row(job, **columns)
