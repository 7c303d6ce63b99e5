"""Rows of `autorep -J … -s` and `-d`, read from the right: long names push the columns of a report about."""

import re
from typing import NamedTuple

from mappers.legacy.autorep.dates import DATE
from mappers.legacy.jil.statements import Problem

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
_HEADS = re.compile(r"\s*(?:Job Name\s|Status/\[Event\]|[_\-][_\- ]*$)")


class Event(NamedTuple):
    """Something that happened in a run: a status that it reached."""

    status: str
    time: str
    attempt: int | None
    machine: str | None


class Row(NamedTuple):
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
    events: tuple[Event, ...] = ()


class Report(NamedTuple):
    """The rows of a report, and every line of it that is none."""

    rows: list[Row]
    problems: list[Problem]

    def times(self) -> list[str]:
        """Give all times that it tells."""
        found = [time for row in self.rows for time in (row.start, row.end) if time]
        return found + [event.time for row in self.rows for event in row.events]


def read_report(text: str, file: str) -> Report:
    """Read a report; a line that is neither head, row nor event is told."""
    rows: list[Row] = []
    problems: list[Problem] = []
    boxes: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.rstrip().lstrip("\ufeff\f")
        if not bare or _HEADS.match(bare):
            continue
        if found := _ROW.fullmatch(bare):
            depth = len(found["indent"])
            boxes = [one for one in boxes if one[0] < depth]
            rows.append(_row(found, file, number, tuple(name for _, name in boxes)))
            boxes.append((depth, rows[-1].name))
        elif rows and (event := _EVENT.fullmatch(bare)):
            rows[-1] = rows[-1]._replace(events=(*rows[-1].events, _event(event)))
        elif not (rows and bare.lstrip().startswith("<")):  # a remark on the event before
            problems.append(
                Problem(file, number, "warning", f"is no row of a report: not taken: {bare.strip()[:80]}")
            )
    return Report(rows, problems)


def _row(found: "re.Match[str]", file: str, number: int, boxes: tuple[str, ...]) -> Row:
    code = found["exit"] if found["exit"] is not None else found["code"]
    return Row(
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


def _event(found: "re.Match[str]") -> Event:
    return Event(found["what"].strip("[]"), found["time"], _number(found["attempt"]), found["machine"])


def _time(text: str) -> str | None:
    return None if text.startswith("---") else text


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
