"""The log of the scheduler: changes of status, one a line, which know no number of the run."""

import re

from mappers.legacy.autorep.dates import DATE
from mappers.legacy.autorep.report import Event, Report, Row
from mappers.legacy.jil.statements import Problem

_CHANGE = re.compile(
    rf"\[(?P<time>{DATE})(?:\.\d+)?\]\s+(?:CAUAJM_I_40245\s+)?EVENT:\s+CHANGE_STATUS\s+STATUS:\s+(?P<status>[A-Z_]+)"
    r"\s+JOB:\s+(?P<job>\S+)(?:\s+MACHINE:\s+(?P<machine>\S+))?(?:\s+EXITCODE:\s+(?P<code>-?\d+))?.*"
)
_BEGINS = frozenset({"STARTING", "RUNNING"})
_ENDS = frozenset({"SUCCESS", "FAILURE", "TERMINATED"})
_CODES = {"SUCCESS": "SU", "FAILURE": "FA", "TERMINATED": "TE", "RUNNING": "RU", "STARTING": "ST"}


def is_log(text: str) -> bool:
    """Tell whether a text is such a log, by the first change that it tells of."""
    return _CHANGE.search(text) is not None


def read_log(text: str, file: str) -> Report:
    """Gather the changes of each job into runs: from a start to the end that follows it."""
    rows: list[Row] = []
    problems: list[Problem] = []
    going: dict[str, Row] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = _CHANGE.fullmatch(line.strip())
        if found is None or found["status"] not in _BEGINS | _ENDS:
            continue  # whatever else the scheduler does
        job, status, time = found["job"], found["status"], found["time"]
        row = going.get(job)
        event = Event(status, time, None, found["machine"])
        if row is None or (status == "STARTING" and row.events and row.events[-1].status != "STARTING"):
            if row is not None:
                rows.append(row)
            if status in _ENDS:
                said = f"{job} ends with {status}, and its start is not in the log: not taken"
                problems.append(Problem(file, number, "warning", said))
                continue
            row = Row(file, number, job, (), time, None, "ST", None, None, None)
        row = row._replace(status=_CODES[status], events=(*row.events, event))
        going[job] = row
        if status in _ENDS:
            code = None if found["code"] is None else int(found["code"])
            rows.append(row._replace(end=time, exit_code=code))
            del going[job]
    return Report([*rows, *going.values()], problems)
