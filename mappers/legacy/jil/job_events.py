"""Builds job events from a job catalog."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from mappers.canonical_json import JsonObject
from mappers.legacy.jil.conditions import (
    ExitCodeCondition,
    InvalidCondition,
    StatusCondition,
    atomic_conditions,
    parse_condition,
)
from mappers.legacy.jil.dataset_candidate import DataFlow, DatasetCandidate
from mappers.legacy.jil.dataset_scanner import DatasetCandidates, find_datasets
from mappers.legacy.jil.job_catalog import JobCatalog, JobDefinition
from mappers.legacy.jil.normalization import normalize_values
from mappers.legacy.jil.programs import OptionConventions
from mappers.legacy.jil.schedule import job_schedule, job_sla, success_rule
from mappers.openlineage.event_builder import build_event, custom_facets
from mappers.redaction import redact_command, redact_value

_STATUS = {"success": "SUCCESS", "failure": "FAILURE", "done": "DONE", "terminated": "TERMINATED"}
#: Attributes that have a facet of their own, or hold what nobody needs beside it.
_TOLD = frozenset({"boxes", "override", "box_name", "job_type", "owner", "description", "command", "status"})


class ConditionDependency(NamedTuple):
    """A job waits for a status of another."""

    instance: str
    job: str
    rule: str


class ScanOptions(NamedTuple):
    """How an estate is told: of which instance, at what time, and what counts as sure enough to be lineage."""

    instance: str
    at: str
    conventions: OptionConventions = OptionConventions()
    least_confidence: float = 0.5


def job_dependencies(job: JobDefinition, instance: str) -> list[ConditionDependency]:
    """Give what a job waits for; not running is no dependency, and a condition that is none has none."""
    known: dict[ConditionDependency, None] = {}
    for one in _waited_for(job):
        rule = _STATUS[one.kind] if isinstance(one, StatusCondition) else f"EXITCODE {one.operator} {one.code}"
        known[ConditionDependency(one.instance or instance, one.job, rule)] = None
    return list(known)


def awaited_statuses(job: JobDefinition) -> list[StatusCondition]:
    """Give the statuses of other jobs that a job waits for, with their lookbacks."""
    return [one for one in _waited_for(job) if isinstance(one, StatusCondition)]


def _waited_for(job: JobDefinition) -> list[StatusCondition | ExitCodeCondition]:
    try:
        found = list(atomic_conditions(parse_condition(job.get("condition") or "")))
    except InvalidCondition:
        return []  # every scan says so
    return [
        one
        for one in found
        if isinstance(one, ExitCodeCondition) or (isinstance(one, StatusCondition) and one.kind != "notrunning")
    ]


def build_job_events(estate: JobCatalog, how: ScanOptions) -> Iterator[bytes]:
    """Write an event for each job."""
    for job in estate.jobs.values():
        yield build_job_event(job, estate.enclosing_boxes(job), how)


def build_job_event(job: JobDefinition, boxes: tuple[str, ...], how: ScanOptions) -> bytes:
    """Write the event of a job: its definition, and the datasets that it surely enough speaks of."""
    found = find_datasets(job, how.conventions)
    named = {"namespace": f"autosys://{how.instance}", "name": job.name}
    lineage = _lineage([[one for one in flow if one.confidence >= how.least_confidence] for flow in found.flows])
    facets = {**_facets(job, boxes, how.instance, found), "lineage": lineage}
    content = {"job": {**named, "facets": custom_facets("JobFacet", facets)}}
    return build_event("JobEvent", how.at, None, content)


def build_retirement_event(name: str, how: ScanOptions) -> bytes:
    """Write that a job is defined no more: it waits for nothing, and speaks of nothing."""
    facets = {
        "lineageBridge_autosys": {"retired": True},
        "lineageBridge_jobDependencies": {"upstream": []},
        "lineage": _lineage(()),
    }
    job = {"namespace": f"autosys://{how.instance}", "name": name, "facets": custom_facets("JobFacet", facets)}
    return build_event("JobEvent", how.at, None, {"job": job})


def normalized_definition(job: JobDefinition, boxes: tuple[str, ...]) -> JsonObject:
    """Give a job's definition, spelled in one way and with secrets hidden: what is kept of it, version by version."""
    values = _normalized_values(job.values)
    if job.override:
        values["override"] = ", ".join(f"{name}: {value}" for name, value in _normalized_values(job.override).items())
    gathered = {name: [redact_command(one) for one in found] for name, found in sorted(job.accumulated.items())}
    return {**values, **gathered, "job_type": job.type, "boxes": list(boxes)}


