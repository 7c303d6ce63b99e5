"""Schedules and SLAs of job definitions."""

from mappers.canonical_json import JsonObject
from mappers.legacy.jil.job_catalog import JobDefinition
from mappers.legacy.jil.normalization import split_list
from mappers.legacy.jil.value_checks import is_valid_value

#: Attributes that Autosys ignores unless `date_conditions` is on.
SCHEDULE_ATTRIBUTES = (
    "days_of_week", "run_calendar", "exclude_calendar", "start_times", "start_mins", "run_window", "timezone",
    "must_start_times", "must_complete_times",
)  # fmt: skip
_LIST_ATTRIBUTES = frozenset({"days_of_week", "start_times", "start_mins", "must_start_times", "must_complete_times"})
#: Attributes with a duration in minutes, by their keys in the SLA.
_DURATION_LIMITS = {"max_run_alarm": "max_duration", "min_run_alarm": "min_duration", "term_run_time": "ended_after"}


def job_schedule(job: JobDefinition) -> JsonObject | None:
    """Return the schedule of a job, or None if it has none; the schedule is inactive if `date_conditions` is off."""
    schedule: JsonObject = {
        name: (split_list(value) if name in _LIST_ATTRIBUTES else value)
        for name in SCHEDULE_ATTRIBUTES
        if (value := job.get(name))
    }
    if not schedule:
        return None
    return {"active": job.is_on("date_conditions"), **schedule}


def job_sla(job: JobDefinition) -> JsonObject | None:
    """Return the deadlines for start and end, and the duration limits, or None if the job has neither."""
    sla: JsonObject = {}
    if job.is_on("date_conditions"):
        for name in ("must_start_times", "must_complete_times"):
            # Invalid times are skipped here, and reported by every scan.
            if times := [time for time in split_list(job.get(name) or "") if is_valid_value(name, time)]:
                sla[name] = times
        if sla and (zone := job.get("timezone")):
            sla["timezone"] = zone
    for name, key in _DURATION_LIMITS.items():
        minutes = (job.get(name) or "").strip()
        if minutes.isdigit() and int(minutes):
            sla[key] = f"{int(minutes)}m"
    return sla or None


def success_rule(job: JobDefinition) -> JsonObject | None:
    """Return the attributes that define which exit codes mean success, or None if only 0 means success."""
    rule = {name: value for name in ("max_exit_success", "success_codes", "fail_codes") if (value := job.get(name))}
    if not rule or rule == {"max_exit_success": "0"}:
        return None
    return rule
