"""Maps dataset versions and their statistics."""

from typing import Any

from mappers.canonical.identity import NO_ID, composite_id, digest, name_based_id
from mappers.canonical.rank import Rank, register_order
from mappers.canonical.rows import DatasetVersionRow
from mappers.naming import storage_path
from mappers.openlineage import facets as f
from mappers.openlineage.facet_parser import ParsedDataset, ParsedFacet, facet_value, is_deleted
from mappers.openlineage.names import CanonicalName
from mappers.openlineage.row_builder import DatasetContext, RowBuilder

_INT64 = 1 << 63
#: Output facet with the idempotency key of the version.
IDEMPOTENCY_KEY_FACET = "lineageBridge_idempotencyKey"


def statistics_columns(builder: RowBuilder, facet: ParsedFacet | None) -> dict[str, Any]:
    """Columns that a statistics facet sets; none if it cannot be used."""
    statistics = facet_value(facet, f.StatisticsFacet, builder.notes)
    if is_deleted(facet):
        statistics = f.StatisticsFacet()
    if statistics is None or facet is None:
        return {}
    counts = (statistics.rowCount, statistics.size, statistics.fileCount)
    in_range = [count if count is None or -_INT64 <= count < _INT64 else None for count in counts]
    if list(counts) != in_range:
        builder.notes.append("a statistic exceeds 64 bits: ignored")
    rows, size, files = in_range
    order = builder.register_order(0, facet.digest)
    return {"statistics_order": order, "row_count": rows, "byte_count": size, "file_count": files}


def version_id(dataset: bytes, writer: bytes) -> bytes:
    """Id of the version that a run (or a DatasetEvent) wrote."""
    return composite_id(b"version", dataset, writer)


def map_output_version(
    builder: RowBuilder, dataset: ParsedDataset, name: CanonicalName, context: DatasetContext, schema: bytes | None
) -> None:
    """Map the version that a run wrote; without a version of its source system, its tag is the run UUID."""
    tag = register_order(Rank.MENTION, 0, NO_ID), context.run_uuid
    version = facet_value(dataset.facets.get("version"), f.DatasetVersionFacet, builder.notes)
    columns = statistics_columns(builder, dataset.output_facets.get("outputStatistics"))
    if schema:
        columns |= {"schema_order": builder.register_order(0, schema), "schema_hash": schema}
    subset = dataset.output_facets.get("subset")
    if subset is not None:
        columns |= {"subset_order": builder.register_order(0, subset.digest), "subset_json": subset.body}
    columns |= _reported_path(builder, dataset) | _idempotency_key(builder, dataset)
    if version:
        tag = _tag(builder, version)
    elif is_deleted(dataset.facets.get("version")):
        tag = builder.register_order(Rank.OUTPUT, NO_ID), context.run_uuid
    builder.rows.append(_version_row(builder, name, context.run, context.run, tag, **columns))


def map_reported_version(builder: RowBuilder, dataset: ParsedDataset, name: CanonicalName) -> None:
    """Map a version reported by a DatasetEvent, without a known writer."""
    version = facet_value(dataset.facets.get("version"), f.DatasetVersionFacet, builder.notes)
    if version:
        writer = name_based_id("reported version", name.id.hex(), version.datasetVersion)
        columns = statistics_columns(builder, dataset.facets.get("outputStatistics")) | _reported_path(
            builder, dataset
        )
        builder.rows.append(_version_row(builder, name, writer, None, _tag(builder, version), **columns))


def bounded_version(builder: RowBuilder, tag: str) -> str:
    """Truncate the name of a version to the key size of the stores."""
    return builder.bounded_key(tag, "a version")


def _reported_path(builder: RowBuilder, dataset: ParsedDataset) -> dict[str, Any]:
    """Columns for a reported path; otherwise the path follows from the name of the dataset."""
    facet = dataset.facets.get("lineageBridge_path")
    reported = facet_value(facet, f.DatasetPathFacet, builder.notes)
    if facet is not None and is_deleted(facet):
        return {"path_order": builder.register_order(0, facet.digest)}
    return (
        {"path_order": builder.register_order(0, facet.digest), "path": reported.path} if reported and facet else {}
    )


def _idempotency_key(builder: RowBuilder, dataset: ParsedDataset) -> dict[str, Any]:
    """Columns for the key that attempts at a version share: readers see one version per key."""
    facet = dataset.output_facets.get(IDEMPOTENCY_KEY_FACET)
    if facet is not None and is_deleted(facet):
        return {"key_order": builder.register_order(0, facet.digest)}
    content = facet_value(facet, f.IdempotencyKeyFacet, builder.notes)
    if content is None or facet is None or not content.key:
        return {}
    return {
        "key_order": builder.register_order(0, facet.digest),
        "idempotency_key": builder.bounded_key(content.key, "an idempotency key"),
    }


def _tag(builder: RowBuilder, version: f.DatasetVersionFacet) -> tuple[bytes, str]:
    tag = version.datasetVersion
    return builder.register_order(Rank.OUTPUT, digest(tag.encode())), bounded_version(builder, tag)


def _version_row(
    builder: RowBuilder, name: CanonicalName, writer: bytes, run: bytes | None, tag: tuple[bytes, str], **columns: Any
) -> DatasetVersionRow:
    path = storage_path(name.namespace, name.name)
    row = DatasetVersionRow(
        builder.org, name.id, writer, version_id(name.id, writer), run, path, builder.micros, *tag
    )
    return row._replace(**columns)
