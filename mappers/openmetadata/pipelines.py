"""Maps jobs to OpenMetadata pipelines: their location, and the requests that create them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.openmetadata.entity_requests import EntityRequest, description_keys, name_keys, service_request
from mappers.openmetadata.fqn import EntityName, entity_name, fqn
from mappers.openmetadata.locations import ServiceLayout, ServiceRef, find_mapping

_CUSTOM = "CustomPipeline"
#: Service types by integration.
_DAYS = {"su": 0, "mo": 1, "tu": 2, "we": 3, "th": 4, "fr": 5, "sa": 6}
#: Attributes of a schedule that a cron expression can represent.
_CRON_ATTRIBUTES = frozenset({"active", "days_of_week", "start_times", "start_mins"})
#: Attributes of a schedule that do not determine when the job starts.
_DEADLINES = frozenset({"must_start_times", "must_complete_times"})
_SERVICE_TYPES = {"SPARK": "Spark", "AIRFLOW": "Airflow", "DBT": "DBTCloud", "FLINK": "Flink"}


class PipelineLocation(NamedTuple):
    """The location of a job: its pipeline service, and its name in that service."""

    service: ServiceRef
    name: EntityName

    @property
    def fqn(self) -> str:
        return fqn(self.service.name, self.name.name)


class PipelineTask(NamedTuple):
    """A step of a job, and the steps that follow it."""

    name: str
    sql: str | None = None
    downstream: tuple[str, ...] = ()
    type: str | None = None
    description: str | None = None


class PipelineContent(NamedTuple):
    """The content of a job that is sent to OpenMetadata."""

    name: str
    description: str | None = None
    source_url: str | None = None
    tasks: tuple[PipelineTask, ...] = ()
    schedule: Mapping[str, Any] | None = None


def locate_job(layout: ServiceLayout, namespace: str, name: str, integration: str | None) -> PipelineLocation:
    """Locate a job in its mapped service, or else in the default service, with the namespace as part of the name."""
    mapping = find_mapping(layout.mappings, namespace)
    if mapping is None:
        pipeline_name = entity_name(f"{namespace}/{name}")
        return PipelineLocation(
            ServiceRef("pipelineService", _CUSTOM, layout.service), pipeline_name._replace(display_name=name or None)
        )
    service_type = _SERVICE_TYPES.get((integration or "").upper(), _CUSTOM)
    return PipelineLocation(ServiceRef("pipelineService", service_type, mapping.service), entity_name(name))


def pipeline_requests(location: PipelineLocation, job: PipelineContent) -> tuple[EntityRequest, EntityRequest]:
    """Build the requests that create the service of a job and its pipeline."""
    service = service_request(location.service)
    body: JsonObject = {**name_keys(location.name), **description_keys(job.description), "service": service.fqn}
    if job.source_url:
        body["sourceUrl"] = job.source_url
    if job.schedule and (interval := schedule_interval(job.schedule)):
        body["scheduleInterval"] = interval
    if job.tasks:
        body["tasks"] = _task_bodies(job.tasks)
    return service, EntityRequest("pipelines", location.fqn, body)


def schedule_interval(schedule: Mapping[str, Any]) -> str | None:
    """Return the schedule of a scheduler's job as a cron expression or, if that is impossible, as text.

    An inactive schedule has no interval. A cron expression has no time zone: it is that of the scheduler.
    """
    if not schedule.get("active"):
        return None
    relevant = {name: value for name, value in schedule.items() if name not in _DEADLINES and value}
    return _cron_expression(relevant) or _schedule_text(relevant)


def _cron_expression(schedule: Mapping[str, Any]) -> str | None:
    lists = [value for name, value in schedule.items() if name != "active"]
    if not schedule.keys() <= _CRON_ATTRIBUTES or not all(isinstance(value, list) for value in lists):
        return None
    days = [str(day).lower() for day in schedule.get("days_of_week", ())]
    if not days or ("all" not in days and not all(day in _DAYS for day in days)):
        return None
    day_field = "*" if "all" in days else ",".join(str(number) for number in sorted(_DAYS[day] for day in days))
    minutes, hours = _minutes_and_hours(schedule)
    return f"{minutes} {hours} * * {day_field}" if minutes else None


def _minutes_and_hours(schedule: Mapping[str, Any]) -> tuple[str, str]:
    """Return the first two fields of a cron expression; both are empty if there is none."""
    if "start_times" not in schedule:
        return _join_numbers(schedule.get("start_mins") or ()), "*"
    times = [str(time).partition(":") for time in schedule["start_times"]]
    minutes = {minute for _, _, minute in times}
    if "start_mins" in schedule or len(minutes) != 1:
        return "", ""
    hours = _join_numbers([hour for hour, _, _ in times])
    return (_join_numbers(minutes), hours) if hours else ("", "")


def _join_numbers(numbers: Iterable[Any]) -> str:
    texts = [str(number) for number in numbers]
    return ",".join(str(number) for number in sorted(map(int, texts))) if all(map(str.isdecimal, texts)) else ""


def _schedule_text(schedule: Mapping[str, Any]) -> str | None:
    values = {
        name: ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
        for name, value in schedule.items()
        if name != "active"
    }
    return "; ".join(f"{name}: {value}" for name, value in values.items()) or None


def _task_bodies(tasks: Iterable[PipelineTask]) -> list[JsonObject]:
    """Build tasks in the given order; of several tasks with the same name, the first is used."""
    names = {task.name: entity_name(task.name) for task in tasks}
    bodies_by_name: dict[str, JsonObject] = {}
    for task in tasks:
        body = name_keys(names[task.name])
        if task.type:
            body["taskType"] = task.type
        if task.description:
            body["description"] = task.description
        if task.sql:
            body["taskSQL"] = task.sql
        if downstream := sorted({names[task_name].name for task_name in task.downstream if task_name in names}):
            body["downstreamTasks"] = downstream
        bodies_by_name.setdefault(body["name"], body)
    return list(bodies_by_name.values())
