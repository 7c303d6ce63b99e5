"""Rows of `autorep -J … -s` and `-d`, read from the right: long names push the columns of a report about."""

import re
from collections import Counter
from typing import NamedTuple

from mappers.legacy.autorep.dates import DATE
from mappers.legacy.autorep.states import BEGINS, ENDS, IDLE
from mappers.legacy.diagnostics import Diagnostic

_NONE = r"-{3,}"
_ROW = re.compile(
    rf"(?P<indent>[ \t]*)(?P<name>\S.*?)[ \t]+(?P<start>{DATE}|{_NONE})[ \t]+(?P<end>{DATE}|{_NONE})"
    r"[ \t]+(?P<status>[A-Z]{2})(?:/(?P<code>-?\d+))?"
    r"(?:[ \t]+(?P<run>\d+)/(?P<attempt>\d+))?(?:[ \t]+(?P<exit>-?\d+))?[ \t]*"
)
_EVENT = re.compile(
    rf"[ \t]+(?P<what>[A-Z_]+|\[[^\]]+\])[ \t]+(?P<time>{DATE})(?:[ \t]+(?P<attempt>\d+))?"
    rf"(?:[ \t]+(?P<processed>[A-Z]{{2}}))?(?:[ \t]+(?P<at>{DATE}))?(?:[ \t]+(?P<machine>\S+))?[ \t]*"
)
#: Stands above the alarm that it announces, or before it.
_ALARM = re.compile(r"[ \t]*\[\*+ *ALARM *\*+\](?P<alarm>.*)")
_TIME = re.compile(rf"({DATE})\b.*")
_STATUSES = BEGINS | ENDS | frozenset(IDLE.values())
_HEADS = re.compile(r"\s*(?:Job Name\s|Status/\[Event\]|[_\-][_\- ]*$)")


class StatusEvent(NamedTuple):
    """Something that happened in a run: a status that it reached."""

    status: str
    time: str
    attempt: int | None
    machine: str | None


class Alarm(NamedTuple):
    """An alarm that was raised of a job, in which try, and when where that is told."""

    name: str
    time: str | None
    attempt: int | None


class ReportRow(NamedTuple):
    """A job of a report with its last run, or the one that was asked for."""

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
        """Give the row with an alarm of its newest try."""
        attempts = [one.attempt for one in self.events if one.status in BEGINS | ENDS and one.attempt is not None]
        alarm = Alarm(name, time, attempts[-1] if attempts else self.attempt)
        return self._replace(alarms=(*self.alarms, alarm))


class AutorepReport(NamedTuple):
    """The rows of a report, the lines that cannot be read, and how many tell of no run, by what they tell of."""

    rows: list[ReportRow]
    problems: list[Diagnostic]
    others: Counter[str]

    def times(self) -> list[str]:
        """Give all times that it tells."""
        found = [time for row in self.rows for time in (row.start, row.end) if time]
        found += [event.time for row in self.rows for event in row.events]
        return found + [alarm.time for row in self.rows for alarm in row.alarms if alarm.time]


def parse_report(text: str, file: str) -> AutorepReport:
    """Read a report; a line that is neither head, row, event nor alarm is told."""
    reader = _ReportParser(file)
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.rstrip().lstrip("\ufeff\f")
        if bare and not _HEADS.match(bare):
            reader.read(bare, number)
    reader.settle()
    return reader.report


class _ReportParser:
    def __init__(self, file: str) -> None:
        self._file = file
        self._boxes: list[tuple[int, str]] = []
        #: Whether an alarm was announced that has no name yet.
        self._announced = False
        self.report = AutorepReport([], [], Counter())

    def read(self, line: str, number: int) -> None:
        rows = self.report.rows
        if found := _ROW.fullmatch(line):
            self.settle()
            depth = len(found["indent"])
            self._boxes = [one for one in self._boxes if one[0] < depth]
            rows.append(_row(found, self._file, number, tuple(name for _, name in self._boxes)))
            self._boxes.append((depth, rows[-1].name))
        elif rows and (announced := _ALARM.fullmatch(line)):
            self.settle()
            self._announce(announced["alarm"])
        elif rows and (found := _EVENT.fullmatch(line)):
            self._event(found)
        elif rows and line.lstrip().startswith("<"):
            self.report.others["a remark"] += 1
        else:
            said = f"is no row of a report: not taken: {line.strip()[:80]}"
            self.report.problems.append(Diagnostic(self._file, number, "warning", said))

    def settle(self) -> None:
        """Keep an alarm that was announced, and of which nothing more is said."""
        if self._announced:
            self._announced = False
            self._alarm("ALARM", None)

    def _announce(self, text: str) -> None:
        if not text.strip():
            self._announced = True
        elif found := _EVENT.fullmatch(f" {text}"):
            self._alarm(found["what"], found["time"])
        elif found := _TIME.fullmatch(text.strip()):
            self._alarm("ALARM", found[1])
        else:
            self._alarm(text.strip()[:80], None)

    def _event(self, found: "re.Match[str]") -> None:
        what = found["what"]
        if self._announced and not what.startswith("[") and what not in _STATUSES:
            self._announced = False
            self._alarm(what, found["time"])
            return
        self.settle()
        rows = self.report.rows
        event = StatusEvent(what.strip("[]"), found["time"], _number(found["attempt"]), found["machine"])
        rows[-1] = rows[-1]._replace(events=(*rows[-1].events, event))
        if event.status not in BEGINS | ENDS:
            self.report.others[event.status] += 1

    def _alarm(self, name: str, time: str | None) -> None:
        rows = self.report.rows
        rows[-1] = rows[-1].with_alarm(name, time)


def _row(found: "re.Match[str]", file: str, number: int, boxes: tuple[str, ...]) -> ReportRow:
    code = found["exit"] if found["exit"] is not None else found["code"]
    return ReportRow(
        file,
        number,
        found["name"],
        boxes,
        _time(found["start"]),
        _time(found["end"]),
        found["status"],
        _number(found["run"]),
        _number(found["attempt"]),
        _number(code),
    )


def _time(text: str) -> str | None:
    return None if text.startswith("---") else text


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
