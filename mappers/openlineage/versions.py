"""Maps dataset versions and their statistics."""

from typing import Any, NamedTuple

from mappers.canonical.identity import NO_ID, composite_id, digest, name_based_id
from mappers.canonical.rank import Rank, register_order
from mappers.canonical.rows import DatasetVersionRow
from mappers.naming import storage_path
from mappers.openlineage import facets as facet_types
from mappers.openlineage.facet_parser import ParsedDataset, ParsedFacet, facet_value, is_deleted
from mappers.openlineage.names import CanonicalEntity
from mappers.openlineage.row_builder import DatasetContext, RowBuilder

_INT64_LIMIT = 1 << 63
#: Output facet with the idempotency key of the version.
IDEMPOTENCY_KEY_FACET = "lineageBridge_idempotencyKey"


class _VersionTag(NamedTuple):
    """A tag, and its order among all tags asserted for the version."""

    order: bytes
    tag: str


def statistics_columns(builder: RowBuilder, facet: ParsedFacet | None) -> dict[str, Any]:
    """Return the columns that a statistics facet sets, or no columns if the facet is missing or invalid."""
    statistics = facet_value(facet, facet_types.StatisticsFacet, builder.notes)
    if is_deleted(facet):
        statistics = facet_types.StatisticsFacet()
    if statistics is None or facet is None:
        return {}
    counts = (statistics.rowCount, statistics.size, statistics.fileCount)
    row_count, byte_count, file_count = map(_int64_or_none, counts)
    if counts != (row_count, byte_count, file_count):
        builder.notes.append("a statistic exceeds 64 bits: ignored")
    return {
        "statistics_order": builder.assertion_order(0, facet.digest),
        "row_count": row_count,
        "byte_count": byte_count,
        "file_count": file_count,
    }


def _int64_or_none(count: int | None) -> int | None:
    return count if count is not None and -_INT64_LIMIT <= count < _INT64_LIMIT else None


def version_id(dataset_id: bytes, writer_id: bytes) -> bytes:
    """Compute the id of the version that a run wrote or a DatasetEvent reported."""
    return composite_id(b"version", dataset_id, writer_id)


def map_output_version(
    builder: RowBuilder,
    dataset: ParsedDataset,
    entity: CanonicalEntity,
    context: DatasetContext,
    schema_hash: bytes | None,
) -> None:
    """Map the version that a run wrote; its tag is the run UUID unless the source system reports a version."""
    tag = _VersionTag(register_order(Rank.MENTION, 0, NO_ID), context.run_uuid)
    version = facet_value(dataset.facets.get("version"), facet_types.DatasetVersionFacet, builder.notes)
    columns = statistics_columns(builder, dataset.output_facets.get("outputStatistics"))
    if schema_hash:
        columns |= {"schema_order": builder.assertion_order(0, schema_hash), "schema_hash": schema_hash}
    subset = dataset.output_facets.get("subset")
    if subset is not None:
        columns |= {"subset_order": builder.assertion_order(0, subset.digest), "subset_json": subset.body}
    columns |= _path_columns(builder, dataset) | _idempotency_key_columns(builder, dataset)
    if version:
        tag = _reported_tag(builder, version)
    elif is_deleted(dataset.facets.get("version")):
        tag = _VersionTag(builder.assertion_order(Rank.OUTPUT, NO_ID), context.run_uuid)
    builder.rows.append(_version_row(builder, entity, context.run_id, context.run_id, tag, **columns))


def map_reported_version(builder: RowBuilder, dataset: ParsedDataset, entity: CanonicalEntity) -> None:
    """Map a version that a DatasetEvent reports; the writer of the version is unknown."""
    version = facet_value(dataset.facets.get("version"), facet_types.DatasetVersionFacet, builder.notes)
    if version:
        writer_id = name_based_id("reported version", entity.id.hex(), version.datasetVersion)
        columns = statistics_columns(builder, dataset.facets.get("outputStatistics"))
        columns |= _path_columns(builder, dataset)
        builder.rows.append(
            _version_row(builder, entity, writer_id, None, _reported_tag(builder, version), **columns)
        )


def truncate_version(builder: RowBuilder, tag: str) -> str:
    """Truncate a version tag that exceeds the maximum key length of the stores."""
    return builder.bounded_key(tag, "a version")


def _path_columns(builder: RowBuilder, dataset: ParsedDataset) -> dict[str, Any]:
    """Return the columns of a reported path, or no columns if no path was reported."""
    facet = dataset.facets.get("lineageBridge_path")
    content = facet_value(facet, facet_types.DatasetPathFacet, builder.notes)
    if facet is not None and is_deleted(facet):
        return {"path_order": builder.assertion_order(0, facet.digest)}
    if facet is None or content is None:
        return {}
    return {"path_order": builder.assertion_order(0, facet.digest), "path": content.path}


def _idempotency_key_columns(builder: RowBuilder, dataset: ParsedDataset) -> dict[str, Any]:
    """Return the columns of the idempotency key; readers see only one of several attempts with the same key."""
    facet = dataset.output_facets.get(IDEMPOTENCY_KEY_FACET)
    if facet is not None and is_deleted(facet):
        return {"key_order": builder.assertion_order(0, facet.digest)}
    content = facet_value(facet, facet_types.IdempotencyKeyFacet, builder.notes)
    if content is None or facet is None or not content.key:
        return {}
    return {
        "key_order": builder.assertion_order(0, facet.digest),
        "idempotency_key": builder.bounded_key(content.key, "an idempotency key"),
    }


def _reported_tag(builder: RowBuilder, version: facet_types.DatasetVersionFacet) -> _VersionTag:
    tag = version.datasetVersion
    return _VersionTag(builder.assertion_order(Rank.OUTPUT, digest(tag.encode())), truncate_version(builder, tag))


def _version_row(
    builder: RowBuilder,
    entity: CanonicalEntity,
    writer_id: bytes,
    run_id: bytes | None,
    tag: _VersionTag,
    **columns: Any,
) -> DatasetVersionRow:
    path = columns.pop("path", storage_path(entity.namespace, entity.name))
    return DatasetVersionRow(
        builder.org,
        entity.id,
        writer_id,
        version_id(entity.id, writer_id),
        run_id,
        path,
        builder.micros,
        *tag,
        **columns,
    )