def _normalized_values(values: Mapping[str, str]) -> dict[str, str]:
    return {name: redact_value(name, value) for name, value in sorted(normalize_values(values).items())}


def _facets(job: JobDefinition, boxes: tuple[str, ...], instance: str, found: DatasetCandidates) -> JsonObject:
    facets: JsonObject = {
        "jobType": {"processingType": "BATCH", "integration": "AUTOSYS", "jobType": job.type},
        "lineageBridge_autosys": _autosys(job, boxes, found),
        "lineageBridge_jobDependencies": _dependencies(job, instance),
    }
    if boxes:
        facets["lineageBridge_boxes"] = {"boxes": list(boxes)}
    if (sla := job_sla(job)) is not None:
        facets["lineageBridge_sla"] = sla
    if owner := job.get("owner"):
        facets["ownership"] = {"owners": [{"name": owner, "type": "OWNER"}]}
    if description := job.get("description"):
        facets["documentation"] = {"description": description}
    return facets


def _autosys(job: JobDefinition, boxes: tuple[str, ...], found: DatasetCandidates) -> JsonObject:
    attributes = {name: value for name, value in normalized_definition(job, boxes).items() if name not in _TOLD}
    told: JsonObject = {
        "processKey": "/".join(("AUTOSYS", *boxes, job.name)),
        "definedIn": f"{job.file}:{job.line}",
        "attributes": attributes,
        "schedule": job_schedule(job),
        "success": success_rule(job),
        "override": _normalized_values(job.override) or None,
        "command": redact_command(command) if (command := job.get("command")) else None,
        "scripts": found.scripts or None,
        "speaksOf": [one._asdict() for one in found.datasets] or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _dependencies(job: JobDefinition, instance: str) -> JsonObject:
    upstream = [
        {
            "job": {"namespace": f"autosys://{one.instance}", "name": one.job},
            "dependency_type": "CONDITION",
            "sequence_trigger_rule": "FINISH_TO_START",
            "status_trigger_rule": one.rule,
        }
        for one in job_dependencies(job, instance)
    ]
    return {"upstream": upstream, "trigger_rule": job.get("condition")}


def _lineage(flows: Iterable[DataFlow]) -> JsonObject:
    """Write what is read and written so that the next definition replaces all of it, even by nothing.

    What is written is made of what goes into it, not of all that the job reads.
    """
    reads: dict[tuple[str, str], JsonObject] = {}
    made: dict[tuple[str, str], dict[tuple[str, str], JsonObject]] = {}
    for flow in flows:
        sources = {_key(one): {"type": "DATASET", **_named(one)} for one in flow if one.side == "input"}
        reads |= sources
        for one in flow:
            if one.side == "output":
                made.setdefault(_key(one), {}).update(sources)
    entries: list[JsonObject] = [{"type": "JOB", "inputs": list(reads.values())}] if reads else []
    for (namespace, name), of in made.items():
        inputs = [{"type": "JOB"}, *of.values()]
        entries.append({"type": "DATASET", "namespace": namespace, "name": name, "inputs": inputs})
    return {"entries": entries}


def _key(one: DatasetCandidate) -> tuple[str, str]:
    return one.namespace, one.name


def _named(one: DatasetCandidate) -> JsonObject:
    return {"namespace": one.namespace, "name": one.name}
