"""The columns of a dataset: one version for each distinct shape, whoever reports it."""

from typing import NamedTuple

from mappers.canonical.bounded import bounded
from mappers.canonical.facts import DatasetSchema
from mappers.canonical.identity import digest
from mappers.canonical.order import Rank
from mappers.memory import Memory
from mappers.openlineage.facets import Schema, SchemaField
from mappers.openlineage.listener import METADATA_COLUMNS
from mappers.openlineage.parts import DatasetPart, canonical_json, understand
from mappers.openlineage.statements import Named, Statements


def state_schema(say: Statements, part: DatasetPart, named: Named, rank: Rank) -> bytes | None:
    """State the schema that a dataset is reported with; gives its hash, None for no columns."""
    facet = part.facets.get("schema")
    value = understand(facet, Schema, say.notes)
    if facet is None or value is None:
        return None
    schema = _remembered_schema(facet.digest, value)
    if schema is None:
        return None
    say.rows.append(
        DatasetSchema(
            say.org,
            named.id,
            schema.hash,
            schema.column_count,
            say.micros,
            say.micros if rank == Rank.OUTPUT else None,
            say.micros if rank == Rank.JOB_EVENT else None,
            say.micros if rank == Rank.INPUT else None,
            say.order(rank, schema.content),
            schema.columns,
        )
    )
    return schema.hash


class _Schema(NamedTuple):
    """The columns of a schema facet as the store keeps them."""

    hash: bytes
    column_count: int
    columns: str
    content: bytes


_REMEMBERED_CHARACTERS = 1 << 24
_schemas: Memory[bytes, _Schema | None] = Memory(_REMEMBERED_CHARACTERS)


def _remembered_schema(key: bytes, facet: Schema) -> _Schema | None:
    if key in _schemas:
        return _schemas[key]
    schema = _read_schema(facet)
    return _schemas.keep(key, schema, len(schema.columns) if schema else 1)


def _read_schema(facet: Schema) -> _Schema | None:
    columns = [column for column in facet.fields or () if column.name not in METADATA_COLUMNS]
    if not columns:
        return None
    rows = _column_rows(columns, "", 0)
    for place, row in enumerate(rows, start=1):
        if row["ordinal"] == place:
            row["ordinal"] = None  # nearly always: then the place in the list says it
    described = canonical_json(rows)
    shape = canonical_json([_column_shape(column) for column in columns])
    return _Schema(digest(shape), len(columns), described.decode(), digest(described))


def _column_shape(column: SchemaField) -> list[object]:
    """Give what makes a schema another schema: names, types, nesting, and whether nothing may stand there."""
    shape: list[object] = [column.name, column.type, [_column_shape(inner) for inner in column.fields or ()]]
    return shape if column.nullable is None else [*shape, column.nullable]


def _column_rows(columns: list[SchemaField], prefix: str, depth: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for number, column in enumerate(columns, start=1):
        row: dict[str, object] = {
            "name": prefix + column.name,
            "type": column.type,
            "ordinal": column.ordinal_position or number,
        }
        more = {"description": column.description or None, "depth": depth or None, "nullable": column.nullable}
        rows.append(row | more)
        if column.fields:
            # Bounded, because every column inside repeats it: a body of megabytes must not become one of gigabytes.
            rows.extend(_column_rows(column.fields, f"{bounded(prefix + column.name)}.", depth + 1))
    return rows
