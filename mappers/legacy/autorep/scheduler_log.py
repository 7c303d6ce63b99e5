"""Parses scheduler logs into runs.

A line of a log contains a status change or an alarm, and no run number.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from mappers.legacy.autorep.dates import DATE
from mappers.legacy.autorep.report import AutorepReport, ReportRow, StatusEvent
from mappers.legacy.autorep.states import ACTIVE, ENDED, START_STATES
from mappers.legacy.diagnostics import Diagnostic

_TIMESTAMP = rf"\[(?P<time>{DATE})(?:\.\d+)?\]\s+"
_CHANGE = re.compile(
    rf"{_TIMESTAMP}(?:CAUAJM_I_40245\s+)?EVENT:\s+CHANGE_STATUS\s+STATUS:\s+(?P<status>[A-Z_]+)"
    r"\s+JOB:\s+(?P<job>\S+)(?:\s+MACHINE:\s+(?P<machine>\S+))?(?:\s+EXITCODE:\s+(?P<code>-?\d+))?.*"
)
_ALARM = re.compile(
    rf"{_TIMESTAMP}.*?(?:EVENT:\s+ALARM\s+ALARM:|\[\*+ *ALARM *\*+\])\s*(?P<alarm>[A-Z_]+)\s+JOB:\s+(?P<job>\S+).*"
)
#: The kind of any other line is its event, or else its message id.
_OTHER_LINES = (re.compile(r"EVENT:\s+([A-Z_]+)(?:\s+STATUS:\s+([A-Z_]+))?"), re.compile(r"(CAUAJM_\w+)"))
_STATUS_CODES = {status: code for code, status in (ENDED | ACTIVE).items() if code != "RE"}


class LogText(NamedTuple):
    """The text of a log, and its file name."""

    file: str
    text: str


def parse_scheduler_logs(logs: Iterable[LogText]) -> AutorepReport:
    """Group each job's status changes into runs, each from a start to the next end, and count all other lines.

    Consecutive logs of a scheduler are read as a single log, so a run may start in one log and end in the next.
    """
    parser = _LogParser()
    for file, text in logs:
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                parser.add_line(line.strip(), file, number)
    return parser.report


def first_timestamp(text: str) -> str | None:
    """Return the time of the first status change in a log."""
    match = _CHANGE.search(text)
    return match["time"] if match else None


class _LogParser:
    def __init__(self) -> None:
        #: Row index of the newest run of each job.
        self._newest_row_by_job: dict[str, int] = {}
        #: Jobs whose newest run has not ended.
        self._running: set[str] = set()
        self.report = AutorepReport([], [], Counter())

    def add_line(self, line: str, file: str, number: int) -> None:
        change, alarm = _CHANGE.fullmatch(line), _ALARM.fullmatch(line)
        if change and change["status"] in _STATUS_CODES:
            self._add_change(change, file, number)
        elif alarm and alarm["job"] in self._newest_row_by_job:
            index = self._newest_row_by_job[alarm["job"]]
            self.report.rows[index] = self.report.rows[index].with_alarm(alarm["alarm"], alarm["time"])
        else:
            self.report.other_lines[_line_kind(line)] += 1

    def _add_change(self, match: "re.Match[str]", file: str, number: int) -> None:
        """Start a run of a job, or add a status change to the job's newest run."""
        rows = self.report.rows
        job, status, time = match["job"], match["status"], match["time"]
        is_running = job in self._running
        # A job that starts again without an end in between has been restarted.
        is_restart = is_running and status == "STARTING" and self._last_status(job) != "STARTING"
        if status in START_STATES and (is_restart or not is_running):
            self._newest_row_by_job[job] = len(rows)
            self._running.add(job)
            rows.append(
                ReportRow(
                    file,
                    number,
                    job,
                    boxes=(),
                    start=time,
                    end=None,
                    status="ST",
                    run=None,
                    attempt=None,
                    exit_code=None,
                )
            )
        elif not is_running:
            message = f"{job} ends with {status}, but no log contains its start: not imported"
            self.report.problems.append(Diagnostic(file, number, "warning", message))
            return
        index = self._newest_row_by_job[job]
        event = StatusEvent(status, time, None, match["machine"])
        rows[index] = rows[index]._replace(status=_STATUS_CODES[status], events=(*rows[index].events, event))
        if status not in START_STATES:
            code = None if match["code"] is None else int(match["code"])
            rows[index] = rows[index]._replace(end=time, exit_code=code)
            self._running.remove(job)

    def _last_status(self, job: str) -> str:
        return self.report.rows[self._newest_row_by_job[job]].events[-1].status


def _line_kind(line: str) -> str:
    """Return the kind of a line that is not part of a run."""
    for pattern in _OTHER_LINES:
        match = pattern.search(line)
        if match is not None:
            return " ".join(group for group in match.groups() if group)
    return "another line"
