"""The run event of legacy jobs: `POST /api/v1/run_event`."""

from mappers.errors import RefusedEvent
from mappers.legacy.datasets import read_datasets
from mappers.legacy.fields import Fields, Time
from mappers.legacy.names import JobName, LegacyNames, read_job
from mappers.legacy.runs import TERMINAL, Run, computed_run_id, read_event_type, write_run


def translate_run_event(body: Fields, names: LegacyNames) -> list[bytes]:
    """Translate a legacy run event; raises RefusedEvent naming the field when it cannot be one.

    An end event that knows its start becomes two events, because an OpenLineage event has one time.
    """
    word, event_type = read_event_type(body, "eventType", "event_type", "status")
    run, sent_job = body.inside("run"), body.inside("job")
    start = run.time("startTime", "start_time")
    at = _moment(event_type, start, run.time("endTime", "end_time"), body.time("eventTime", "event_time"), run)
    job = read_job(sent_job, names)
    run_facets, job_facets = run.inside("facets").rest(), sent_job.inside("facets").rest()
    run_id = run.text("runId", "run_id") or _run_id(event_type, job, start, at, run)
    inputs, outputs = read_datasets(body, "input", names), read_datasets(body, "output", names)
    producer = body.text("producer")
    body.get("schemaURL")  # the event that is made of it has its own
    if event_type == "OTHER" and word != "OTHER":
        run_facets.setdefault("status", word)
    return write_run(
        Run(
            event_type,
            at,
            start,
            run_id,
            body.rest() | run.rest() | run_facets,
            job,
            sent_job.rest() | job_facets,
            inputs,
            outputs,
            producer,
        ),
        names,
    )


def _moment(event_type: str, start: Time | None, end: Time | None, sent: Time | None, run: Fields) -> Time:
    """Choose the time of an event: an end's is the end, a start's the start, else any that is told."""
    if event_type in TERMINAL:
        at = end or sent or start
    elif event_type == "START":
        at = start or sent or end
    else:
        at = sent or start or end
    if at is None:
        wanted = "endTime" if event_type in TERMINAL else "startTime"
        raise RefusedEvent("is missing, and so is every other time", run.at(wanted))
    if end is not None and at is not end:
        run.notes.append(f"{run.at('endTime')} says nothing of a run that has not ended: ignored")
    if start is not None and start.micros > at.micros:
        run.notes.append(f"{run.at('startTime')} is after the time of the event: ignored")
    return at


def _run_id(event_type: str, job: JobName, start: Time | None, at: Time, run: Fields) -> str:
    """Compute a run's id from its job and its start, so that all events that tell the same start agree.

    The nominal time comes second: a run and its repetition stand for the same one.
    """
    known = start or (at if event_type == "START" else None)
    nominal = run.inside("facets").get("nominalTime")[1]
    if known is None and isinstance(nominal, dict):
        known = Fields(nominal, run.at("facets.nominalTime"), run.notes).time("nominalStartTime")
    if known is None:
        raise RefusedEvent("is missing, and without run.startTime none can be computed", run.at("runId"))
    run.notes.append(f"{run.at('runId')} is missing: computed from the job and the run's start")
    return computed_run_id(job, known)
