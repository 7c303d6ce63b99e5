"""Maps schema facets: one row per distinct set of columns."""

from typing import NamedTuple

from mappers.cache import BoundedCache
from mappers.canonical.identity import bounded_key, digest
from mappers.canonical.rank import Rank
from mappers.canonical.rows import DatasetSchemaRow
from mappers.canonical_json import canonical_json
from mappers.openlineage.facet_parser import ParsedDataset, facet_value
from mappers.openlineage.facets import SchemaFacet, SchemaField
from mappers.openlineage.names import METADATA_COLUMNS, CanonicalEntity
from mappers.openlineage.row_builder import RowBuilder


def map_schema(builder: RowBuilder, dataset: ParsedDataset, entity: CanonicalEntity, rank: Rank) -> bytes | None:
    """Add the schema of a dataset; returns the hash of the schema, or None if there are no columns."""
    facet = dataset.facets.get("schema")
    schema_facet = facet_value(facet, SchemaFacet, builder.notes)
    if facet is None or schema_facet is None:
        return None
    schema = _cached_schema(facet.digest, schema_facet)
    if schema is None:
        return None
    builder.rows.append(
        DatasetSchemaRow(
            org_id=builder.org,
            dataset_id=entity.id,
            schema_hash=schema.hash,
            column_count=schema.column_count,
            first_seen=builder.micros,
            written_at=builder.micros if rank == Rank.OUTPUT else None,
            declared_at=builder.micros if rank == Rank.JOB_EVENT else None,
            read_at=builder.micros if rank == Rank.INPUT else None,
            columns_order=builder.assertion_order(rank, schema.content_hash),
            columns_json=schema.columns_json,
        )
    )
    return schema.hash


class _Schema(NamedTuple):
    """The columns of a schema facet as stored."""

    hash: bytes
    column_count: int
    columns_json: str
    content_hash: bytes


_CACHED_CHARACTERS = 1 << 24
_schemas: BoundedCache[bytes, _Schema | None] = BoundedCache(_CACHED_CHARACTERS)


def _cached_schema(key: bytes, facet: SchemaFacet) -> _Schema | None:
    if key in _schemas:
        return _schemas[key]
    schema = _parse_schema(facet)
    return _schemas.put(key, schema, len(schema.columns_json) if schema else 1)


def _parse_schema(facet: SchemaFacet) -> _Schema | None:
    columns = [column for column in facet.fields or () if column.name not in METADATA_COLUMNS]
    if not columns:
        return None
    rows = _column_rows(columns, "", 0)
    for position, row in enumerate(rows, start=1):
        if row["ordinal"] == position:
            row["ordinal"] = None  # an ordinal that equals the position in the list is not stored
    content = canonical_json(rows)
    shape = canonical_json([_column_shape(column) for column in columns])
    return _Schema(digest(shape), len(columns), content.decode(), digest(content))


def _column_shape(column: SchemaField) -> list[object]:
    """Return name, type, nested columns and nullability; schemas that differ in any of these are distinct."""
    shape: list[object] = [column.name, column.type, [_column_shape(inner) for inner in column.fields or ()]]
    return shape if column.nullable is None else [*shape, column.nullable]


def _column_rows(columns: list[SchemaField], prefix: str, depth: int) -> list[dict[str, object]]:
    """List columns as they are stored; nested columns follow their parent."""
    rows: list[dict[str, object]] = []
    for position, column in enumerate(columns, start=1):
        row: dict[str, object] = {
            "name": prefix + column.name,
            "type": column.type,
            "ordinal": column.ordinal_position or position,
        }
        optional_values = {
            "description": column.description or None,
            "depth": depth or None,
            "nullable": column.nullable,
        }
        rows.append(row | optional_values)
        if column.fields:
            # Every nested column repeats the prefix, so it is bounded: megabytes of JSON must not become gigabytes.
            rows.extend(_column_rows(column.fields, f"{bounded_key(prefix + column.name)}.", depth + 1))
    return rows
