"""Maps the datasets of an event: inputs, outputs, declared datasets, and the dataset of a DatasetEvent."""

from msgspec import Struct

from mappers.canonical.identity import NO_ID, digest
from mappers.canonical.rank import Rank, register_order
from mappers.canonical.rows import (
    DatasetRow,
    DatasetSuccessionRow,
    DatasetSymlinkRow,
    RunInputRow,
    RunLineageRow,
    RunOutputRow,
)
from mappers.openlineage import facets as facet_types
from mappers.openlineage.column_lineage import map_column_lineage, read_column_lineage_facet, source_datasets
from mappers.openlineage.explicit_lineage import DeclaringFacet, LineageOrigin, map_dataset_lineage
from mappers.openlineage.facet_parser import ParsedDataset, ParsedFacet, facet_value
from mappers.openlineage.names import CanonicalEntity, canonical_dataset_name, repair_symlink
from mappers.openlineage.quality import map_assertions, map_expectations
from mappers.openlineage.registrations import map_registration
from mappers.openlineage.row_builder import DatasetContext, DatasetRole, RowBuilder
from mappers.openlineage.schemas import map_schema
from mappers.openlineage.versions import (
    IDEMPOTENCY_KEY_FACET,
    map_output_version,
    map_reported_version,
    statistics_columns,
    truncate_version,
    version_id,
)

#: Facets whose content is stored in columns, by role; they are stored raw only if they cannot be parsed.
_FACETS_IN_COLUMNS = {
    DatasetRole.INPUT: ("schema", "symlinks", "version"),
    DatasetRole.OUTPUT: ("schema", "symlinks", "version", "lifecycleStateChange", "columnLineage"),
    DatasetRole.DECLARED: ("schema", "symlinks", "columnLineage"),
    DatasetRole.DATASET_EVENT: ("schema", "symlinks", "version", "lifecycleStateChange", "columnLineage", "lineage"),
}
_CHANGES_WITHOUT_VERSION = frozenset({"DROP", "RENAME", "ALTER"})
_CHANGES_WITHOUT_EDGE = frozenset({"DROP", "RENAME"})


def map_dataset(builder: RowBuilder, dataset: ParsedDataset, context: DatasetContext) -> CanonicalEntity:
    """Add all rows about a dataset of an event."""
    entity = canonical_dataset_name(builder.org, dataset.namespace, dataset.name)
    role = context.role
    builder.add_namespace(entity)
    lifecycle = None
    if role in (DatasetRole.OUTPUT, DatasetRole.DATASET_EVENT):
        lifecycle_facet = dataset.facets.get("lifecycleStateChange")
        lifecycle = facet_value(lifecycle_facet, facet_types.LifecycleStateChangeFacet, builder.notes)
    change = lifecycle.lifecycleStateChange.upper() if lifecycle else None
    builder.rows.append(_dataset_row(builder, entity, dataset, role.rank, change))
    if lifecycle and change == "RENAME":
        _map_succession(builder, lifecycle, entity, context)
    _map_symlinks(builder, dataset, entity)
    schema_hash = map_schema(builder, dataset, entity, role.rank)
    builder.add_facets(
        entity.id,
        dataset.facets,
        role.rank,
        stored_in_columns=_parsed_facet_names(dataset.facets, _FACETS_IN_COLUMNS[role]),
    )
    if role is DatasetRole.INPUT:
        _map_input(builder, dataset, entity, context)
    elif role is DatasetRole.OUTPUT:
        _map_output(builder, dataset, entity, context, change)
        if change not in _CHANGES_WITHOUT_VERSION:
            map_output_version(builder, dataset, entity, context, schema_hash)
    elif role is DatasetRole.DATASET_EVENT:
        map_reported_version(builder, dataset, entity)
        map_registration(builder, dataset, entity)
    has_explicit_lineage = role is DatasetRole.DATASET_EVENT and _map_explicit_lineage(builder, dataset, entity)
    if not has_explicit_lineage:
        _map_column_lineage_facet(builder, dataset, entity, context)
    _map_quality(builder, dataset, entity, context)
    return entity


