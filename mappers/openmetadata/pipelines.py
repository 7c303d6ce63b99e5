"""Maps jobs to OpenMetadata pipelines: their location, and the requests that create them."""

from collections.abc import Iterable
from typing import NamedTuple

from mappers.canonical_json import JsonObject
from mappers.openmetadata.entity_requests import EntityRequest, description_keys, name_keys, service_request
from mappers.openmetadata.fqn import EntityName, entity_name, fqn
from mappers.openmetadata.locations import ServiceLayout, ServiceRef, find_mapping

_CUSTOM = "CustomPipeline"
#: Service types by integration.
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


class PipelineContent(NamedTuple):
    """The content of a job that is sent to OpenMetadata."""

    name: str
    description: str | None = None
    source_url: str | None = None
    tasks: tuple[PipelineTask, ...] = ()


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
    if job.tasks:
        body["tasks"] = _task_bodies(job.tasks)
    return service, EntityRequest("pipelines", location.fqn, body)


def _task_bodies(tasks: Iterable[PipelineTask]) -> list[JsonObject]:
    """Build tasks in the given order; of several tasks with the same name, the first is used."""
    names = {task.name: entity_name(task.name) for task in tasks}
    bodies_by_name: dict[str, JsonObject] = {}
    for task in tasks:
        body = name_keys(names[task.name])
        if task.type:
            body["taskType"] = task.type
        if task.sql:
            body["taskSQL"] = task.sql
        if downstream := sorted({names[task_name].name for task_name in task.downstream if task_name in names}):
            body["downstreamTasks"] = downstream
        bodies_by_name.setdefault(body["name"], body)
    return list(bodies_by_name.values())
