"""States of jobs in reports: which are the end of a run, which a run that goes on, and which say nothing of a run."""

from collections.abc import Mapping

from mappers.legacy.jil.exit_codes import is_success

#: By the two letters of a report.
ENDED = {"SU": "SUCCESS", "FA": "FAILURE", "TE": "TERMINATED"}
GOING = {"ST": "STARTING", "RU": "RUNNING", "RE": "FAILURE"}
#: How a job stands since its last run, or until its next one.
STANDING = {
    "IN": "INACTIVE", "AC": "ACTIVATED", "OI": "ON_ICE", "OH": "ON_HOLD", "NO": "ON_NOEXEC", "QU": "QUE_WAIT",
    "PE": "PEND_MACH", "RW": "RESWAIT",
}  # fmt: skip
#: What is about to run shows a priority, or the number of its next run: nothing of its last one is sure.
_ABOUT_TO_RUN = frozenset({"AC", "QU", "PE", "RW"})
#: What events tell of a run.
BEGINS = frozenset({"STARTING", "RUNNING"})
ENDS = frozenset({"SUCCESS", "FAILURE", "TERMINATED", "RESTART"})


def outcome_of(status: str, code: int | None, rule: Mapping[str, str] | None) -> str | None:
    """Tell by its exit code how the last run of a job that stands still ended; None where nobody can tell.

    Of a status that is not known nobody can. Below zero it was Autosys that ended it. Whether a code above zero is a
    success, only a definition says.
    """
    stands = status in STANDING and status not in _ABOUT_TO_RUN
    if code is None or code < 0 or not stands or (rule is None and code):
        return None
    return "SUCCESS" if is_success(code, rule or {}) else "FAILURE"
