"""What an event says about a dataset: as an input, as an output, or by itself."""

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import msgspec

from mappers.canonical.facts import (
    Dataset,
    DatasetSchema,
    DatasetSuccession,
    DatasetSymlink,
    DatasetVersion,
    RunInput,
    RunLineage,
    RunOutput,
)
from mappers.canonical.identity import NOBODY, digest, joined_id, named_id
from mappers.canonical.order import Rank, order
from mappers.naming import storage_path
from mappers.openlineage import facets as f
from mappers.openlineage.columns import facet_elements, source_datasets, state_columns
from mappers.openlineage.explicit import Asserter, DeclaredBy, state_dataset_lineage
from mappers.openlineage.listener import METADATA_COLUMNS, repair_symlink
from mappers.openlineage.owners import split_owners
from mappers.openlineage.parts import DatasetPart, canonical_json, understand
from mappers.openlineage.quality import state_assertions
from mappers.openlineage.statements import Named, Statements, name_dataset

#: Facets whose content the store keeps in columns; kept raw only when they cannot be read.
_READ = frozenset({"schema", "symlinks", "version", "lifecycleStateChange", "columnLineage", "lineage"})
_READ_OUTPUT = frozenset({"outputStatistics", "subset"})
_READ_INPUT = frozenset({"inputStatistics"})
_NOT_WRITTEN = frozenset({"DROP", "RENAME", "ALTER"})
_NOT_PRODUCED = frozenset({"DROP", "RENAME"})
_INT64 = 1 << 63


class Side(Enum):
    """How an event names a dataset."""

    INPUT = Rank.INPUT
    OUTPUT = Rank.OUTPUT
    DECLARED = Rank.JOB_EVENT
    ITSELF = Rank.OUTPUT + 0.5

    @property
    def rank(self) -> int:
        """Give the weight of what is said in this place."""
        return int(self.value)


class Place(NamedTuple):
    """Where in an event a dataset stands: whose run, whose job, which side."""

    side: Side
    run: bytes
    run_uuid: str
    job: bytes


def state_dataset(say: Statements, part: DatasetPart, place: Place) -> Named:
    """State everything an event says about one dataset."""
    named = name_dataset(say.org, part.namespace, part.name)
    say.namespace(named)
    lifecycle = understand(part.facets.get("lifecycleStateChange"), f.LifecycleStateChange, say.notes)
    change = lifecycle.lifecycleStateChange.upper() if lifecycle else None
    say.rows.append(_dataset_row(say, named, part, place, change))
    if lifecycle and change == "RENAME":
        _state_succession(say, lifecycle, named, place)
    _state_symlinks(say, part, named)
    schema = _state_schema(say, part, named, place)
    read = _unread(say, part)
    say.facets(named.id, part.facets, place.side.rank, read=read)
    if place.side is Side.INPUT:
        _state_input(say, part, named, place)
    elif place.side is Side.OUTPUT:
        _state_output(say, part, named, place, change, schema)
    elif place.side is Side.ITSELF:
        _state_version_event(say, part, named)
    _state_columns(say, part, named, place)
    _state_quality(say, part, named, place)
    return named


def _unread(say: Statements, part: DatasetPart) -> frozenset[str]:
    """Name the facets that need not be kept raw because they could be read."""
    shapes = {"schema": f.Schema, "symlinks": f.Symlinks, "version": f.Version,
              "lifecycleStateChange": f.LifecycleStateChange, "columnLineage": f.ColumnLineageFacet,
              "lineage": f.DatasetLineage}  # fmt: skip
    ignored: list[str] = []
    return frozenset(
        name
        for name in _READ & part.facets.keys()
        if understand(part.facets[name], shapes[name], ignored) is not None
    )


def _dataset_row(
    say: Statements, named: Named, part: DatasetPart, place: Place, change: str | None
) -> Dataset:
    row = say.dataset_row(named)
    rank = place.side.rank
    for name, shape in (("documentation", f.Documentation), ("ownership", f.Ownership), ("storage", f.Storage)):
        facet = part.facets.get(name)
        if facet is None:
            continue
        value = understand(facet, shape, say.notes)
        if value is None and facet.body is not None:
            continue
        ordered = say.order(rank, facet.digest)
        if name == "documentation":
            row = row._replace(documentation_order=ordered, description=getattr(value, "description", None))
        elif name == "ownership":
            team, email = split_owners(getattr(value, "owners", None))
            row = row._replace(ownership_order=ordered, owner_team=team, owner_email=email)
        else:
            row = row._replace(storage_order=ordered, default_format=getattr(value, "fileFormat", None))
    if change == "DROP":
        row = row._replace(retired_at=say.micros)
    symlinks = part.facets.get("symlinks")
    if symlinks is not None and symlinks.body is None:
        row = row._replace(symlinks_deleted_at=say.micros)
    return row


