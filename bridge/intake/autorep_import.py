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

_DELIVERY = LegacyInputKind(LegacyFormat.RUN_EVENT, historical=True)
#: What Autosys writes unless a site wants otherwise.
_USUAL: DateOrder = "mdy"


class AutorepImportOptions(NamedTuple):
    """What the reports do not say of themselves; an order of dates that nobody names is guessed."""

    instance: str
    zone: tzinfo
    order: DateOrder | None
    boxes: Mapping[str, tuple[str, ...]]
    waits: Mapping[str, "Sequence[StatusCondition]"] = {}
    successes: Mapping[str, Mapping[str, str]] = {}


class AutorepImportResult(NamedTuple):
    """What became of reports: runs told, bodies that were refused, remarks, and lines that tell of no run."""

    runs: int
    rejected: int
    problems: list[str]
    #: How many lines, by what they tell of.
    skipped_lines: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """Public JSON form; its keys are stable."""
        return {"runs": self.runs, "rejected": self.rejected, "problems": self.problems, "others": self.skipped_lines}


def import_reports(
    files: Iterable[Path], where: AutorepImportOptions, legacy: LegacyReader, writer: Writer
) -> AutorepImportResult:
    """Take the runs of reports and logs; again does no harm."""
    runs = rejected = 0
    problems: list[str] = []
    others: Counter[str] = Counter()
    for named, report, order in _reports(files, where):
        if order is None and report.times():
            problems.append(f"{named}: warning: dates could be of either order: taken as month/day (--dates says it)")
        site = ReportContext(where.instance, order or _USUAL, where.zone, where.boxes, where.waits, where.successes)
        told = build_run_history(report, site)
        others += report.other_lines
        problems += [str(one) for one in (*report.problems, *told.problems)]
        found = (legacy.read(msgspec.json.encode(body), _DELIVERY, now_micros()) for body in told.bodies)
        taken, refused = write_bodies(found, writer)
        runs, rejected = runs + taken, rejected + refused
    return AutorepImportResult(runs, rejected, problems, dict(others))


def _reports(
    files: Iterable[Path], where: AutorepImportOptions
) -> Iterator[tuple[str, AutorepReport, DateOrder | None]]:
    """Give each report with the order of its dates, where that is certain; all logs are one, in the order of time."""
    logs: list[LogText] = []
    for file in files:
        text = read_text(file).text
        if first_timestamp(text) is None:
            report = parse_report(text, str(file))
            yield str(file), report, where.order or _certain(report)
        else:
            logs.append(LogText(str(file), text))
    if logs:
        report = parse_scheduler_logs(logs)
        order = where.order or _certain(report)
        ordered = _in_time(logs, order or _USUAL, where.zone)
        yield (
            ", ".join(one.file for one in ordered),
            report if ordered == logs else parse_scheduler_logs(ordered),
            order,
        )


def _in_time(logs: list[LogText], order: DateOrder, zone: tzinfo) -> list[LogText]:
    """Put logs in the order in which they were written; where a time cannot be, as they are named."""
    with suppress(ValueError):
        return sorted(logs, key=lambda one: parse_report_time(first_timestamp(one.text) or "", order, zone))
    return logs


def _certain(report: AutorepReport) -> DateOrder | None:
    guessed = guess_date_order(report.times())
    return guessed.order if guessed.certain else None
