"""Parses `autorep -J … -s` and `-d` reports.

Rows are parsed from the right, because long names shift the columns of a report.
"""

import re
from collections import Counter
from typing import NamedTuple

from mappers.legacy.autorep.dates import DATE
from mappers.legacy.autorep.states import END_STATES, IDLE, START_STATES
from mappers.legacy.diagnostics import Diagnostic

_NONE = r"-{3,}"
_ROW = re.compile(
    rf"(?P<indent>[ \t]*+)(?P<name>\S.*?)(?<![ \t])[ \t]++(?P<start>{DATE}|{_NONE})[ \t]+(?P<end>{DATE}|{_NONE})"
    r"[ \t]+(?P<status>[A-Z]{2})(?:/(?P<code>-?\d+))?"
    r"(?:[ \t]+(?P<run>\d+)/(?P<attempt>\d+))?(?:[ \t]+(?P<exit>-?\d+))?[ \t]*"
)
_EVENT = re.compile(
    rf"[ \t]+(?P<event>[A-Z_]+|\[[^\]]+\])[ \t]+(?P<time>{DATE})(?:[ \t]+(?P<attempt>\d+))?"
    rf"(?:[ \t]+(?P<processed>[A-Z]{{2}}))?(?:[ \t]+(?P<processed_at>{DATE}))?(?:[ \t]+(?P<machine>\S+))?[ \t]*"
)
#: Starts an alarm, whose details follow on the same line or the next one.
_ALARM = re.compile(r"[ \t]*\[\*+ *ALARM *\*+\](?P<alarm>.*)")
_TIME = re.compile(rf"({DATE})\b.*")
_STATUSES = START_STATES | END_STATES | frozenset(IDLE.values())
_HEADERS = re.compile(r"\s*(?:Job Name\s|Status/\[Event\]|[_\-][_\- ]*$)")


class StatusEvent(NamedTuple):
    """A status that a run has reached."""

    status: str
    time: str
    attempt: int | None
    machine: str | None


class Alarm(NamedTuple):
    """An alarm of a job, with its time and attempt if they are reported."""

    name: str
    time: str | None
    attempt: int | None


class ReportRow(NamedTuple):
    """A job in a report, with its last run or the run that the report was requested for."""

    file: str
    line: int
    name: str
    boxes: tuple[str, ...]
    start: str | None
    end: str | None
    status: str
    run: int | None
    attempt: int | None
    exit_code: int | None
    events: tuple[StatusEvent, ...] = ()
    alarms: tuple[Alarm, ...] = ()

    def with_alarm(self, name: str, time: str | None) -> "ReportRow":
        """Add an alarm to the newest attempt."""
        attempts = [
            event.attempt
            for event in self.events
            if event.status in START_STATES | END_STATES and event.attempt is not None
        ]
        alarm = Alarm(name, time, attempts[-1] if attempts else self.attempt)
        return self._replace(alarms=(*self.alarms, alarm))


class AutorepReport(NamedTuple):
    """The rows of a report, problems, and the number of lines of each kind that do not belong to a run."""

    rows: list[ReportRow]
    problems: list[Diagnostic]
    other_lines: Counter[str]

    def times(self) -> list[str]:
        """Return all times in the report."""
        times = [time for row in self.rows for time in (row.start, row.end) if time]
        times += [event.time for row in self.rows for event in row.events]
        return times + [alarm.time for row in self.rows for alarm in row.alarms if alarm.time]


def parse_report(text: str, file: str) -> AutorepReport:
    """Parse a report; a line that is neither header, row, event nor alarm becomes a warning."""
    parser = _ReportParser(file)
    for number, line in enumerate(text.splitlines(), 1):
        stripped_line = line.rstrip().lstrip("\ufeff\f")
        if stripped_line and not _HEADERS.match(stripped_line):
            parser.add_line(stripped_line, number)
    parser.flush_alarm()
    return parser.report


class _ReportParser:
    def __init__(self, file: str) -> None:
        self._file = file
        #: Depth and name of the boxes around the current row, outermost first.
        self._boxes: list[tuple[int, str]] = []
        #: An alarm has started, but its name has not been read yet.
        self._alarm_is_pending = False
        self.report = AutorepReport([], [], Counter())

    def add_line(self, line: str, number: int) -> None:
        """Add the row, alarm or event of a line; any other line is reported as a problem."""
        rows = self.report.rows
        if match := _ROW.fullmatch(line):
            self.flush_alarm()
            depth = len(match["indent"])
            self._boxes = [(box_depth, box) for box_depth, box in self._boxes if box_depth < depth]
            rows.append(_build_row(match, self._file, number, tuple(name for _, name in self._boxes)))
            self._boxes.append((depth, rows[-1].name))
        elif rows and (match := _ALARM.fullmatch(line)):
            self.flush_alarm()
            self._start_alarm(match["alarm"])
        elif rows and (match := _EVENT.fullmatch(line)):
            self._add_event(match)
        elif rows and line.lstrip().startswith("<"):
            self.report.other_lines["a remark"] += 1
        else:
            message = f"ignored line that is not a report row: {line.strip()[:80]}"
            self.report.problems.append(Diagnostic(self._file, number, "warning", message))

    def flush_alarm(self) -> None:
        """Add the pending alarm, if any, without a name and time, because no details followed."""
        if self._alarm_is_pending:
            self._alarm_is_pending = False
            self._add_alarm("ALARM", None)

    def _start_alarm(self, details: str) -> None:
        """Add an alarm with the details on its first line; without any, wait for the next line."""
        if not details.strip():
            self._alarm_is_pending = True
        elif match := _EVENT.fullmatch(f" {details}"):
            self._add_alarm(match["event"], match["time"])
        elif match := _TIME.fullmatch(details.strip()):
            self._add_alarm("ALARM", match[1])
        else:
            self._add_alarm(details.strip()[:80], None)

    def _add_event(self, match: "re.Match[str]") -> None:
        """Add an event to the newest row; after the start of an alarm, the line may name the alarm instead."""
        name = match["event"]
        if self._alarm_is_pending and not name.startswith("[") and name not in _STATUSES:
            self._alarm_is_pending = False
            self._add_alarm(name, match["time"])
            return
        self.flush_alarm()
        rows = self.report.rows
        event = StatusEvent(name.strip("[]"), match["time"], _optional_int(match["attempt"]), match["machine"])
        rows[-1] = rows[-1]._replace(events=(*rows[-1].events, event))
        if event.status not in START_STATES | END_STATES:
            self.report.other_lines[event.status] += 1

    def _add_alarm(self, name: str, time: str | None) -> None:
        rows = self.report.rows
        rows[-1] = rows[-1].with_alarm(name, time)


def _build_row(match: "re.Match[str]", file: str, number: int, boxes: tuple[str, ...]) -> ReportRow:
    code = match["exit"] if match["exit"] is not None else match["code"]
    return ReportRow(
        file,
        number,
        match["name"],
        boxes,
        start=_optional_time(match["start"]),
        end=_optional_time(match["end"]),
        status=match["status"],
        run=_optional_int(match["run"]),
        attempt=_optional_int(match["attempt"]),
        exit_code=_optional_int(code),
    )


def _optional_time(text: str) -> str | None:
    return None if text.startswith("---") else text


def _optional_int(text: str | None) -> int | None:
    return None if text is None else int(text)
