"""Column lineage of `columnLineage` facets (1-0 to 1-2) and `lineage` entries."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from mappers.cache import BoundedCache
from mappers.canonical.identity import composite_id, digest
from mappers.canonical.rows import ColumnLineageRow, LineageSetRow
from mappers.openlineage.facet_parser import ParsedFacet, facet_value
from mappers.openlineage.facets import (
    ColumnLineageFacet,
    InputField,
    LineageField,
    LineageSource,
    OutputField,
    Transformation,
)
from mappers.openlineage.names import METADATA_COLUMNS, canonical_dataset_name
from mappers.openlineage.row_builder import RowBuilder

_DATASET_LEVEL_SUBTYPES = frozenset({"JOIN", "FILTER", "SORT", "GROUP_BY"})
_LEGACY_TYPES = {
    "IDENTITY": Transformation("DIRECT", "IDENTITY"),
    "MASKED": Transformation("DIRECT", "TRANSFORMATION", masking=True),
}


class ColumnLineageEntry(NamedTuple):
    """A source column, its transformation, and the target column (empty: all columns)."""

    namespace: str
    name: str
    source_field: str
    target_field: str
    type: str
    subtype: str
    masking: bool
    description: str


class ColumnLineageEntries(NamedTuple):
    """The entries of a facet, and a key that two facets share only if their entries are equal."""

    key: bytes
    entries: tuple[ColumnLineageEntry, ...]


NO_ENTRIES = ColumnLineageEntries(b"", ())
_CACHED_ENTRIES = 1 << 16
_entries_by_digest: BoundedCache[bytes, ColumnLineageEntries] = BoundedCache(_CACHED_ENTRIES)


def read_column_lineage_facet(facet: ParsedFacet, notes: list[str]) -> ColumnLineageEntries | None:
    """Entries of a columnLineage facet: none if it is deleted, None if it cannot be parsed."""
    if facet.body is None:
        return NO_ENTRIES
    content = facet_value(facet, ColumnLineageFacet, notes)
    if content is None:
        return None
    cached = _entries_by_digest.get(facet.digest)
    if cached is not None:
        return cached
    entries = _facet_entries(content)
    return _entries_by_digest.put(facet.digest, entries, 1 + len(entries.entries))


def _facet_entries(facet: ColumnLineageFacet) -> ColumnLineageEntries:
    """Entries that affect every output column are merged into one."""
    fields = facet.fields or {}
    entries = {entry for name, output in fields.items() for entry in _field_entries(name, output)}
    entries.update(entry for item in facet.dataset or () for entry in _input_entries("", item, item.transformations))
    return unique_entries(_merge_dataset_level(entries, set(fields)))


def unique_entries(entries: Iterable[ColumnLineageEntry]) -> ColumnLineageEntries:
    """Sort and deduplicate entries."""
    unique = tuple(sorted(set(entries)))
    return ColumnLineageEntries(digest(msgspec.json.encode(unique)), unique)


def _field_entries(target: str, output: OutputField) -> Iterator[ColumnLineageEntry]:
    legacy = _legacy_transformations(output)
    for item in output.inputFields:
        yield from _input_entries(target, item, item.transformations or legacy)


def _legacy_transformations(output: OutputField) -> list[Transformation]:
    legacy = _LEGACY_TYPES.get((output.transformationType or "").upper(), Transformation("DIRECT"))
    return [Transformation(legacy.type, legacy.subtype, output.transformationDescription, legacy.masking)]


def _input_entries(
    target: str, item: InputField, transformations: list[Transformation] | None
) -> Iterator[ColumnLineageEntry]:
    for transformation in transformations or [Transformation("DIRECT" if target else "INDIRECT")]:
        yield _entry(item.namespace, item.name, item.field, target, transformation)


def _entry(namespace: str, name: str, field: str, target: str, transformation: Transformation) -> ColumnLineageEntry:
    return ColumnLineageEntry(
        namespace, name, field, target, transformation.type.upper(), transformation.subtype.upper(),
        bool(transformation.masking), transformation.description or "",
    )  # fmt: skip


def _merge_dataset_level(entries: set[ColumnLineageEntry], targets: set[str]) -> set[ColumnLineageEntry]:
    """Replace an INDIRECT influence on every output column by one on the dataset: producers write either form."""
    influenced: dict[ColumnLineageEntry, set[str]] = {}
    for entry in entries:
        if entry.type == "INDIRECT" and entry.target_field:
            influenced.setdefault(entry._replace(target_field=""), set()).add(entry.target_field)
    dataset_level = {
        entry
        for entry, columns in influenced.items()
        if columns == targets and (len(targets) > 1 or entry.subtype in _DATASET_LEVEL_SUBTYPES)
    }
    return {entry for entry in entries if entry._replace(target_field="") not in dataset_level} | dataset_level


def read_lineage_entry(fields: dict[str, LineageField], inputs: Iterable[LineageSource]) -> ColumnLineageEntries:
    """Column lineage of an explicit lineage entry."""
    return unique_entries(
        _entry(source.namespace, source.name, source.field or "", target, transformation)
        for target, field in [("", None), *fields.items()]
        for source in (field.inputs if field else inputs)
        if source.type.upper() == "DATASET" and source.namespace and source.name
        if target or source.field
        for transformation in source.transformations or [Transformation("DIRECT" if target else "INDIRECT")]
    )


class _IdentifiedEntries(NamedTuple):
    """Entries with their ids for one job and target, the same in every run."""

    rows: tuple[tuple[bytes, bytes, ColumnLineageEntry], ...]
    set_id: bytes
    members: bytes


_identified_entries: BoundedCache[tuple[str, bytes, bytes, bytes], _IdentifiedEntries] = BoundedCache(_CACHED_ENTRIES)


def _identify(org: str, entries: ColumnLineageEntries, job: bytes, target: bytes) -> _IdentifiedEntries:
    key = (org, entries.key, job, target)
    identified = _identified_entries.get(key)
    if identified is None:
        rows = tuple(_identify_entry(org, entry, job, target) for entry in entries.entries
                     if entry.source_field not in METADATA_COLUMNS)  # fmt: skip
        members = b"".join(sorted({row[0] for row in rows}))
        identified = _IdentifiedEntries(rows, digest(job + target + members), members)
        _identified_entries.put(key, identified, 1 + len(rows))
    return identified


def _identify_entry(
    org: str, entry: ColumnLineageEntry, job: bytes, target: bytes
) -> tuple[bytes, bytes, ColumnLineageEntry]:
    source = canonical_dataset_name(org, entry.namespace, entry.name).id
    content = "\0".join((entry.source_field, entry.target_field, entry.type, entry.subtype, str(entry.masking)))
    return composite_id(b"column", job, source, target, content.encode()), source, entry


def map_column_lineage(
    builder: RowBuilder, entries: ColumnLineageEntries, job: bytes, run: bytes, target: bytes
) -> bytes:
    """Add the rows of a facet about a target; returns the id of their set."""
    identified = _identify(builder.org, entries, job, target)
    builder.rows.extend(
        ColumnLineageRow(
            builder.org, target, source, lineage_id, job, entry.source_field, entry.target_field, entry.type,
            entry.subtype, entry.masking, builder.micros, run, entry.description,
        )
        for lineage_id, source, entry in identified.rows
    )  # fmt: skip
    builder.rows.append(LineageSetRow(builder.org, identified.set_id, identified.members))
    return identified.set_id


def source_datasets(entries: ColumnLineageEntries) -> list[tuple[str, str]]:
    """Namespace and name of each source dataset, once."""
    return sorted({(entry.namespace, entry.name) for entry in entries.entries})
