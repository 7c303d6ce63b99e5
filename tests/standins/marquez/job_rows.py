"""Writes jobs and their parents from events."""

from tests.standins.marquez import names
from tests.standins.marquez.run_rows import upsert_run
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import Job, Json, Name, new_uuid
from tests.standins.marquez.times import Timestamp


def write(store: Store, job_body: Json, at: int, inputs: list[Name], parent: Job | None, run: str | None) -> Job:
    """Write the job of an event; its name is prefixed with the name of the parent."""
    facets = job_body["facets"] or {}
    simple = job_body["name"]
    if parent is not None:
        simple = simple.removeprefix(f"{parent.name}.")
    name = simple if parent is None else f"{parent.name}.{simple}"
    job = upsert(
        store,
        (names.stored_namespace(job_body["namespace"]), name),
        simple,
        parent,
        job_type(job_body),
        at,
        (facets.get("documentation") or {}).get("description"),
        (facets.get("sourceCodeLocation") or {}).get("url"),
        run if parent is None else parent.run,
    )
    job.inputs = inputs
    return job


def upsert(
    store: Store,
    key: Name,
    simple: str,
    parent: Job | None,
    type_: str,
    at: int,
    description: str | None,
    location: str | None,
    run: str | None,
) -> Job:
    """Create, update or unhide a job."""
    job = store.jobs.get(key)
    if job is None:
        job = Job(new_uuid(), *key, simple, parent, type_, at, at, description, location, run)
        store.jobs[key] = job
        return job
    if parent is not None:
        job.parent, job.simple = parent, simple
    job.type, job.description, job.location, job.run = type_, description, location, run
    job.updated, job.hidden = store.now(), False
    return job


def job_type(job_body: Json) -> str:
    return "STREAM" if is_streaming(job_body) else "BATCH"


def is_streaming(job_body: Json) -> bool:
    kind = ((job_body["facets"] or {}).get("jobType") or {}).get("processingType")
    return str(kind).upper() == "STREAMING"


def find_or_create_parent(store: Store, event: Json, namespace: str, at: int) -> Job | None:
    """Return the job of the parent run; creates both if they are unknown."""
    facets = event["run"]["facets"] or {}
    parent = facets.get("parent")
    if parent is None:
        return None
    run_id = names.parent_run_uuid(parent["job"]["name"], parent["run"]["runId"])
    name = parent["job"]["name"]
    if name == event["job"]["name"]:
        name = names.parent_name(name)
    found = store.runs.get(run_id)
    if found is not None:
        if (found.job.namespace, found.job.name) == (parent["job"]["namespace"], name):
            return found.job
        run_id = names.invented_uuid(parent["job"]["namespace"], name, run_id)
    return _create_parent(store, event, (namespace, name), run_id, at)


def _create_parent(store: Store, event: Json, key: Name, run_id: str, at: int) -> Job:
    facets = event["job"]["facets"] or {}
    location = (facets.get("sourceCodeLocation") or {}).get("url")
    job = upsert(store, key, key[1], None, job_type(event["job"]), at, None, location, run_id)
    nominal = (event["run"]["facets"] or {}).get("nominalTime") or {}
    run = upsert_run(store, run_id, job, at, {}, event["eventType"])
    run.nominal_start = _micros(nominal.get("nominalStartTime"))
    run.nominal_end = _micros(nominal.get("nominalEndTime"))
    return job


def _micros(timestamp: Timestamp | None) -> int | None:
    return None if timestamp is None else timestamp.micros