def _parsed_facet_names(facets: dict[str, ParsedFacet], names: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the facets that could be parsed and need not be stored raw."""
    return frozenset(name for name in names if name in facets and isinstance(facets[name].value, Struct))


def _dataset_row(
    builder: RowBuilder, entity: CanonicalEntity, dataset: ParsedDataset, rank: Rank, change: str | None
) -> DatasetRow:
    """Build the row of a dataset with the columns that its facets set."""
    facets = dataset.facets
    columns = builder.documentation_and_owner_columns(facets, rank)
    if (storage := builder.asserted_facet(facets.get("storage"), facet_types.StorageFacet, rank)) is not None:
        order, storage_facet = storage
        columns |= {"storage_order": order, "default_format": storage_facet.fileFormat if storage_facet else None}
    if change == "DROP":
        columns["retired_at"] = builder.micros
    symlinks = facets.get("symlinks")
    if symlinks is not None and symlinks.body is None:
        columns["symlinks_deleted_at"] = builder.micros
    return builder.dataset_row(entity, **columns)


def _map_succession(
    builder: RowBuilder,
    lifecycle: facet_types.LifecycleStateChangeFacet,
    target: CanonicalEntity,
    context: DatasetContext,
) -> None:
    """Retire the previous name of a renamed dataset, and record its successor."""
    previous_identifier = lifecycle.previousIdentifier
    if previous_identifier is None:
        builder.notes.append("RENAME without previousIdentifier: no dataset to retire")
        return
    source = builder.reference_dataset(previous_identifier.namespace, previous_identifier.name)
    if source.id != target.id:
        builder.rows.append(builder.dataset_row(source, retired_at=builder.micros))
        builder.rows.append(DatasetSuccessionRow(builder.org, source.id, target.id, context.run_id, builder.micros))


def _map_symlinks(builder: RowBuilder, dataset: ParsedDataset, entity: CanonicalEntity) -> None:
    """Map the other names of a dataset."""
    symlinks = facet_value(dataset.facets.get("symlinks"), facet_types.SymlinksFacet, builder.notes)
    identifiers = symlinks.identifiers if symlinks else None
    for identifier in identifiers or ():
        if not identifier.namespace or not identifier.name:
            builder.notes.append("symlink without namespace or name: ignored")
            continue
        alias = builder.reference_dataset(repair_symlink(identifier.namespace, identifier.name), identifier.name)
        if alias.id != entity.id:
            identifier_type = builder.bounded_key(identifier.type.upper(), "symlink type")
            builder.rows.append(DatasetSymlinkRow(builder.org, entity.id, alias.id, identifier_type, builder.micros))


def _map_input(builder: RowBuilder, dataset: ParsedDataset, entity: CanonicalEntity, context: DatasetContext) -> None:
    """Map an input of a run, with its edge and its facets."""
    columns = statistics_columns(builder, dataset.input_facets.get("inputStatistics"))
    version = facet_value(dataset.facets.get("version"), facet_types.DatasetVersionFacet, builder.notes)
    if version:
        tag = version.datasetVersion
        columns |= {
            "version_order": builder.assertion_order(0, digest(tag.encode())),
            "version": truncate_version(builder, tag),
        }
    builder.rows.append(
        RunInputRow(builder.org, context.run_id, entity.id, context.job_id, builder.micros, builder.micros, **columns)
    )
    builder.add_edge("CONSUMES", ("dataset", entity.id), ("job", context.job_id), context.job_id, "explicit")
    builder.add_facets(
        context.run_id,
        dataset.input_facets,
        Rank.INPUT,
        about_id=entity.id,
        prefix="input:",
        stored_in_columns=_parsed_facet_names(dataset.input_facets, ("inputStatistics",)),
    )


def _map_output(
    builder: RowBuilder, dataset: ParsedDataset, entity: CanonicalEntity, context: DatasetContext, change: str | None
) -> None:
    """Map an output of a run, with its edge and its facets."""
    dropped_at = builder.micros if change == "DROP" else None
    change_order = builder.assertion_order(0, digest(change.encode())) if change else None
    builder.rows.append(
        RunOutputRow(
            builder.org,
            context.run_id,
            entity.id,
            context.job_id,
            builder.micros,
            builder.micros,
            dropped_at,
            change_order,
            change,
        )
    )
    if change not in _CHANGES_WITHOUT_EDGE:
        builder.add_edge("PRODUCES", ("job", context.job_id), ("dataset", entity.id), context.job_id, "explicit")
    parsed_facets = _parsed_facet_names(dataset.output_facets, ("outputStatistics", IDEMPOTENCY_KEY_FACET))
    builder.add_facets(
        context.run_id,
        dataset.output_facets,
        Rank.OUTPUT,
        about_id=entity.id,
        prefix="output:",
        stored_in_columns=parsed_facets | {"subset"},
    )


def _map_explicit_lineage(builder: RowBuilder, dataset: ParsedDataset, target: CanonicalEntity) -> bool:
    """Map the explicit lineage of a dataset, which supersedes column lineage; returns False if there is none."""
    lineage = facet_value(dataset.facets.get("lineage"), facet_types.LineageFacet, builder.notes)
    if lineage is None:
        return False
    declared_order = register_order(DeclaringFacet.LINEAGE, builder.micros, builder.event_hash)
    builder.rows.append(builder.dataset_row(target, declared_lineage=declared_order))
    map_dataset_lineage(
        builder, lineage, target, LineageOrigin(run_id=NO_ID, job=None, declared_order=declared_order)
    )
    return True


def _map_column_lineage_facet(
    builder: RowBuilder, dataset: ParsedDataset, target: CanonicalEntity, context: DatasetContext
) -> None:
    """Map a columnLineage facet to its lineage set and to edges from the source datasets."""
    facet = dataset.facets.get("columnLineage")
    if facet is None or context.role is DatasetRole.INPUT:
        return
    entries = read_column_lineage_facet(facet, builder.notes)
    if entries is None:
        return
    # Declared edges apply until the next declaration: of the job, or of the dataset itself.
    declared_io = builder.event_order if context.role is DatasetRole.DECLARED else None
    declared_lineage = None
    if context.role is DatasetRole.DATASET_EVENT:
        declared_lineage = register_order(DeclaringFacet.COLUMNS, builder.micros, builder.event_hash)
        builder.rows.append(builder.dataset_row(target, declared_lineage=declared_lineage))
    set_id = map_column_lineage(builder, entries, context.job_id, context.run_id, target.id)
    asserted_content = set_id if context.role is DatasetRole.OUTPUT else builder.event_hash
    order = builder.assertion_order(DeclaringFacet.COLUMNS, asserted_content)
    builder.rows.append(
        RunLineageRow(
            builder.org, target.id, context.job_id, context.run_id,
            explicit=False, columns_order=order, columns_set=set_id,
        )
    )  # fmt: skip
    evidence = "declared" if declared_io or declared_lineage else "column"
    for namespace, name in source_datasets(entries):
        builder.add_edge(
            "DERIVES",
            ("dataset", builder.reference_dataset(namespace, name).id),
            ("dataset", target.id),
            context.job_id,
            evidence,
            declared_io=declared_io,
            declared_lineage=declared_lineage,
        )


def _map_quality(
    builder: RowBuilder, dataset: ParsedDataset, entity: CanonicalEntity, context: DatasetContext
) -> None:
    """Map the results of checks, and the checks that a steward expects."""
    output_version_id = version_id(entity.id, context.run_id) if context.role is DatasetRole.OUTPUT else None
    for facets in (dataset.facets, dataset.input_facets):
        assertions = facet_value(facets.get("dataQualityAssertions"), facet_types.AssertionsFacet, builder.notes)
        if assertions:
            map_assertions(builder, assertions, entity.id, context.run_id, output_version_id)
    expectations = facet_value(
        dataset.facets.get("lineageBridge_expectations"), facet_types.ExpectationsFacet, builder.notes
    )
    if expectations:
        map_expectations(builder, expectations, entity.id)