def _state_succession(
    say: Statements, lifecycle: f.LifecycleStateChange, target: Named, place: Place
) -> None:
    previous = lifecycle.previousIdentifier
    if previous is None:
        say.notes.append("a RENAME without previousIdentifier: nothing to retire")
        return
    source = say.mention(previous.namespace, previous.name)
    if source.id == target.id:
        return
    say.rows.append(say.dataset_row(source)._replace(retired_at=say.micros))
    say.rows.append(DatasetSuccession(say.org, source.id, target.id, place.run, say.micros))


def _state_symlinks(say: Statements, part: DatasetPart, named: Named) -> None:
    symlinks = understand(part.facets.get("symlinks"), f.Symlinks, say.notes)
    for identifier in (symlinks.identifiers or ()) if symlinks else ():
        if not identifier.namespace or not identifier.name:
            say.notes.append("a symlink without namespace or name: ignored")
            continue
        alias = say.mention(repair_symlink(identifier.namespace, identifier.name), identifier.name)
        if alias.id != named.id:
            say.rows.append(
                DatasetSymlink(say.org, named.id, alias.id, identifier.type.upper(), say.micros)
            )


def _state_schema(say: Statements, part: DatasetPart, named: Named, place: Place) -> bytes | None:
    facet = part.facets.get("schema")
    if facet is None or understand(facet, f.Schema, say.notes) is None:
        return None
    schema = _read_schema(facet.raw)
    if schema is None:
        return None
    rank = place.side.rank
    say.rows.append(
        DatasetSchema(
            say.org,
            named.id,
            schema.hash,
            schema.count,
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
    count: int
    columns: str
    content: bytes


@lru_cache(maxsize=4096)
def _read_schema(raw: bytes) -> _Schema | None:
    facet = msgspec.json.decode(raw, type=f.Schema)
    columns = [column for column in facet.fields or () if column.name not in METADATA_COLUMNS]
    if not columns:
        return None
    described = canonical_json(_column_rows(columns, "", 0))
    shape = canonical_json([_column_shape(column) for column in columns])
    return _Schema(digest(shape), len(columns), described.decode(), digest(described))


def _column_shape(column: f.SchemaField) -> list[object]:
    """Give what makes a schema another schema: names, types, nesting."""
    return [column.name, column.type, [_column_shape(inner) for inner in column.fields or ()]]


def _column_rows(columns: list[f.SchemaField], prefix: str, depth: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for number, column in enumerate(columns, start=1):
        row = {"name": prefix + column.name, "type": column.type, "ordinal": column.ordinal_position or number}
        rows.append(row | {"description": column.description or None, "depth": depth or None})
        rows.extend(_column_rows(column.fields or [], f"{prefix}{column.name}.", depth + 1))
    return rows


def _counts(say: Statements, statistics: f.Statistics) -> tuple[int | None, int | None, int | None]:
    counts = (statistics.rowCount, statistics.size, statistics.fileCount)
    fitting = [c if c is None or -_INT64 <= c < _INT64 else None for c in counts]
    if list(counts) != fitting:
        say.notes.append("a statistic beyond 64 bits: ignored")
    return fitting[0], fitting[1], fitting[2]


def _state_input(say: Statements, part: DatasetPart, named: Named, place: Place) -> None:
    row = RunInput(say.org, place.run, named.id, place.job, say.micros, say.micros)
    version = understand(part.facets.get("version"), f.Version, say.notes)
    if version:
        content = digest(version.datasetVersion.encode())
        row = row._replace(version_order=say.order(0, content), version=version.datasetVersion)
    facet = part.input_facets.get("inputStatistics")
    statistics = understand(facet, f.Statistics, say.notes)
    if statistics and facet:
        rows, size, files = _counts(say, statistics)
        row = row._replace(
            statistics_order=say.order(0, facet.digest), row_count=rows, byte_count=size, file_count=files
        )
    say.rows.append(row)
    say.edge("CONSUMES", ("dataset", named.id), ("job", place.job), place.job, "explicit")
    read = _READ_INPUT if statistics else frozenset()
    say.facets(place.run, part.input_facets, Rank.INPUT, about=named.id, prefix="input:", read=read)


def _state_output(
    say: Statements, part: DatasetPart, named: Named, place: Place, change: str | None, schema: bytes | None
) -> None:
    lifecycle = part.facets.get("lifecycleStateChange")
    say.rows.append(
        RunOutput(
            say.org,
            place.run,
            named.id,
            place.job,
            say.micros,
            say.micros,
            say.micros if change == "DROP" else None,
            say.order(0, lifecycle.digest) if change and lifecycle else None,
            change,
        )
    )
    if change not in _NOT_PRODUCED:
        say.edge("PRODUCES", ("job", place.job), ("dataset", named.id), place.job, "explicit")
    if change not in _NOT_WRITTEN:
        say.rows.append(_version_row(say, part, named, place, schema))
    read = _READ_OUTPUT if understand(
        part.output_facets.get("outputStatistics"), f.Statistics, []
    ) else frozenset({"subset"})  # fmt: skip
    say.facets(place.run, part.output_facets, Rank.OUTPUT, about=named.id, prefix="output:", read=read)


def version_id(dataset: bytes, writer: bytes) -> bytes:
    """Identify the version of a dataset that a run (or a DatasetEvent) made."""
    return joined_id(b"version", dataset, writer)


def _version_row(
    say: Statements, part: DatasetPart, named: Named, place: Place, schema: bytes | None
) -> DatasetVersion:
    row = DatasetVersion(
        say.org,
        named.id,
        place.run,
        version_id(named.id, place.run),
        place.run,
        storage_path(named.namespace, named.name),
        say.micros,
        order(Rank.MENTION, 0, NOBODY),
        place.run_uuid,
    )
    version = understand(part.facets.get("version"), f.Version, say.notes)
    if version:
        tag = version.datasetVersion
        row = row._replace(tag_order=say.order(Rank.OUTPUT, digest(tag.encode())), version_tag=tag)
    facet = part.output_facets.get("outputStatistics")
    statistics = understand(facet, f.Statistics, say.notes)
    if statistics and facet:
        rows, size, files = _counts(say, statistics)
        row = row._replace(
            statistics_order=say.order(0, facet.digest), row_count=rows, byte_count=size, file_count=files
        )
    if schema:
        row = row._replace(schema_order=say.order(0, schema), schema_hash=schema)
    subset = part.output_facets.get("subset")
    if subset is not None:
        row = row._replace(subset_order=say.order(0, subset.digest), subset_json=subset.body)
    return row


def _state_version_event(say: Statements, part: DatasetPart, named: Named) -> None:
    version = understand(part.facets.get("version"), f.Version, say.notes)
    if version is None:
        return
    tag = version.datasetVersion
    writer = named_id("reported version", named.id.hex(), tag)
    say.rows.append(
        DatasetVersion(
            say.org,
            named.id,
            writer,
            version_id(named.id, writer),
            None,
            storage_path(named.namespace, named.name),
            say.micros,
            say.order(Rank.OUTPUT, digest(tag.encode())),
            tag,
        )
    )


def _state_columns(say: Statements, part: DatasetPart, target: Named, place: Place) -> None:
    if place.side is Side.INPUT:
        return
    if place.side is Side.ITSELF:
        explicit = understand(part.facets.get("lineage"), f.DatasetLineage, say.notes)
        if explicit:
            declared = order(DeclaredBy.LINEAGE, say.micros, say.event_hash)
            state_dataset_lineage(say, explicit, target, Asserter(NOBODY, None, declared))
            say.rows.append(say.dataset_row(target)._replace(declared_lineage=declared))
            return
    facet = part.facets.get("columnLineage")
    said = facet_elements(facet, say.notes) if facet is not None else None
    if said is None:
        return
    declared_io = say.moment if place.side is Side.DECLARED else None
    declared = order(DeclaredBy.COLUMNS, say.micros, say.event_hash) if place.side is Side.ITSELF else None
    if declared:
        say.rows.append(say.dataset_row(target)._replace(declared_lineage=declared))
    set_id = state_columns(say, said, place.job, place.run, target.id)
    say.rows.append(
        RunLineage(
            say.org, place.run, place.job, target.id, False, say.order(DeclaredBy.COLUMNS, set_id), set_id
        )
    )
    for namespace, name in source_datasets(said):
        source = say.mention(namespace, name)
        say.edge(
            "DERIVES",
            ("dataset", source.id),
            ("dataset", target.id),
            place.job,
            "declared" if declared or declared_io else "column",
            declared_io=declared_io,
            declared_lineage=declared,
        )


def _state_quality(say: Statements, part: DatasetPart, named: Named, place: Place) -> None:
    version = version_id(named.id, place.run) if place.side is Side.OUTPUT else None
    for facets in (part.facets, part.input_facets):
        assertions = understand(facets.get("dataQualityAssertions"), f.Assertions, say.notes)
        if assertions:
            state_assertions(say, assertions, named.id, place.run, version)
