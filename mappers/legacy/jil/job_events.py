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

_STATUS_RULES = {"success": "SUCCESS", "failure": "FAILURE", "done": "DONE", "terminated": "TERMINATED"}
#: Attributes that are stored in other facets or members, or are redundant because of them.
_OMITTED_ATTRIBUTES = frozenset(
    {"boxes", "override", "box_name", "job_type", "owner", "description", "command", "status"}
)


class ConditionDependency(NamedTuple):
    """A dependency on the status of another job."""

    instance: str
    job: str
    rule: str


class ScanOptions(NamedTuple):
    """Settings of a scan: the Autosys instance, the time of its events, and the minimum confidence for lineage."""

    instance: str
    event_time: str
    conventions: OptionConventions = OptionConventions()
    min_confidence: float = 0.5


def job_dependencies(job: JobDefinition, instance: str) -> list[ConditionDependency]:
    """List the jobs that a job waits for; `notrunning` conditions and invalid conditions are ignored."""
    dependencies: dict[ConditionDependency, None] = {}
    for condition in _awaited_conditions(job):
        if isinstance(condition, StatusCondition):
            rule = _STATUS_RULES[condition.predicate]
        else:
            rule = f"EXITCODE {condition.operator} {condition.code}"
        dependencies[ConditionDependency(condition.instance or instance, condition.job, rule)] = None
    return list(dependencies)


def awaited_statuses(job: JobDefinition) -> list[StatusCondition]:
    """List the statuses of other jobs that a job waits for, with their lookbacks."""
    return [condition for condition in _awaited_conditions(job) if isinstance(condition, StatusCondition)]


def _awaited_conditions(job: JobDefinition) -> list[StatusCondition | ExitCodeCondition]:
    """Return the conditions on statuses or exit codes, except `notrunning`."""
    try:
        conditions = list(atomic_conditions(parse_condition(job.get("condition") or "")))
    except InvalidCondition:
        return []  # reported by every scan
    return [
        condition
        for condition in conditions
        if isinstance(condition, ExitCodeCondition)
        or (isinstance(condition, StatusCondition) and condition.predicate != "notrunning")
    ]


def build_job_events(catalog: JobCatalog, options: ScanOptions) -> Iterator[bytes]:
    for job in catalog.jobs.values():
        yield build_job_event(job, catalog.enclosing_boxes(job), options)


def build_job_event(job: JobDefinition, boxes: tuple[str, ...], options: ScanOptions) -> bytes:
    """Build the JobEvent of a job: its definition, and lineage for datasets detected with enough confidence."""
    candidates = find_datasets(job, options.conventions)
    job_reference = {"namespace": f"autosys://{options.instance}", "name": job.name}
    confident_flows = [
        [candidate for candidate in flow if candidate.confidence >= options.min_confidence]
        for flow in candidates.flows
    ]
    facets = {**_job_facets(job, boxes, options.instance, candidates), "lineage": _lineage_facet(confident_flows)}
    content = {"job": {**job_reference, "facets": custom_facets("JobFacet", facets)}}
    return build_event("JobEvent", options.event_time, None, content)


def build_retirement_event(name: str, options: ScanOptions) -> bytes:
    """Build the event of a job that is no longer defined, which removes its dependencies and datasets."""
    facets = {
        "lineageBridge_autosys": {"retired": True},
        "lineageBridge_jobDependencies": {"upstream": []},
        "lineage": _lineage_facet(()),
    }
    job = {"namespace": f"autosys://{options.instance}", "name": name, "facets": custom_facets("JobFacet", facets)}
    return build_event("JobEvent", options.event_time, None, {"job": job})


def normalized_definition(job: JobDefinition, boxes: tuple[str, ...]) -> JsonObject:
    """Return the definition of a job as it is stored and compared, with normalized values and redacted secrets."""
    values = _normalized_values(job.values)
    if job.override:
        values["override"] = ", ".join(f"{name}: {value}" for name, value in _normalized_values(job.override).items())
    accumulated_values = {
        name: [redact_command(value) for value in job.accumulated[name]] for name in sorted(job.accumulated)
    }
    return {**values, **accumulated_values, "job_type": job.type, "boxes": list(boxes)}


def _normalized_values(values: Mapping[str, str]) -> dict[str, str]:
    return {name: redact_value(name, value) for name, value in sorted(normalize_values(values).items())}


def _job_facets(
    job: JobDefinition, boxes: tuple[str, ...], instance: str, candidates: DatasetCandidates
) -> JsonObject:
    facets: JsonObject = {
        "jobType": {"processingType": "BATCH", "integration": "AUTOSYS", "jobType": job.type},
        "lineageBridge_autosys": _autosys_facet(job, boxes, candidates),
        "lineageBridge_jobDependencies": _dependencies_facet(job, instance),
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


def _autosys_facet(job: JobDefinition, boxes: tuple[str, ...], candidates: DatasetCandidates) -> JsonObject:
    attributes = {
        name: value for name, value in normalized_definition(job, boxes).items() if name not in _OMITTED_ATTRIBUTES
    }
    content: JsonObject = {
        "processKey": "/".join(("AUTOSYS", *boxes, job.name)),
        "definedIn": f"{job.file}:{job.line}",
        "attributes": attributes,
        "schedule": job_schedule(job),
        "success": success_rule(job),
        "override": _normalized_values(job.override) or None,
        "command": redact_command(command) if (command := job.get("command")) else None,
        "scripts": candidates.scripts or None,
        "speaksOf": [candidate._asdict() for candidate in candidates.datasets] or None,
    }
    return {name: value for name, value in content.items() if value is not None}


def _dependencies_facet(job: JobDefinition, instance: str) -> JsonObject:
    upstream = [
        {
            "job": {"namespace": f"autosys://{dependency.instance}", "name": dependency.job},
            "dependency_type": "CONDITION",
            "sequence_trigger_rule": "FINISH_TO_START",
            "status_trigger_rule": dependency.rule,
        }
        for dependency in job_dependencies(job, instance)
    ]
    return {"upstream": upstream, "trigger_rule": job.get("condition")}


def _lineage_facet(flows: Iterable[DataFlow]) -> JsonObject:
    """Build lineage that completely replaces the lineage of the previous definition, even if it is empty.

    An output is derived from the inputs of its flow, not from all inputs of the job.
    """
    job_inputs: dict[tuple[str, str], JsonObject] = {}
    sources_by_output: dict[tuple[str, str], dict[tuple[str, str], JsonObject]] = {}
    for flow in flows:
        sources = {
            _dataset_key(candidate): {"type": "DATASET", "namespace": candidate.namespace, "name": candidate.name}
            for candidate in flow
            if candidate.side == "input"
        }
        job_inputs |= sources
        for candidate in flow:
            if candidate.side == "output":
                sources_by_output.setdefault(_dataset_key(candidate), {}).update(sources)
    entries: list[JsonObject] = []
    if job_inputs:
        entries.append({"type": "JOB", "inputs": list(job_inputs.values())})
    for (namespace, name), output_sources in sources_by_output.items():
        inputs = [{"type": "JOB"}, *output_sources.values()]
        entries.append({"type": "DATASET", "namespace": namespace, "name": name, "inputs": inputs})
    return {"entries": entries}


def _dataset_key(candidate: DatasetCandidate) -> tuple[str, str]:
    return candidate.namespace, candidate.name
