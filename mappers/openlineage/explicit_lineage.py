"""Maps the `lineage` facet; its entries replace inferred edges."""

from enum import IntEnum
from typing import NamedTuple

from mappers.canonical.identity import NO_ID
from mappers.canonical.rows import RunExplicitLineageRow, RunLineageRow
from mappers.openlineage.column_lineage import map_column_lineage, read_lineage_entry, source_datasets
from mappers.openlineage.facets import LineageEntry, LineageFacet, LineageField, LineageSource
from mappers.openlineage.names import CanonicalEntity
from mappers.openlineage.row_builder import RowBuilder


class DeclaringFacet(IntEnum):
    """The facet that declares lineage; `lineage` supersedes `columnLineage`."""

    COLUMNS = 1
    LINEAGE = 2


class LineageOrigin(NamedTuple):
    """The origin of lineage: a run of a job, or the declaration of a job or dataset."""

    run_id: bytes
    job: CanonicalEntity | None
    #: Order of the declaration, or None for a run.
    declared_order: bytes | None

    @property
    def job_id(self) -> bytes:
        return self.job.id if self.job else NO_ID

    @property
    def evidence(self) -> str:
        """Evidence of the edges: `explicit` if a run reported them, `declared` if a definition declared them."""
        return "declared" if self.declared_order else "explicit"


def map_job_lineage(builder: RowBuilder, facet: LineageFacet, origin: LineageOrigin) -> None:
    """Map the lineage facet of a job or of its run; each entry has its own target."""
    for entry in [*(facet.entries or ()), *(facet.lineage or ())]:
        if entry.type.upper() == "JOB":
            _map_job_target(builder, entry, origin)
        elif entry.namespace and entry.name:
            target = builder.reference_dataset(entry.namespace, entry.name)
            _map_dataset_target(builder, target, entry.inputs or [], entry.fields or {}, origin)
        else:
            builder.notes.append("lineage entry without dataset name: ignored")


def map_dataset_lineage(
    builder: RowBuilder, facet: LineageFacet, target: CanonicalEntity, origin: LineageOrigin
) -> None:
    """Map the lineage facet of a dataset, which is its own target."""
    _map_dataset_target(builder, target, facet.inputs or [], facet.fields or {}, origin)


def _map_dataset_target(
    builder: RowBuilder,
    target: CanonicalEntity,
    inputs: list[LineageSource],
    fields: dict[str, LineageField],
    origin: LineageOrigin,
) -> None:
    """Add the edges and the column lineage of a target dataset."""
    entries = read_lineage_entry(fields, inputs)
    sources = [*inputs, *(source for field in fields.values() for source in field.inputs)]
    dataset_names = set(source_datasets(entries))
    for source in sources:
        if (dataset_name := _dataset_name(source)) is not None:
            dataset_names.add(dataset_name)
    for namespace, name in sorted(dataset_names):
        source_dataset = builder.reference_dataset(namespace, name)
        _add_edge(builder, "DERIVES", ("dataset", source_dataset.id), ("dataset", target.id), origin)
    for source in sources:
        if (job_id := _source_job_id(builder, source, origin)) is not None:
            _add_edge(builder, "PRODUCES", ("job", job_id), ("dataset", target.id), origin)
    set_id = map_column_lineage(builder, entries, origin.job_id, origin.run_id, target.id)
    if origin.declared_order is None:
        builder.rows.append(RunLineageRow(builder.org, target.id, origin.job_id, origin.run_id, explicit=True))
        builder.rows.append(RunExplicitLineageRow(builder.org, target.id, origin.job_id, origin.run_id, set_id))
    else:
        builder.rows.append(
            RunLineageRow(
                builder.org, target.id, origin.job_id, NO_ID,
                explicit=False, columns_order=origin.declared_order, columns_set=set_id,
            )
        )  # fmt: skip


def _map_job_target(builder: RowBuilder, entry: LineageEntry, origin: LineageOrigin) -> None:
    """Add the edges to a target job; a target without a name is the job that asserts the lineage."""
    target_id = origin.job_id
    if entry.namespace and entry.name:
        target_id = builder.reference_job(entry.namespace, entry.name).id
    for source in entry.inputs or ():
        if (dataset_name := _dataset_name(source)) is not None:
            source_dataset = builder.reference_dataset(*dataset_name)
            _add_edge(builder, "CONSUMES", ("dataset", source_dataset.id), ("job", target_id), origin)
        elif (job_id := _source_job_id(builder, source, origin)) is not None:
            _add_edge(builder, "DERIVES", ("job", job_id), ("job", target_id), origin)


def _dataset_name(source: LineageSource) -> tuple[str, str] | None:
    if source.type.upper() == "DATASET" and source.namespace and source.name:
        return source.namespace, source.name
    return None


def _source_job_id(builder: RowBuilder, source: LineageSource, origin: LineageOrigin) -> bytes | None:
    if source.type.upper() != "JOB":
        return None
    if source.namespace and source.name:
        return builder.reference_job(source.namespace, source.name).id
    return origin.job.id if origin.job else None


def _add_edge(
    builder: RowBuilder, role: str, source: tuple[str, bytes], target: tuple[str, bytes], origin: LineageOrigin
) -> None:
    builder.add_edge(role, source, target, origin.job_id, origin.evidence, declared_lineage=origin.declared_order)
