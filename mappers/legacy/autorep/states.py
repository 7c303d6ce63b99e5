"""Autosys job states, and exit codes that count as success."""

from collections.abc import Mapping

#: States by their two-letter codes in a report.
ENDED = {"SU": "SUCCESS", "FA": "FAILURE", "TE": "TERMINATED"}
ACTIVE = {"ST": "STARTING", "RU": "RUNNING", "RE": "FAILURE"}
#: States of a job between two runs.
IDLE = {
    "IN": "INACTIVE", "AC": "ACTIVATED", "OI": "ON_ICE", "OH": "ON_HOLD", "NO": "ON_NOEXEC", "QU": "QUE_WAIT",
    "PE": "PEND_MACH", "RW": "RESWAIT",
}  # fmt: skip
#: Rows of jobs that are about to run show a priority or the number of the next run, so the last run is uncertain.
_ABOUT_TO_RUN = frozenset({"AC", "QU", "PE", "RW"})
#: States that start or end a run.
START_STATES = frozenset({"STARTING", "RUNNING"})
END_STATES = frozenset({"SUCCESS", "FAILURE", "TERMINATED", "RESTART"})


def is_success(code: int, rule: Mapping[str, str]) -> bool:
    """Return whether an exit code means success.

    The first attribute that is set decides: `fail_codes`, then `success_codes`, then `max_exit_success`.
    """
    if codes := rule.get("fail_codes"):
        return not _is_listed(code, codes)
    if codes := rule.get("success_codes"):
        return _is_listed(code, codes)
    maximum = rule.get("max_exit_success", "").strip()
    return code <= (int(maximum) if maximum.isdigit() else 0)


def _is_listed(code: int, codes: str) -> bool:
    for code_range in codes.replace('"', "").split(","):
        first, dash, last = (bound.strip() for bound in code_range.partition("-"))
        if first.isdigit() and (not dash or last.isdigit()) and int(first) <= code <= int(last or first):
            return True
    return False


def infer_outcome(status: str, code: int | None, rule: Mapping[str, str] | None) -> str | None:
    """Infer the outcome of an idle job's last run from the exit code, or return None if that is impossible.

    A negative code means that Autosys ended the run, so the outcome is unknown. A positive code may mean success or
    failure, depending on the job definition, so without a definition the outcome is unknown too.
    """
    is_idle = status in IDLE and status not in _ABOUT_TO_RUN
    if code is None or code < 0 or not is_idle or (rule is None and code):
        return None
    return "SUCCESS" if is_success(code, rule or {}) else "FAILURE"
