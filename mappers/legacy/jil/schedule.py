"""Schedules and SLAs of job definitions."""

from typing import Any

from mappers.canonical_json import JsonObject
from mappers.legacy.jil.job_catalog import JobDefinition
from mappers.legacy.jil.normalization import split_list
from mappers.legacy.jil.value_checks import is_valid_value

#: Without the switch `date_conditions` all of them are dead.
TIMES = (
    "days_of_week", "run_calendar", "exclude_calendar", "start_times", "start_mins", "run_window", "timezone",
    "must_start_times", "must_complete_times",
)  # fmt: skip
_LISTED = frozenset({"days_of_week", "start_times", "start_mins", "must_start_times", "must_complete_times"})


def job_schedule(job: JobDefinition) -> JsonObject | None:
    """Give the schedule of a job; what is dead is told as such. None when it has none."""
    found: JsonObject = {name: _listed(name, value) for name in TIMES if (value := job.get(name))}
    if not found:
        return None
    return {"active": job.is_on("date_conditions"), **found}


def job_sla(job: JobDefinition) -> JsonObject | None:
    """Give by when a job must begin and end, and how long it may and must take. None when nothing is promised."""
    found: JsonObject = {}
    if job.is_on("date_conditions"):
        for name in ("must_start_times", "must_complete_times"):
            # What is no time promises nothing: every scan says so.
            if times := [one for one in split_list(job.get(name) or "") if is_valid_value(name, one)]:
                found[name] = times
        if found and (zone := job.get("timezone")):
            found["timezone"] = zone
    for name, called in (("max_run_alarm", "max_duration"), ("min_run_alarm", "min_duration")):
        minutes = job.get(name)
        if minutes is not None and minutes.strip().isdigit() and int(minutes):
            found[called] = f"{int(minutes)}m"
    if (minutes := job.get("term_run_time")) and minutes.strip().isdigit() and int(minutes):
        found["ended_after"] = f"{int(minutes)}m"
    return found or None


def success_rule(job: JobDefinition) -> JsonObject | None:
    """Give which exit codes are successes, where not only 0 is."""
    found = {name: value for name in ("max_exit_success", "success_codes", "fail_codes") if (value := job.get(name))}
    return found if found and found != {"max_exit_success": "0"} else None


def _listed(name: str, value: str) -> Any:
    return split_list(value) if name in _LISTED else value
