"""Text output of `lineage-bridge dataset`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.cli.output import MORE_RESULTS
from bridge.cli.table import Column, Row, Table, short_time, text_column, time_column
from bridge.versions.metadata import FAILED_CHECKS
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.queries.query import Page
    from bridge.queries.versions import VersionResult
    from bridge.store.references import NodeReference
    from bridge.versions.publish_commands import PublicationResult
    from bridge.versions.results import PinnedVersion, Publication, ResolvedVersion, VersionValidity

_LIVE = "a live table, changed in place: its current content may differ from this version"


def version_lines(page: "Page[VersionResult]") -> Iterator[str]:
    for version in page.items:
        states = _version_states(version)
        counts = (("row", version.rows), ("byte", version.bytes), ("file", version.files))
        sizes = "".join(f", {count_of(count, unit)}" for unit, count in counts if count is not None)
        by = f" by {version.job.namespace} {version.job.name}" if version.job else ""
        scope = ""
        if version.partitions is not None:
            scope = f" of {', '.join(version.partitions) or 'part of the dataset'}"
        details = f"  ({'; '.join(states)})" if states else ""
        yield f"{version.tag}  {version.produced_at}{by}{sizes}{scope}{details}"
    yield from _truncation_lines(page.next)


def version_table(page: "Page[VersionResult]") -> Table:
    columns = (
        Column("VERSION"), time_column("PRODUCED (UTC)"), Column("ROWS", right=True), Column("BYTES", right=True),
        Column("FILES", right=True), text_column("STATE"), text_column("JOB"), text_column("PARTITIONS"),
    )  # fmt: skip
    rows = [
        Row((
            version.tag, short_time(version.produced_at),
            *("" if count is None else f"{count:,}" for count in (version.rows, version.bytes, version.files)),
            "; ".join(_version_states(version)), f"{version.job.namespace} {version.job.name}" if version.job else "",
            "" if version.partitions is None else ", ".join(version.partitions) or "part of the dataset",
        ), "red" if version.invalid else None)
        for version in page.items
    ]  # fmt: skip
    return Table(columns, rows, list(_truncation_lines(page.next)))


def _version_states(version: "VersionResult") -> list[str]:
    states = []
    if version.latest:
        states.append("latest")
    if version.published:
        states.append("published")
    states += [f"pinned as {name}" for name in version.pins]
    if version.invalid:
        states.append(f"invalid: {version.invalid}")
    states += [f"failed check: {failure}" for failure in _failed_checks(version)]
    return states


def resolved_lines(version: "ResolvedVersion") -> Iterator[str]:
    yield f"{_full_name(version.dataset)}: version {version.tag}"
    partitions = None
    if version.partitions is not None:
        partitions = ", ".join(version.partitions) or "unnamed part"
    facts = {
        "how": _selection_text(version),
        "path": version.path,
        "run": version.run_id,
        "produced": version.produced_at,
        "schema": version.schema_hash,
        "rows": version.rows,
        "bytes": version.bytes,
        "files": version.files,
        "checksum": version.checksum,
        "partitions": partitions,
        "invalid": version.invalid,
        "note": _LIVE if version.live else None,
    }
    yield from (f"  {name}: {value}" for name, value in facts.items() if value is not None)
    yield from (f"  failed check: {failure}" for failure in _failed_checks(version))
    for partition, partition_reason in version.invalid_partitions.items():
        yield f"  invalid partition {partition}: {partition_reason}"


def _failed_checks(version: "VersionResult | ResolvedVersion") -> list[str]:
    """Return the checks of processes that a version failed after its publication."""
    failures_by_process = version.metadata.get(FAILED_CHECKS)
    if not isinstance(failures_by_process, dict):
        return []
    return [f"{failure} ({process})" for process, failures in failures_by_process.items() for failure in failures]


def _selection_text(version: "ResolvedVersion") -> str:
    """Describe how the version was selected."""
    if version.by == "published":
        return f"published {version.published_at} by {version.published_by} (publication {version.publication})"
    if version.by == "pin":
        return f"pinned as {version.pin}"
    return "by name" if version.by == "version" else "latest"


def history_lines(page: "Page[Publication]") -> Iterator[str]:
    yield from map(_publication_line, page.items)
    yield from _truncation_lines(page.next)


def _publication_line(publication: "Publication") -> str:
    reason = f": {publication.why}" if publication.why else ""
    change = f"{publication.from_version or '-'} -> {publication.to_version}"
    return f"{publication.publication}  {publication.at}  {publication.how}  {change}  by {publication.by}{reason}"


def history_table(page: "Page[Publication]") -> Table:
    columns = (
        Column("PUBLICATION", right=True), time_column("TIME (UTC)"), Column("KIND"), Column("FROM"), Column("TO"),
        Column("BY"), text_column("REASON"),
    )  # fmt: skip
    rows = [
        Row((
            str(publication.publication), short_time(publication.at), publication.how, publication.from_version or "",
            publication.to_version, publication.by, publication.why or "",
        ))
        for publication in page.items
    ]  # fmt: skip
    return Table(columns, rows, list(_truncation_lines(page.next)))


def pin_lines(page: "Page[PinnedVersion]") -> Iterator[str]:
    yield from map(pin_line, page.items)
    yield from _truncation_lines(page.next)


def pin_table(page: "Page[PinnedVersion]") -> Table:
    columns = (
        Column("PIN"), Column("VERSION"), time_column("UNTIL (UTC)"), Column("BY"), text_column("DATASET"),
        text_column("REASON"),
    )  # fmt: skip
    rows = [
        Row((pin.name, pin.version, short_time(pin.until), pin.by, _full_name(pin.dataset), pin.why or ""))
        for pin in page.items
    ]
    return Table(columns, rows, list(_truncation_lines(page.next)))


def pin_line(pin: "PinnedVersion") -> str:
    reason = f": {pin.why}" if pin.why else ""
    return f"{pin.name}  {_full_name(pin.dataset)}  version {pin.version}  until {pin.until}  by {pin.by}{reason}"


def published_lines(result: "PublicationResult") -> Iterator[str]:
    for dataset in result.datasets:
        previous = f"was {dataset.before}" if dataset.before else "was not published"
        change = previous if dataset.moved else "unchanged"
        yield f"{_full_name(dataset.dataset)}: {dataset.version} is published, {change}"
        if dataset.live:
            yield f"  note: {_LIVE}"
    if result.publication is not None:
        yield f"publication {result.publication}"


def validity_lines(validity: "VersionValidity") -> Iterator[str]:
    subject = f"version {validity.version}"
    if validity.partition:
        subject = f"partition {validity.partition} of {subject}"
    state = f"is invalid: {validity.reason}" if validity.reason else "is valid again"
    yield f"{_full_name(validity.dataset)}: {subject} {state}"
    if validity.published and validity.reason:
        yield "  it is published, so reads fail from now on: publish another version, or roll back"


def _truncation_lines(cursor: str | None) -> Iterator[str]:
    if cursor is not None:
        yield MORE_RESULTS


def _full_name(dataset: "NodeReference") -> str:
    return f"{dataset.namespace} {dataset.name}"
