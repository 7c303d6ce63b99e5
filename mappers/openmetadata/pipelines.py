"""Where a job lies in OpenMetadata, and the requests that make it known there: its service, then its pipeline."""

from collections.abc import Iterable
from typing import NamedTuple

from mappers.canonical_json import JsonObject
from mappers.openmetadata.entity_requests import EntityRequest, description_keys, name_keys, service_request
from mappers.openmetadata.fqn import EntityName, entity_name, fqn
from mappers.openmetadata.locations import ServiceLayout, ServiceRef, find_mapping

_CUSTOM = "CustomPipeline"
#: Types of the services that jobs of an integration run in.
_TYPES = {"SPARK": "Spark", "AIRFLOW": "Airflow", "DBT": "DBTCloud", "FLINK": "Flink"}


class PipelineLocation(NamedTuple):
    """Where a job lies: in a service, under its own name."""

    service: ServiceRef
    own: EntityName

    @property
    def fqn(self) -> str:
        """Give the fully qualified name."""
        return fqn(self.service.name, self.own.name)


class PipelineTask(NamedTuple):
    """A step of a job, and the steps that follow it."""

    name: str
    sql: str | None = None
    downstream: tuple[str, ...] = ()


class PipelineContent(NamedTuple):
    """What the store knows of a job, as far as it goes into a pipeline."""

    name: str
    description: str | None = None
    source_url: str | None = None
    tasks: tuple[PipelineTask, ...] = ()


def locate_job(layout: ServiceLayout, namespace: str, name: str, integration: str | None) -> PipelineLocation:
    """Tell where a job lies: in the service that a mapping names, or in ours, with its namespace in its name."""
    mapping = find_mapping(layout.mappings, namespace)
    if mapping is None:
        own = entity_name(f"{namespace}/{name}")
        return PipelineLocation(
            ServiceRef("pipelineService", _CUSTOM, layout.service), own._replace(display_name=name or None)
        )
    type_ = _TYPES.get((integration or "").upper(), _CUSTOM)
    return PipelineLocation(ServiceRef("pipelineService", type_, mapping.service), entity_name(name))


def pipeline_requests(place: PipelineLocation, job: PipelineContent) -> tuple[EntityRequest, EntityRequest]:
    """Say what is to be made so that a job stands where it lies: its service, then itself."""
    service = service_request(place.service)
    body: JsonObject = {**name_keys(place.own), **description_keys(job.description), "service": service.fqn}
    if job.source_url:
        body["sourceUrl"] = job.source_url
    if job.tasks:
        body["tasks"] = _tasks(job.tasks)
    return service, EntityRequest("pipelines", place.fqn, body)


def _tasks(tasks: Iterable[PipelineTask]) -> list[JsonObject]:
    """Make tasks in the order of their names; of two of one name the first stays."""
    names = {task.name: entity_name(task.name) for task in tasks}
    made: dict[str, JsonObject] = {}
    for task in sorted(tasks, key=lambda task: task.name):
        body = name_keys(names[task.name])
        if task.sql:
            body["taskSQL"] = task.sql
        if following := sorted({names[other].name for other in task.downstream if other in names}):
            body["downstreamTasks"] = following
        made.setdefault(body["name"], body)
    return list(made.values())
