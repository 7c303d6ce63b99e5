"""What an event says about a dataset: as an input, as an output, or by itself."""

from msgspec import Struct

from mappers.canonical.facts import (
    Dataset,
    DatasetSuccession,
    DatasetSymlink,
    RunInput,
    RunLineage,
    RunOutput,
)
from mappers.canonical.identity import NOBODY, digest
from mappers.canonical.order import Rank, order
from mappers.openlineage import facets as f
from mappers.openlineage.columns import facet_elements, source_datasets, state_columns
from mappers.openlineage.explicit import Asserter, DeclaredBy, state_dataset_lineage
from mappers.openlineage.listener import repair_symlink
from mappers.openlineage.parts import DatasetPart, FacetPart, understand
from mappers.openlineage.place import Place, Side
from mappers.openlineage.quality import state_assertions, state_expectations
from mappers.openlineage.registrations import state_registration
from mappers.openlineage.schemas import state_schema
from mappers.openlineage.statements import Named, Statements, name_dataset
from mappers.openlineage.versions import (
    KEY_FACET,
    read_statistics,
    state_reported_version,
    state_version,
    version_id,
    version_key,
)

#: Facets that end in columns of the store, by side; they are kept raw only when they cannot be read.
_READ = {
    Side.INPUT: ("schema", "symlinks", "version"),
    Side.OUTPUT: ("schema", "symlinks", "version", "lifecycleStateChange", "columnLineage"),
    Side.DECLARED: ("schema", "symlinks", "columnLineage"),
    Side.ITSELF: ("schema", "symlinks", "version", "lifecycleStateChange", "columnLineage", "lineage"),
}
_NOT_WRITTEN = frozenset({"DROP", "RENAME", "ALTER"})
_NOT_PRODUCED = frozenset({"DROP", "RENAME"})


def state_dataset(say: Statements, part: DatasetPart, place: Place) -> Named:
    """State everything an event says about one dataset."""
    named = name_dataset(say.org, part.namespace, part.name)
    side = place.side
    say.namespace(named)
    lifecycle = _lifecycle(say, part) if side in (Side.OUTPUT, Side.ITSELF) else None
    change = lifecycle.lifecycleStateChange.upper() if lifecycle else None
    say.rows.append(_dataset_row(say, named, part, side.rank, change))
    if lifecycle and change == "RENAME":
        _state_succession(say, lifecycle, named, place)
    _state_symlinks(say, part, named)
    schema = state_schema(say, part, named, side.rank)
    say.facets(named.id, part.facets, side.rank, read=_readable(part.facets, _READ[side]))
    if side is Side.INPUT:
        _state_input(say, part, named, place)
    elif side is Side.OUTPUT:
        _state_output(say, part, named, place, change)
        if change not in _NOT_WRITTEN:
            state_version(say, part, named, place, schema)
    elif side is Side.ITSELF:
        state_reported_version(say, part, named)
        state_registration(say, part, named)
    if not (side is Side.ITSELF and _state_explicit(say, part, named)):
        _state_columns(say, part, named, place)
    _state_quality(say, part, named, place)
    return named


def _readable(parts: dict[str, FacetPart], names: tuple[str, ...]) -> frozenset[str]:
    """Name those facets that could be read, so that they need not be kept raw."""
    return frozenset(name for name in names if name in parts and isinstance(parts[name].value, Struct))


def _lifecycle(say: Statements, part: DatasetPart) -> f.LifecycleStateChange | None:
    return understand(part.facets.get("lifecycleStateChange"), f.LifecycleStateChange, say.notes)


def _dataset_row(say: Statements, named: Named, part: DatasetPart, rank: Rank, change: str | None) -> Dataset:
    row = say.dataset_row(named)
    facets = part.facets
    row = row._replace(**say.described(facets, rank))
    if (storage := say.register(facets.get("storage"), f.Storage, rank)) is not None:
        ordered, stored = storage
        row = row._replace(storage_order=ordered, default_format=stored.fileFormat if stored else None)
    if change == "DROP":
        row = row._replace(retired_at=say.micros)
    symlinks = facets.get("symlinks")
    if symlinks is not None and symlinks.body is None:
        row = row._replace(symlinks_deleted_at=say.micros)
    return row


