"""The run event of legacy jobs: `POST /api/v1/run_event`."""

from mappers.errors import InvalidInput
from mappers.legacy.body_fields import BodyFields, Timestamp
from mappers.legacy.datasets import parse_datasets
from mappers.legacy.names import JobName, LegacyNamespaces, read_job_name
from mappers.legacy.run_builder import TERMINAL, LegacyRun, build_run_events, derive_run_id, parse_event_type


def translate_run_event(body: BodyFields, names: LegacyNamespaces) -> list[bytes]:
    """Translate a legacy run event; raises RefusedEvent naming the field when it cannot be one.

    An end event that knows its start becomes two events, because an OpenLineage event has one time.
    """
    word, event_type = parse_event_type(body, "eventType", "event_type", "status")
    run, sent_job = body.object("run"), body.object("job")
    start = run.time("startTime", "start_time")
    at = _moment(event_type, start, run.time("endTime", "end_time"), body.time("eventTime", "event_time"), run)
    job = read_job_name(sent_job, names)
    run_facets, job_facets = run.object("facets").unread(), sent_job.object("facets").unread()
    run_id = run.text("runId", "run_id") or _run_id(event_type, job, start, at, run)
    inputs, outputs = parse_datasets(body, "input", names), parse_datasets(body, "output", names)
    producer = body.text("producer")
    body.get("schemaURL")  # the event that is made of it has its own
    if event_type == "OTHER" and word != "OTHER":
        run_facets.setdefault("status", word)
    return build_run_events(
        LegacyRun(
            event_type,
            at,
            start,
            run_id,
            body.unread() | run.unread() | run_facets,
            job,
            sent_job.unread() | job_facets,
            inputs,
            outputs,
            producer,
        ),
        names,
    )


def _moment(
    event_type: str, start: Timestamp | None, end: Timestamp | None, sent: Timestamp | None, run: BodyFields
) -> Timestamp:
    """Choose the time of an event: an end's is the end, a start's the start, else any that is told."""
    if event_type in TERMINAL:
        at = end or sent or start
    elif event_type == "START":
        at = start or sent or end
    else:
        at = sent or start or end
    if at is None:
        wanted = "endTime" if event_type in TERMINAL else "startTime"
        raise InvalidInput("is missing, and so is every other time", run.path_to(wanted))
    if end is not None and at is not end:
        run.notes.append(f"{run.path_to('endTime')} says nothing of a run that has not ended: ignored")
    if start is not None and start.micros > at.micros:
        run.notes.append(f"{run.path_to('startTime')} is after the time of the event: ignored")
    return at


def _run_id(event_type: str, job: JobName, start: Timestamp | None, at: Timestamp, run: BodyFields) -> str:
    """Compute a run's id from its job and its start, so that all events that tell the same start agree.

    The nominal time comes second: a run and its repetition stand for the same one.
    """
    known = start or (at if event_type == "START" else None)
    nominal = run.object("facets").get("nominalTime")[1]
    if known is None and isinstance(nominal, dict):
        known = BodyFields(nominal, run.path_to("facets.nominalTime"), run.notes).time("nominalStartTime")
    if known is None:
        raise InvalidInput("is missing, and without run.startTime none can be computed", run.path_to("runId"))
    run.notes.append(f"{run.path_to('runId')} is missing: computed from the job and the run's start")
    return derive_run_id(job, known)
