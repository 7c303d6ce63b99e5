"""An estate as events: what each job is, what it waits for, what is promised of it, and what it speaks of."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from mappers.legacy.jil.candidates import Found, candidates_of
from mappers.legacy.jil.conditions import BadCondition, ExitCodeIs, StatusIs, atoms, read_condition
from mappers.legacy.jil.dataset import Candidate, Flow
from mappers.legacy.jil.estate import Estate, Job
from mappers.legacy.jil.programs import Conventions
from mappers.legacy.jil.schedule import schedule_of, sla_of, success_of
from mappers.legacy.jil.spellings import spelled_all
from mappers.openlineage.documents import Json, own_facets, write_event
from mappers.secrets import masked, masked_value

_STATUS = {"success": "SUCCESS", "failure": "FAILURE", "done": "DONE", "terminated": "TERMINATED"}
#: Attributes that have a facet of their own, or hold what nobody needs beside it.
_TOLD = frozenset({"boxes", "override", "box_name", "job_type", "owner", "description", "command", "status"})


class Dependency(NamedTuple):
    """A job waits for a status of another."""

    instance: str
    job: str
    rule: str


class Telling(NamedTuple):
    """How an estate is told: of which instance, at what time, and what counts as sure enough to be lineage."""

    instance: str
    at: str
    conventions: Conventions = Conventions()
    least_confidence: float = 0.5


def dependencies_of(job: Job, instance: str) -> list[Dependency]:
    """Give what a job waits for; not running is no dependency, and a condition that is none has none."""
    known: dict[Dependency, None] = {}
    for one in _waited_for(job):
        rule = _STATUS[one.kind] if isinstance(one, StatusIs) else f"EXITCODE {one.operator} {one.code}"
        known[Dependency(one.instance or instance, one.job, rule)] = None
    return list(known)


def statuses_waited_for(job: Job) -> list[StatusIs]:
    """Give the statuses of other jobs that a job waits for, with their lookbacks."""
    return [one for one in _waited_for(job) if isinstance(one, StatusIs)]


def _waited_for(job: Job) -> list[StatusIs | ExitCodeIs]:
    try:
        found = list(atoms(read_condition(job.get("condition") or "")))
    except BadCondition:
        return []  # every scan says so
    return [
        one
        for one in found
        if isinstance(one, ExitCodeIs) or (isinstance(one, StatusIs) and one.kind != "notrunning")
    ]


def tell_estate(estate: Estate, how: Telling) -> Iterator[bytes]:
    """Write an event for each job."""
    for job in estate.jobs.values():
        yield tell_job(job, estate.boxes_of(job), how)


def tell_job(job: Job, boxes: tuple[str, ...], how: Telling) -> bytes:
    """Write the event of a job: its definition, and the datasets that it surely enough speaks of."""
    found = candidates_of(job, how.conventions)
    named = {"namespace": f"autosys://{how.instance}", "name": job.name}
    lineage = _lineage([[one for one in flow if one.confidence >= how.least_confidence] for flow in found.flows])
    facets = {**_facets(job, boxes, how.instance, found), "lineage": lineage}
    content = {"job": {**named, "facets": own_facets("JobFacet", facets)}}
    return write_event("JobEvent", how.at, None, content)


def tell_gone(name: str, how: Telling) -> bytes:
    """Write that a job is defined no more: it waits for nothing, and speaks of nothing."""
    facets = {
        "lineageBridge_autosys": {"retired": True},
        "lineageBridge_jobDependencies": {"upstream": []},
        "lineage": _lineage(()),
    }
    job = {"namespace": f"autosys://{how.instance}", "name": name, "facets": own_facets("JobFacet", facets)}
    return write_event("JobEvent", how.at, None, {"job": job})


def definition_of(job: Job, boxes: tuple[str, ...]) -> Json:
    """Give a job's definition, spelled in one way and with secrets hidden: what is kept of it, version by version."""
    values = _kept(job.values)
    if job.override:
        values["override"] = ", ".join(f"{name}: {value}" for name, value in _kept(job.override).items())
    gathered = {name: [masked(one) for one in found] for name, found in sorted(job.gathered.items())}
    return {**values, **gathered, "job_type": job.type, "boxes": list(boxes)}


def _kept(values: Mapping[str, str]) -> dict[str, str]:
    return {name: masked_value(name, value) for name, value in sorted(spelled_all(values).items())}


def _facets(job: Job, boxes: tuple[str, ...], instance: str, found: Found) -> Json:
    facets: Json = {
        "jobType": {"processingType": "BATCH", "integration": "AUTOSYS", "jobType": job.type},
        "lineageBridge_autosys": _autosys(job, boxes, found),
        "lineageBridge_jobDependencies": _dependencies(job, instance),
    }
    if boxes:
        facets["lineageBridge_boxes"] = {"boxes": list(boxes)}
    if (sla := sla_of(job)) is not None:
        facets["lineageBridge_sla"] = sla
    if owner := job.get("owner"):
        facets["ownership"] = {"owners": [{"name": owner, "type": "OWNER"}]}
    if description := job.get("description"):
        facets["documentation"] = {"description": description}
    return facets


def _autosys(job: Job, boxes: tuple[str, ...], found: Found) -> Json:
    attributes = {name: value for name, value in definition_of(job, boxes).items() if name not in _TOLD}
    told: Json = {
        "processKey": "/".join(("AUTOSYS", *boxes, job.name)),
        "definedIn": f"{job.file}:{job.line}",
        "attributes": attributes,
        "schedule": schedule_of(job),
        "success": success_of(job),
        "override": _kept(job.override) or None,
        "command": masked(command) if (command := job.get("command")) else None,
        "scripts": found.scripts or None,
        "speaksOf": [one._asdict() for one in found.datasets] or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _dependencies(job: Job, instance: str) -> Json:
    upstream = [
        {
            "job": {"namespace": f"autosys://{one.instance}", "name": one.job},
            "dependency_type": "CONDITION",
            "sequence_trigger_rule": "FINISH_TO_START",
            "status_trigger_rule": one.rule,
        }
        for one in dependencies_of(job, instance)
    ]
    return {"upstream": upstream, "trigger_rule": job.get("condition")}


def _lineage(flows: Iterable[Flow]) -> Json:
    """Write what is read and written so that the next definition replaces all of it, even by nothing.

    What is written is made of what goes into it, not of all that the job reads.
    """
    reads: dict[tuple[str, str], Json] = {}
    made: dict[tuple[str, str], dict[tuple[str, str], Json]] = {}
    for flow in flows:
        sources = {_key(one): {"type": "DATASET", **_named(one)} for one in flow if one.side == "input"}
        reads |= sources
        for one in flow:
            if one.side == "output":
                made.setdefault(_key(one), {}).update(sources)
    entries: list[Json] = [{"type": "JOB", "inputs": list(reads.values())}] if reads else []
    for (namespace, name), of in made.items():
        inputs = [{"type": "JOB"}, *of.values()]
        entries.append({"type": "DATASET", "namespace": namespace, "name": name, "inputs": inputs})
    return {"entries": entries}


def _key(one: Candidate) -> tuple[str, str]:
    return one.namespace, one.name


def _named(one: Candidate) -> Json:
    return {"namespace": one.namespace, "name": one.name}
