"""Imports runs from autorep reports and scheduler logs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from bridge.clock import now_micros
from bridge.intake.batch import write_bodies
from bridge.intake.legacy import LegacyInputKind, LegacyReader
from bridge.store.writer import Writer
from connectors.autosys.files import read_text
from mappers.legacy.autorep.context import ReportContext
from mappers.legacy.autorep.dates import DateOrder, guess_date_order, parse_report_time
from mappers.legacy.autorep.report import AutorepReport, parse_report
from mappers.legacy.autorep.run_history import build_run_history
from mappers.legacy.autorep.scheduler_log import LogText, first_timestamp, parse_scheduler_logs
from mappers.legacy.formats import LegacyFormat

if TYPE_CHECKING:
    from mappers.legacy.jil.conditions import StatusCondition

_INPUT_KIND = LegacyInputKind(LegacyFormat.RUN_EVENT, historical=True)
#: The default date order of Autosys.
_DEFAULT_DATE_ORDER: DateOrder = "mdy"


class AutorepImportOptions(NamedTuple):
    """Settings that the reports do not contain. If `order` is None, the date order is detected."""

    instance: str
    zone: tzinfo
    order: DateOrder | None
    boxes: Mapping[str, tuple[str, ...]]
    awaited_statuses: Mapping[str, "Sequence[StatusCondition]"] = {}
    success_rules: Mapping[str, Mapping[str, str]] = {}


class AutorepImportResult(NamedTuple):
    """Counts of imported runs, rejected bodies and skipped lines, and the problems found."""

    runs: int
    rejected: int
    problems: list[str]
    #: Number of lines that describe no run, by kind.
    skipped_lines: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """Convert to the public JSON form, with stable keys."""
        return {"runs": self.runs, "rejected": self.rejected, "problems": self.problems, "others": self.skipped_lines}


def import_reports(
    files: Iterable[Path], options: AutorepImportOptions, legacy: LegacyReader, writer: Writer
) -> AutorepImportResult:
    """Import the runs of reports and scheduler logs. Importing them again is harmless."""
    total_accepted = total_rejected = 0
    problems: list[str] = []
    skipped_lines: Counter[str] = Counter()
    for label, report, order in _parse_reports(files, options):
        if order is None and report.times():
            problems.append(f"{label}: warning: ambiguous dates read as month/day (set the order with --dates)")
        context = ReportContext(
            options.instance,
            order or _DEFAULT_DATE_ORDER,
            options.zone,
            options.boxes,
            options.awaited_statuses,
            options.success_rules,
        )
        history = build_run_history(report, context)
        skipped_lines += report.other_lines
        problems += [str(problem) for problem in (*report.problems, *history.problems)]
        inputs = (legacy.read(msgspec.json.encode(body), _INPUT_KIND, now_micros()) for body in history.bodies)
        accepted_count, rejected_count = write_bodies(inputs, writer)
        total_accepted += accepted_count
        total_rejected += rejected_count
    return AutorepImportResult(total_accepted, total_rejected, problems, dict(skipped_lines))


def _parse_reports(
    files: Iterable[Path], options: AutorepImportOptions
) -> Iterator[tuple[str, AutorepReport, DateOrder | None]]:
    """Yield each report with its label and date order (None if uncertain). All logs together form one report."""
    logs: list[LogText] = []
    for file in files:
        text = read_text(file).text
        is_scheduler_log = first_timestamp(text) is not None
        if not is_scheduler_log:
            report = parse_report(text, str(file))
            yield str(file), report, options.order or _guess_certain_order(report)
        else:
            logs.append(LogText(str(file), text))
    if logs:
        report = parse_scheduler_logs(logs)
        order = options.order or _guess_certain_order(report)
        sorted_logs = _sort_logs(logs, order or _DEFAULT_DATE_ORDER, options.zone)
        if sorted_logs != logs:
            report = parse_scheduler_logs(sorted_logs)
        yield ", ".join(log.file for log in sorted_logs), report, order


def _sort_logs(logs: list[LogText], order: DateOrder, zone: tzinfo) -> list[LogText]:
    """Sort logs by their first timestamp. If one of these timestamps cannot be parsed, keep the given order."""
    with suppress(ValueError):
        return sorted(logs, key=lambda log: parse_report_time(first_timestamp(log.text) or "", order, zone))
    return logs


def _guess_certain_order(report: AutorepReport) -> DateOrder | None:
    guess = guess_date_order(report.times())
    return guess.order if guess.certain else None