def _state_succession(say: Statements, lifecycle: f.LifecycleStateChange, target: Named, place: Place) -> None:
    previous = lifecycle.previousIdentifier
    if previous is None:
        say.notes.append("a RENAME without previousIdentifier: nothing to retire")
        return
    source = say.mention(previous.namespace, previous.name)
    if source.id != target.id:
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
            kind = say.key(identifier.type.upper(), "the type of a symlink")
            say.rows.append(DatasetSymlink(say.org, named.id, alias.id, kind, say.micros))


def _state_input(say: Statements, part: DatasetPart, named: Named, place: Place) -> None:
    more = read_statistics(say, part.input_facets.get("inputStatistics"))
    version = understand(part.facets.get("version"), f.Version, say.notes)
    if version:
        tag = version.datasetVersion
        more |= {"version_order": say.order(0, digest(tag.encode())), "version": version_key(say, tag)}
    say.rows.append(RunInput(say.org, place.run, named.id, place.job, say.micros, say.micros, **more))
    say.edge("CONSUMES", ("dataset", named.id), ("job", place.job), place.job, "explicit")
    read = _readable(part.input_facets, ("inputStatistics",))
    say.facets(place.run, part.input_facets, Rank.INPUT, about=named.id, prefix="input:", read=read)


def _state_output(say: Statements, part: DatasetPart, named: Named, place: Place, change: str | None) -> None:
    dropped = say.micros if change == "DROP" else None
    ordered = say.order(0, digest(change.encode())) if change else None
    say.rows.append(
        RunOutput(say.org, place.run, named.id, place.job, say.micros, say.micros, dropped, ordered, change)
    )
    if change not in _NOT_PRODUCED:
        say.edge("PRODUCES", ("job", place.job), ("dataset", named.id), place.job, "explicit")
    read = _readable(part.output_facets, ("outputStatistics", KEY_FACET)) | {"subset"}
    say.facets(place.run, part.output_facets, Rank.OUTPUT, about=named.id, prefix="output:", read=read)


def _state_explicit(say: Statements, part: DatasetPart, target: Named) -> bool:
    """State a dataset's explicit lineage, which supersedes its column lineage."""
    explicit = understand(part.facets.get("lineage"), f.Lineage, say.notes)
    if explicit is None:
        return False
    declared = order(DeclaredBy.LINEAGE, say.micros, say.event_hash)
    say.rows.append(say.dataset_row(target)._replace(declared_lineage=declared))
    state_dataset_lineage(say, explicit, target, Asserter(NOBODY, None, declared))
    return True


def _state_columns(say: Statements, part: DatasetPart, target: Named, place: Place) -> None:
    facet = part.facets.get("columnLineage")
    if facet is None or place.side is Side.INPUT:
        return
    said = facet_elements(facet, say.notes)
    if said is None:
        return
    declared_io = say.moment if place.side is Side.DECLARED else None
    declared_lineage = None
    if place.side is Side.ITSELF:
        declared_lineage = order(DeclaredBy.COLUMNS, say.micros, say.event_hash)
        say.rows.append(say.dataset_row(target)._replace(declared_lineage=declared_lineage))
    set_id = state_columns(say, said, place.job, place.run, target.id)
    ordered = say.order(DeclaredBy.COLUMNS, set_id if place.side is Side.OUTPUT else say.event_hash)
    say.rows.append(RunLineage(say.org, target.id, place.job, place.run, False, ordered, set_id))
    for namespace, name in source_datasets(said):
        say.edge(
            "DERIVES",
            ("dataset", say.mention(namespace, name).id),
            ("dataset", target.id),
            place.job,
            "declared" if declared_io or declared_lineage else "column",
            declared_io=declared_io,
            declared_lineage=declared_lineage,
        )


def _state_quality(say: Statements, part: DatasetPart, named: Named, place: Place) -> None:
    version = version_id(named.id, place.run) if place.side is Side.OUTPUT else None
    for facets in (part.facets, part.input_facets):
        assertions = understand(facets.get("dataQualityAssertions"), f.Assertions, say.notes)
        if assertions:
            state_assertions(say, assertions, named.id, place.run, version)
    expectations = understand(part.facets.get("lineageBridge_expectations"), f.Expectations, say.notes)
    if expectations:
        state_expectations(say, expectations, named.id)
