"""What `lineage-bridge dataset` tells."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.queries.query import Page
    from bridge.queries.versions import VersionResult
    from bridge.store.references import NodeReference
    from bridge.versions.publish_commands import PublicationResult
    from bridge.versions.results import PinnedVersion, Publication, ResolvedVersion, VersionValidity

_MORE = "… results truncated: raise --limit"
_LIVE = "a live table: it changes where it lies, so nothing promises that this version is what is there"


def version_lines(found: "Page[VersionResult]") -> Iterator[str]:
    """Tell versions, each with what was decided of it."""
    for one in found.items:
        decided = ["latest"] * one.latest + ["published"] * one.published
        decided += [f"pinned as {name}" for name in one.pins]
        decided += [f"invalid: {one.invalid}"] if one.invalid else []
        figures = (("rows", one.rows), ("bytes", one.bytes), ("files", one.files))
        told = "".join(f", {count} {what}" for what, count in figures if count is not None)
        by = f" by {one.job.namespace} {one.job.name}" if one.job else ""
        of = f" of {', '.join(one.partitions) or 'a part'}" if one.partitions is not None else ""
        all_of_it = f"  ({'; '.join(decided)})" if decided else ""
        yield f"{one.tag}  {one.produced_at}{by}{told}{of}{all_of_it}"
    yield from _more(found.next)


def resolved_lines(found: "ResolvedVersion") -> Iterator[str]:
    """Tell which version is meant."""
    yield f"{_name(found.dataset)}: version {found.tag}"
    how = {
        "published": f"published {found.published_at} by {found.published_by} (publication {found.publication})",
        "latest": "the latest",
        "version": "named",
        "pin": f"pinned as {found.pin}",
    }[found.by]
    facts = {
        "how": how,
        "path": found.path,
        "run": found.run_id,
        "produced": found.produced_at,
        "schema": found.schema_hash,
        "rows": found.rows,
        "bytes": found.bytes,
        "files": found.files,
        "checksum": found.checksum,
        "partitions": None if found.partitions is None else ", ".join(found.partitions) or "a part that has no name",
        "invalid": found.invalid,
        "note": _LIVE if found.live else None,
    }
    yield from (f"  {name}: {value}" for name, value in facts.items() if value is not None)
    yield from (f"  invalid of {part}: {why}" for part, why in found.invalid_partitions.items())


def history_lines(found: "Page[Publication]") -> Iterator[str]:
    """Tell what was published of a dataset."""
    yield from map(_move, found.items)
    yield from _more(found.next)


def _move(one: "Publication") -> str:
    why = f": {one.why}" if one.why else ""
    return f"{one.publication}  {one.at}  {one.how}  {one.from_version or '-'} -> {one.to_version}  by {one.by}{why}"


def pin_lines(found: "Page[PinnedVersion]") -> Iterator[str]:
    """Tell pins."""
    yield from map(pin_line, found.items)
    yield from _more(found.next)


def pin_line(pin: "PinnedVersion") -> str:
    """Tell a pin."""
    why = f": {pin.why}" if pin.why else ""
    return f"{pin.name}  {_name(pin.dataset)}  version {pin.version}  until {pin.until}  by {pin.by}{why}"


def published_lines(made: "PublicationResult") -> Iterator[str]:
    """Tell what is published now."""
    for one in made.datasets:
        was = f"was {one.before}" if one.before else "was not published"
        yield f"{_name(one.dataset)}: {one.version} is published, {was if one.moved else 'as it was'}"
        if one.live:
            yield f"  note: {_LIVE}"
    if made.publication is not None:
        yield f"publication {made.publication}"


def validity_lines(told: "VersionValidity") -> Iterator[str]:
    """Tell what was said of a version."""
    what = f"partition {told.partition} of version {told.version}" if told.partition else f"version {told.version}"
    said = f"is not to be read: {told.reason}" if told.reason else "is to be read again"
    yield f"{_name(told.dataset)}: {what} {said}"
    if told.published and told.reason:
        yield "  it is published, and refused from now on: publish another, or roll back"


def _more(cursor: str | None) -> Iterator[str]:
    """Say that there is more, if there is."""
    if cursor is not None:
        yield _MORE


def _name(dataset: "NodeReference") -> str:
    return f"{dataset.namespace} {dataset.name}"
