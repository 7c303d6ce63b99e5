"""The log of the scheduler: changes of status and alarms, one a line, which know no number of the run."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from mappers.legacy.autorep.dates import DATE
from mappers.legacy.autorep.report import AutorepReport, ReportRow, StatusEvent
from mappers.legacy.autorep.states import ACTIVE, BEGINS, ENDED
from mappers.legacy.diagnostics import Diagnostic

_AT = rf"\[(?P<time>{DATE})(?:\.\d+)?\]\s+"
_CHANGE = re.compile(
    rf"{_AT}(?:CAUAJM_I_40245\s+)?EVENT:\s+CHANGE_STATUS\s+STATUS:\s+(?P<status>[A-Z_]+)"
    r"\s+JOB:\s+(?P<job>\S+)(?:\s+MACHINE:\s+(?P<machine>\S+))?(?:\s+EXITCODE:\s+(?P<code>-?\d+))?.*"
)
_ALARM = re.compile(
    rf"{_AT}.*?(?:EVENT:\s+ALARM\s+ALARM:|\[\*+ *ALARM *\*+\])\s*(?P<alarm>[A-Z_]+)\s+JOB:\s+(?P<job>\S+).*"
)
#: What any other line tells of: an event, else the message that it is.
_OTHERS = (re.compile(r"EVENT:\s+([A-Z_]+)(?:\s+STATUS:\s+([A-Z_]+))?"), re.compile(r"(CAUAJM_\w+)"))
_CODES = {word: letters for letters, word in (ENDED | ACTIVE).items() if letters != "RE"}


class LogText(NamedTuple):
    """A text, and the file that it is of."""

    file: str
    text: str


def parse_scheduler_logs(texts: Iterable[LogText]) -> AutorepReport:
    """Gather the changes of each job into runs, from a start to the end that follows it; other lines are counted.

    Logs that one scheduler wrote one after the other are one log: a run may begin in one and end in the next.
    """
    reader = _LogParser()
    for file, text in texts:
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                reader.read(line.strip(), file, number)
    return reader.report


def first_timestamp(text: str) -> str | None:
    """Give the time of the first change that a log tells of."""
    found = _CHANGE.search(text)
    return found["time"] if found else None


class _LogParser:
    def __init__(self) -> None:
        #: Where among the rows the newest run of a job is, and which of these have not ended.
        self._newest: dict[str, int] = {}
        self._going: set[str] = set()
        self.report = AutorepReport([], [], Counter())

    def read(self, line: str, file: str, number: int) -> None:
        changed, alarmed = _CHANGE.fullmatch(line), _ALARM.fullmatch(line)
        if changed and changed["status"] in _CODES:
            self._change(changed, file, number)
        elif alarmed and alarmed["job"] in self._newest:
            place = self._newest[alarmed["job"]]
            self.report.rows[place] = self.report.rows[place].with_alarm(alarmed["alarm"], alarmed["time"])
        else:
            self.report.others[_kind(line)] += 1

    def _change(self, found: "re.Match[str]", file: str, number: int) -> None:
        rows, job, status, time = self.report.rows, found["job"], found["status"], found["time"]
        again = (
            status == "STARTING" and job in self._going and rows[self._newest[job]].events[-1].status != "STARTING"
        )
        if status in BEGINS and (job not in self._going or again):
            self._newest[job] = len(rows)
            self._going.add(job)
            rows.append(ReportRow(file, number, job, (), time, None, "ST", None, None, None))
        elif job not in self._going:
            said = f"{job} ends with {status}, and its start is in no log that is named: not taken"
            self.report.problems.append(Diagnostic(file, number, "warning", said))
            return
        place = self._newest[job]
        event = StatusEvent(status, time, None, found["machine"])
        rows[place] = rows[place]._replace(status=_CODES[status], events=(*rows[place].events, event))
        if status not in BEGINS:
            code = None if found["code"] is None else int(found["code"])
            rows[place] = rows[place]._replace(end=time, exit_code=code)
            self._going.remove(job)


def _kind(line: str) -> str:
    """Say what a line tells of that is no run."""
    found = next(filter(None, (pattern.search(line) for pattern in _OTHERS)), None)
    return " ".join(filter(None, found.groups())) if found else "another line"
