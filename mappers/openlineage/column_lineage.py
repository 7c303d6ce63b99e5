"""Column lineage of `columnLineage` facets (1-0 to 1-2) and `lineage` entries."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from mappers.cache import BoundedCache
from mappers.canonical.identity import composite_id, digest
from mappers.canonical.rows import ColumnLineageRow, LineageSetRow
from mappers.errors import RowLimitExceeded
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
    """A source column, its transformation, and the target column (empty for all columns)."""

    namespace: str
    name: str
    source_field: str
    target_field: str
    type: str
    subtype: str
    masking: bool
    description: str


class ColumnLineageEntries(NamedTuple):
    """The entries of a facet, and a key that identifies them: equal keys mean equal entries."""

    key: bytes
    entries: tuple[ColumnLineageEntry, ...]


NO_ENTRIES = ColumnLineageEntries(b"", ())
_CACHED_ENTRIES = 1 << 16
#: Maximum number of input fields in a facet, which limits the memory that they take.
_MAX_ENTRIES = 250_000
_entries_by_digest: BoundedCache[bytes, ColumnLineageEntries] = BoundedCache(_CACHED_ENTRIES)


def read_column_lineage_facet(facet: ParsedFacet, notes: list[str]) -> ColumnLineageEntries | None:
    """Read the entries of a columnLineage facet; a deleted facet has no entries, and an invalid facet yields None."""
    if facet.body is None:
        return NO_ENTRIES
    content = facet_value(facet, ColumnLineageFacet, notes)
    if content is None:
        return None
    cached_entries = _entries_by_digest.get(facet.digest)
    if cached_entries is not None:
        return cached_entries
    entries = _facet_entries(content)
    return _entries_by_digest.put(facet.digest, entries, 1 + len(entries.entries))


def _facet_entries(facet: ColumnLineageFacet) -> ColumnLineageEntries:
    """Convert a facet to entries; entries that apply to all output columns are merged into one dataset entry."""
    fields = facet.fields or {}
    entry_count = sum(len(output.inputFields) for output in fields.values())
    if entry_count > _MAX_ENTRIES:
        raise RowLimitExceeded(
            f"{entry_count} input fields in one columnLineage facet; the maximum is {_MAX_ENTRIES}"
        )
    entries = {entry for name, output in fields.items() for entry in _field_entries(name, output)}
    for source in facet.dataset or ():
        entries.update(_input_entries("", source, source.transformations or (_default_transformation(""),)))
    return unique_entries(_merge_shared_entries(entries, set(fields)))


def unique_entries(entries: Iterable[ColumnLineageEntry]) -> ColumnLineageEntries:
    """Sort and deduplicate entries."""
    sorted_entries = tuple(sorted(set(entries)))
    return ColumnLineageEntries(digest(msgspec.json.encode(sorted_entries)), sorted_entries)


def _field_entries(target: str, output: OutputField) -> Iterator[ColumnLineageEntry]:
    for source in output.inputFields:
        yield from _input_entries(target, source, source.transformations or (_legacy_transformation(output),))


def _legacy_transformation(output: OutputField) -> Transformation:
    legacy = _LEGACY_TYPES.get((output.transformationType or "").upper(), Transformation("DIRECT"))
    return Transformation(legacy.type, legacy.subtype, output.transformationDescription, legacy.masking)


def _input_entries(
    target: str, source: InputField, transformations: Iterable[Transformation]
) -> Iterator[ColumnLineageEntry]:
    for transformation in transformations:
        yield _column_entry(source.namespace, source.name, source.field, target, transformation)


def _column_entry(
    namespace: str, name: str, field: str, target: str, transformation: Transformation
) -> ColumnLineageEntry:
    return ColumnLineageEntry(
        namespace, name, field, target, transformation.type.upper(), transformation.subtype.upper(),
        bool(transformation.masking), transformation.description or "",
    )  # fmt: skip


def _merge_shared_entries(entries: set[ColumnLineageEntry], output_columns: set[str]) -> set[ColumnLineageEntry]:
    """Replace INDIRECT entries shared by all output columns with one dataset entry; producers send either form."""
    targets_by_entry: dict[ColumnLineageEntry, set[str]] = {}
    for entry in entries:
        if entry.type == "INDIRECT" and entry.target_field:
            targets_by_entry.setdefault(entry._replace(target_field=""), set()).add(entry.target_field)
    shared_entries = {
        entry
        for entry, targets in targets_by_entry.items()
        if targets == output_columns and (len(output_columns) > 1 or entry.subtype in _DATASET_LEVEL_SUBTYPES)
    }
    if not shared_entries:
        return entries
    return {entry for entry in entries if entry._replace(target_field="") not in shared_entries} | shared_entries


def read_lineage_entry(fields: dict[str, LineageField], inputs: Iterable[LineageSource]) -> ColumnLineageEntries:
    """Read the column lineage of an explicit lineage entry."""
    entries: list[ColumnLineageEntry] = []
    # An empty target stands for the whole dataset.
    sources_by_target = [("", inputs), *((name, field.inputs) for name, field in fields.items())]
    for target, sources in sources_by_target:
        for source in sources:
            if source.type.upper() != "DATASET" or not source.namespace or not source.name:
                continue
            if not target and not source.field:
                continue  # no column on either side
            column = source.field or ""
            entries.extend(
                _column_entry(source.namespace, source.name, column, target, transformation)
                for transformation in source.transformations or [_default_transformation(target)]
            )
    return unique_entries(entries)


def _default_transformation(target: str) -> Transformation:
    return Transformation("DIRECT" if target else "INDIRECT")


#: An entry with its id, and the id of its source dataset, in this order: id, source, entry.
_IdentifiedEntry = tuple[bytes, bytes, ColumnLineageEntry]


class _LineageSet(NamedTuple):
    """Entries with their ids for one job and target; the ids are the same in every run."""

    entries: tuple[_IdentifiedEntry, ...]
    set_id: bytes
    members: bytes


_lineage_sets: BoundedCache[tuple[str, bytes, bytes, bytes], _LineageSet] = BoundedCache(_CACHED_ENTRIES)


def _lineage_set(org: str, entries: ColumnLineageEntries, job_id: bytes, target_id: bytes) -> _LineageSet:
    """Compute the ids of entries for a job and target; metadata columns are left out."""
    key = (org, entries.key, job_id, target_id)
    cached_set = _lineage_sets.get(key)
    if cached_set is not None:
        return cached_set
    data_entries = (entry for entry in entries.entries if entry.source_field not in METADATA_COLUMNS)
    identified_entries = tuple(_entry_with_id(org, entry, job_id, target_id) for entry in data_entries)
    members = b"".join(sorted({lineage_id for lineage_id, _, _ in identified_entries}))
    lineage_set = _LineageSet(identified_entries, digest(job_id + target_id + members), members)
    return _lineage_sets.put(key, lineage_set, 1 + len(identified_entries))


def _entry_with_id(org: str, entry: ColumnLineageEntry, job_id: bytes, target_id: bytes) -> _IdentifiedEntry:
    source_id = canonical_dataset_name(org, entry.namespace, entry.name).id
    content = "\0".join((entry.source_field, entry.target_field, entry.type, entry.subtype, str(entry.masking)))
    lineage_id = composite_id(b"column", job_id, source_id, target_id, content.encode())
    return lineage_id, source_id, entry


def map_column_lineage(
    builder: RowBuilder, entries: ColumnLineageEntries, job_id: bytes, run_id: bytes, target_id: bytes
) -> bytes:
    """Add the column lineage of a facet for a target; returns the id of the lineage set."""
    lineage_set = _lineage_set(builder.org, entries, job_id, target_id)
    builder.rows.extend(
        ColumnLineageRow(
            builder.org, target_id, source_id, lineage_id, job_id, entry.source_field, entry.target_field, entry.type,
            entry.subtype, entry.masking, builder.micros, run_id, entry.description,
        )
        for lineage_id, source_id, entry in lineage_set.entries
    )  # fmt: skip
    builder.rows.append(LineageSetRow(builder.org, lineage_set.set_id, lineage_set.members))
    return lineage_set.set_id


def source_datasets(entries: ColumnLineageEntries) -> list[tuple[str, str]]:
    """List the distinct source datasets as (namespace, name)."""
    return sorted({(entry.namespace, entry.name) for entry in entries.entries})
