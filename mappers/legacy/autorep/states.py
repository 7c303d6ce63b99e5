"""Autosys job states, and exit codes that count as success."""

from collections.abc import Mapping


def is_success(code: int, rule: Mapping[str, str]) -> bool:
    """Tell whether a job succeeded: `fail_codes` decides, else `success_codes`, else the greatest that is one."""
    if listed := rule.get("fail_codes"):
        return not _among(code, listed)
    if listed := rule.get("success_codes"):
        return _among(code, listed)
    greatest = rule.get("max_exit_success", "").strip()
    return code <= (int(greatest) if greatest.isdigit() else 0)


def _among(code: int, listed: str) -> bool:
    for part in listed.replace('"', "").split(","):
        first, dash, last = (one.strip() for one in part.partition("-"))
        if first.isdigit() and (not dash or last.isdigit()) and int(first) <= code <= int(last or first):
            return True
    return False


#: By the two letters of a report.
ENDED = {"SU": "SUCCESS", "FA": "FAILURE", "TE": "TERMINATED"}
ACTIVE = {"ST": "STARTING", "RU": "RUNNING", "RE": "FAILURE"}
#: How a job stands since its last run, or until its next one.
IDLE = {
    "IN": "INACTIVE", "AC": "ACTIVATED", "OI": "ON_ICE", "OH": "ON_HOLD", "NO": "ON_NOEXEC", "QU": "QUE_WAIT",
    "PE": "PEND_MACH", "RW": "RESWAIT",
}  # fmt: skip
#: What is about to run shows a priority, or the number of its next run: nothing of its last one is sure.
_ABOUT_TO_RUN = frozenset({"AC", "QU", "PE", "RW"})
#: What events tell of a run.
BEGINS = frozenset({"STARTING", "RUNNING"})
ENDS = frozenset({"SUCCESS", "FAILURE", "TERMINATED", "RESTART"})


def infer_outcome(status: str, code: int | None, rule: Mapping[str, str] | None) -> str | None:
    """Tell by its exit code how the last run of a job that stands still ended; None where nobody can tell.

    Of a status that is not known nobody can. Below zero it was Autosys that ended it. Whether a code above zero is a
    success, only a definition says.
    """
    stands = status in IDLE and status not in _ABOUT_TO_RUN
    if code is None or code < 0 or not stands or (rule is None and code):
        return None
    return "SUCCESS" if is_success(code, rule or {}) else "FAILURE"
