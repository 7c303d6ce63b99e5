"""Registrations of what has happened: a version of a dataset, a run of a process."""

from mappers.errors import RefusedEvent
from mappers.legacy.datasets import write_dataset
from mappers.legacy.fields import Fields, Time
from mappers.legacy.names import DatasetName, JobName, LegacyNames, name_job, read_dataset_name, read_job
from mappers.legacy.runs import EVENT_TYPES, TERMINAL, Run, computed_run_id, read_event_type, write_run
from mappers.openlineage.documents import write_event

_AUTOSYS = "AUTOSYS"
_TIMES = ("time", "eventTime", "endTime", "startTime")
_RUN_ID = ("runId", "run_id")


def translate_dataset(body: Fields, names: LegacyNames) -> list[bytes]:
    """Translate a version of a dataset that exists: with a job, as the output of its run, else by itself."""
    named = read_dataset_name(body, names)
    version = body.needed("version")
    status = (body.text("status") or "COMPLETE").upper()
    event_type = EVENT_TYPES.get(status, "COMPLETE")
    at, start = _needed_time(body), body.time("startTime")
    run_id, job = _read_run(body, names)
    if job is None:
        return [_write_version(body, named, version, (status, event_type), at)]
    output = write_dataset(named, body.rest() | {"version": version}, "output", body)
    run_id = run_id or _computed(body, job, start or at)
    return write_run(Run(event_type, at, start, run_id, {}, job, {}, [], [output]), names)


def _write_version(body: Fields, named: DatasetName, version: str, status: tuple[str, str], at: Time) -> bytes:
    """Write a version that nobody's run is named for; one that is not there (yet) is no version."""
    word, event_type = status
    key = "version"
    if event_type != "COMPLETE":
        body.notes.append(f"{body.at('status')} {word[:64]!r}: the version is not there, only its name is kept")
        key = "attemptedVersion"
    dataset = write_dataset(named, body.rest() | {"status": word, key: version}, "output", body)
    facets = dataset["facets"] | dataset.pop("outputFacets", {})
    return write_event("DatasetEvent", at.text, None, {"dataset": {**dataset, "facets": facets}})


def _read_run(body: Fields, names: LegacyNames) -> tuple[str | None, JobName | None]:
    """Read the run and the job that made a version; either may be a name or an object."""
    _, run = body.get("run")
    run_id = body.inside("run").text(*_RUN_ID) if isinstance(run, dict) else body.text("run", *_RUN_ID)
    _, job = body.get("job")
    if job is None:
        if run_id is not None:
            raise RefusedEvent("is missing: a run needs its job", body.at("job"))
        return None, None
    if isinstance(job, dict):
        return run_id, read_job(body.inside("job"), names, namespace=_AUTOSYS)
    return run_id, name_job(_AUTOSYS, body.needed("job"), names, body.at("job"))


def translate_process(body: Fields, names: LegacyNames) -> list[bytes]:
    """Translate a run of a process; without an id it is named by its start, else by its time."""
    job = read_job(body, names, namespace=_AUTOSYS)
    word, event_type = read_event_type(body, "status")
    at, start, end = _needed_time(body), body.time("startTime"), body.time("endTime")
    if event_type in TERMINAL:
        at = end or at
    elif event_type == "START":
        at = start or at
    run_id = body.text(*_RUN_ID) or _computed(body, job, start or at)
    values = body.rest()
    if event_type == "OTHER":
        values["status"] = word
    return write_run(Run(event_type, at, start, run_id, values, job, {}, [], []), names)


def _computed(body: Fields, job: JobName, start: Time) -> str:
    body.notes.append(f"{body.at('runId')} is missing: computed from the job and the time")
    return computed_run_id(job, start)


def _needed_time(body: Fields) -> Time:
    times = [body.time(key) for key in _TIMES]
    found = next((time for time in times if time is not None), None)
    if found is None:
        raise RefusedEvent("is missing", body.at("time"))
    return found
