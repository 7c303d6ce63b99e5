"""Reads JIL files into a job catalog, and applies the catalog to the store."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bridge.intake.batch import write_events
from bridge.intake.event_reader import EventReader
from bridge.store.writer import Writer
from bridge.versions.registry import VersionRegistry
from connectors.autosys.files import find_jil_files, read_text
from connectors.errors import MissingDependency
from mappers.counts import count_of
from mappers.legacy.diagnostics import Diagnostic, DiagnosticLevel
from mappers.legacy.jil.job_catalog import JobCatalog
from mappers.legacy.jil.job_events import ScanOptions, build_job_event, build_retirement_event, normalized_definition
from mappers.legacy.jil.lint import unsupported_definitions
from mappers.legacy.jil.parser import parse_jil

#: Maximum number of file names in a warning.
_MAX_NAMES = 20


def read_job_catalog(files: Iterable[Path]) -> JobCatalog:
    """Read files into a job catalog, which also collects their problems.

    Raises MissingDependency if a parser library is not installed.
    """
    try:
        import lark  # noqa: F401, PLC0415 - an extra: only its presence is checked
        import sqlglot  # noqa: F401, PLC0415 - as above
        import tree_sitter_bash  # noqa: F401, PLC0415 - as above
    except ImportError as error:
        raise MissingDependency(
            "parsing JIL needs lark, sqlglot and tree-sitter: pip install 'lineage-bridge[autosys]'"
        ) from error
    catalog = JobCatalog()
    jil_files = find_jil_files(files)
    for folder, skipped_files in jil_files.skipped.items():
        catalog.problems += _skipped_file_warnings(folder, skipped_files)
        if not any(file.is_relative_to(folder) for file in jil_files.files):
            catalog.problems.append(Diagnostic(str(folder), 0, "error", "contains no file with the suffix .jil"))
    for file in jil_files.files:
        decoded_text = read_text(file)
        if decoded_text.lossy:
            message = f"replaced bytes that are invalid in {decoded_text.encoding}"
            catalog.problems.append(Diagnostic(str(file), 1, "warning", message))
        parsed_jil = parse_jil(decoded_text.text, str(file))
        catalog.problems += parsed_jil.problems
        if not parsed_jil.statements:
            # A failed export leaves an empty file or an error message; a file of comments alone may be intended.
            has_only_comments = set(parsed_jil.line_kinds) <= {"blank", "comment"} and decoded_text.text.strip()
            level: DiagnosticLevel = "warning" if has_only_comments else "error"
            catalog.problems.append(Diagnostic(str(file), 1, level, "contains no JIL statement"))
        catalog.apply(parsed_jil.statements)
    catalog.problems += unsupported_definitions(catalog)
    return catalog


def _skipped_file_warnings(folder: Path, skipped_files: list[Path]) -> Iterator[Diagnostic]:
    if skipped_files:
        names = ", ".join(str(file.relative_to(folder)) for file in skipped_files[:_MAX_NAMES])
        suffix = f", and {len(skipped_files) - _MAX_NAMES} more" if len(skipped_files) > _MAX_NAMES else ""
        message = (
            f"skipped {count_of(len(skipped_files), 'file')} (hidden, or without the ending .jil): {names}{suffix}"
        )
        yield Diagnostic(str(folder), 0, "warning", message)


_SOURCE = "autosys scan"


class ScanResult(NamedTuple):
    """Names of new, changed and retired jobs since the last scan. Entries of `refused` include the reason."""

    new: list[str]
    changed: list[str]
    retired: list[str]
    unchanged: int
    refused: list[str]

    @property
    def retires_most(self) -> bool:
        """True if more registered jobs would be retired than kept."""
        return len(self.retired) > len(self.changed) + self.unchanged


def plan_scan(registry: VersionRegistry, catalog: JobCatalog, instance: str) -> ScanResult:
    """Compare a catalog with the registered jobs, without changing them."""
    namespace = f"autosys://{instance}"
    registered_by_name = {
        version.name: version for version in registry.definitions.list_active() if version.namespace == namespace
    }
    new_names, changed_names = [], []
    unchanged_count = 0
    for job in catalog.jobs.values():
        stored_definition = registered_by_name.pop(job.name, None)
        definition = normalized_definition(job, catalog.enclosing_boxes(job))
        if stored_definition is None:
            new_names.append(job.name)
        elif stored_definition.content_hash != registry.definitions.content_hash(definition):
            changed_names.append(job.name)
        else:
            unchanged_count += 1
    return ScanResult(new_names, changed_names, sorted(registered_by_name), unchanged_count, [])


def apply_scan(
    registry: VersionRegistry, reader: EventReader, writer: Writer, catalog: JobCatalog, options: ScanOptions, by: str
) -> ScanResult:
    """Apply a catalog to the store. Events are written first, so that the next scan completes an interrupted one.

    A job whose event is rejected is not registered: the next scan sends it again.
    """
    plan = plan_scan(registry, catalog, options.instance)
    names = [*plan.new, *plan.changed, *plan.retired]
    events = (_build_event(catalog, name, options) for name in names)
    reasons_by_index = write_events(events, reader, writer, _SOURCE)
    rejection_reasons = {names[index]: reason for index, reason in reasons_by_index.items()}
    new_names = [name for name in plan.new if name not in rejection_reasons]
    changed_names = [name for name in plan.changed if name not in rejection_reasons]
    retired_names = [name for name in plan.retired if name not in rejection_reasons]
    result = ScanResult(
        new_names,
        changed_names,
        retired_names,
        plan.unchanged,
        [f"{name}: {reason}" for name, reason in rejection_reasons.items()],
    )
    namespace = f"autosys://{options.instance}"
    with registry.transaction():
        for name in (*new_names, *changed_names):
            job = catalog.jobs[name]
            definition = normalized_definition(job, catalog.enclosing_boxes(job))
            registry.definitions.register("process", namespace, name, definition, by)
        for name in retired_names:
            registry.definitions.deactivate("process", namespace, name)
    return result


def _build_event(catalog: JobCatalog, name: str, options: ScanOptions) -> bytes:
    job = catalog.jobs.get(name)
    if job is None:
        return build_retirement_event(name, options)
    return build_job_event(job, catalog.enclosing_boxes(job), options)
