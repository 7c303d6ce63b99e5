"""Where a job lies in OpenMetadata, and the requests that make it known there: its service, then its pipeline."""

from collections.abc import Iterable
from typing import NamedTuple

from mappers.openmetadata.fqn import EntityName, entity_name, fqn
from mappers.openmetadata.places import Layout, Service, find_mapping
from mappers.openmetadata.requests import Body, Request, described, named, service_request

_CUSTOM = "CustomPipeline"
#: Types of the services that jobs of an integration run in.
_TYPES = {"SPARK": "Spark", "AIRFLOW": "Airflow", "DBT": "DBTCloud", "FLINK": "Flink"}


class JobPlace(NamedTuple):
    """Where a job lies: in a service, under its own name."""

    service: Service
    own: EntityName

    @property
    def fqn(self) -> str:
        """Give the fully qualified name."""
        return fqn(self.service.name, self.own.name)


class Task(NamedTuple):
    """A step of a job, and the steps that follow it."""

    name: str
    sql: str | None = None
    downstream: tuple[str, ...] = ()


class DescribedJob(NamedTuple):
    """What the store knows of a job, as far as it goes into a pipeline."""

    name: str
    description: str | None = None
    source_url: str | None = None
    tasks: tuple[Task, ...] = ()


def job_place(layout: Layout, namespace: str, name: str, integration: str | None) -> JobPlace:
    """Tell where a job lies: in the service that a mapping names, or in ours, with its namespace in its name."""
    mapping = find_mapping(layout.mappings, namespace)
    if mapping is None:
        own = entity_name(f"{namespace}/{name}")
        return JobPlace(Service("pipelineService", _CUSTOM, layout.service), own._replace(display_name=name or None))
    type_ = _TYPES.get((integration or "").upper(), _CUSTOM)
    return JobPlace(Service("pipelineService", type_, mapping.service), entity_name(name))


def pipeline_requests(place: JobPlace, job: DescribedJob) -> tuple[Request, Request]:
    """Say what is to be made so that a job stands where it lies: its service, then itself."""
    service = service_request(place.service)
    body: Body = {**named(place.own), **described(job.description), "service": service.fqn}
    if job.source_url:
        body["sourceUrl"] = job.source_url
    if job.tasks:
        body["tasks"] = _tasks(job.tasks)
    return service, Request("pipelines", place.fqn, body)


def _tasks(tasks: Iterable[Task]) -> list[Body]:
    """Make tasks in the order of their names; of two of one name the first stays."""
    names = {task.name: entity_name(task.name) for task in tasks}
    made: dict[str, Body] = {}
    for task in sorted(tasks, key=lambda task: task.name):
        body = named(names[task.name])
        if task.sql:
            body["taskSQL"] = task.sql
        if following := sorted({names[other].name for other in task.downstream if other in names}):
            body["downstreamTasks"] = following
        made.setdefault(body["name"], body)
    return list(made.values())
