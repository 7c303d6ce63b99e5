"""Reads JIL files into a job catalog, and applies it to the store."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bridge.intake.batch import write_events
from bridge.intake.event_reader import EventReader
from bridge.store.writer import Writer
from bridge.versions.registry import VersionRegistry
from connectors.autosys.files import find_jil_files, read_text
from connectors.errors import MissingDependency
from mappers.legacy.diagnostics import Diagnostic, DiagnosticLevel
from mappers.legacy.jil.job_catalog import JobCatalog
from mappers.legacy.jil.job_events import ScanOptions, build_job_event, build_retirement_event, normalized_definition
from mappers.legacy.jil.lint import unsupported_definitions
from mappers.legacy.jil.parser import parse_jil

#: So many names are told.
_MAX_NAMES = 20


def read_job_catalog(files: Iterable[Path]) -> JobCatalog:
    """Read files, and keep all that is wrong with them in the estate's problems; raises MissingPart."""
    try:
        import lark  # noqa: F401, PLC0415 - an extra: whether it is there is all that is asked
        import sqlglot  # noqa: F401, PLC0415 - as above
        import tree_sitter_bash  # noqa: F401, PLC0415 - as above
    except ImportError as error:
        raise MissingDependency(
            "JIL is read with lark, sqlglot and tree-sitter: pip install 'lineage-bridge[autosys]'"
        ) from error
    estate = JobCatalog()
    named = find_jil_files(files)
    for folder, others in named.skipped.items():
        estate.problems += _passed_over(folder, others)
        if not any(one.is_relative_to(folder) for one in named.files):
            estate.problems.append(Diagnostic(str(folder), 0, "error", "holds no file that ends with .jil"))
    for file in named.files:
        decoded = read_text(file)
        if decoded.lossy:
            said = f"some bytes are no letters of {decoded.encoding}: they were replaced"
            estate.problems.append(Diagnostic(str(file), 1, "warning", said))
        read = parse_jil(decoded.text, str(file))
        estate.problems += read.problems
        if not read.statements:
            # An export that failed leaves nothing, or its error; comments alone are somebody's.
            level: DiagnosticLevel = (
                "warning" if set(read.line_kinds) <= {"blank", "comment"} and decoded.text.strip() else "error"
            )
            estate.problems.append(Diagnostic(str(file), 1, level, "holds no statement of JIL"))
        estate.apply(read.statements)
    estate.problems += unsupported_definitions(estate)
    return estate


def _passed_over(folder: Path, others: list[Path]) -> Iterator[Diagnostic]:
    if others:
        names = ", ".join(str(one.relative_to(folder)) for one in others[:_MAX_NAMES])
        more = f", and {len(others) - _MAX_NAMES} more" if len(others) > _MAX_NAMES else ""
        said = f"{len(others)} files are hidden or do not end with .jil: not read: {names}{more}"
        yield Diagnostic(str(folder), 0, "warning", said)


_SOURCE = "autosys scan"


class ScanResult(NamedTuple):
    """What became of the jobs of an estate, by name, and which were refused, and why."""

    new: list[str]
    changed: list[str]
    retired: list[str]
    unchanged: int
    refused: list[str]

    @property
    def retires_most(self) -> bool:
        """Tell whether most of the jobs that are known would go."""
        return len(self.retired) > len(self.changed) + self.unchanged


def plan_scan(registry: VersionRegistry, estate: JobCatalog, instance: str) -> ScanResult:
    """Tell what a scan would change."""
    namespace = f"autosys://{instance}"
    before = {one.name: one for one in registry.definitions.list_active() if one.namespace == namespace}
    new, changed, unchanged = [], [], 0
    for job in estate.jobs.values():
        known = before.pop(job.name, None)
        if known is None:
            new.append(job.name)
        elif known.content_hash != registry.definitions.content_hash(
            normalized_definition(job, estate.enclosing_boxes(job))
        ):
            changed.append(job.name)
        else:
            unchanged += 1
    return ScanResult(new, changed, sorted(before), unchanged, [])


def apply_scan(
    registry: VersionRegistry, reader: EventReader, writer: Writer, estate: JobCatalog, how: ScanOptions, by: str
) -> ScanResult:
    """Bring the store to what the estate says: events first, so that what breaks in between is done again.

    A job whose event is refused is not registered: the next scan tells it again.
    """
    found = plan_scan(registry, estate, how.instance)
    names = [*found.new, *found.changed, *found.retired]
    told = (_event(estate, name, how) for name in names)
    refused = {names[place]: why for place, why in write_events(told, reader, writer, _SOURCE).items()}
    new, changed, retired = (
        [name for name in each if name not in refused] for each in (found.new, found.changed, found.retired)
    )
    taken = ScanResult(new, changed, retired, found.unchanged, [f"{name}: {why}" for name, why in refused.items()])
    namespace = f"autosys://{how.instance}"
    with registry.transaction():
        for name in (*new, *changed):
            job = estate.jobs[name]
            definition = normalized_definition(job, estate.enclosing_boxes(job))
            registry.definitions.register("process", namespace, name, definition, by)
        for name in retired:
            registry.definitions.deactivate("process", namespace, name)
    return taken


def _event(estate: JobCatalog, name: str, how: ScanOptions) -> bytes:
    job = estate.jobs.get(name)
    return build_job_event(job, estate.enclosing_boxes(job), how) if job else build_retirement_event(name, how)
