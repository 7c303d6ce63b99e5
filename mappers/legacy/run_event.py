"""Translates the legacy run event: `POST /api/v1/run_event`."""

from mappers.errors import InvalidInput
from mappers.legacy.body_fields import BodyFields, Timestamp
from mappers.legacy.datasets import parse_datasets
from mappers.legacy.names import JobName, LegacyNamespaces, read_job_name
from mappers.legacy.run_builder import TERMINAL, LegacyRun, build_run_events, derive_run_id, parse_event_type


def translate_run_event(body: BodyFields, namespaces: LegacyNamespaces) -> list[bytes]:
    """Translate a legacy run event; raises InvalidInput with the offending field.

    An end event with a start time becomes two events, because an OpenLineage event has one time.
    """
    state, event_type = parse_event_type(body, "eventType", "event_type", "status")
    run, job_fields = body.object("run"), body.object("job")
    start = run.time("startTime", "start_time")
    time = _event_time(event_type, start, run.time("endTime", "end_time"), body.time("eventTime", "event_time"), run)
    job = read_job_name(job_fields, namespaces)
    run_facets, job_facets = run.object("facets").unread_members(), job_fields.object("facets").unread_members()
    run_id = run.text("runId", "run_id") or _derive_run_id(event_type, job, start, time, run)
    inputs, outputs = parse_datasets(body, "input", namespaces), parse_datasets(body, "output", namespaces)
    producer = body.text("producer")
    body.get("schemaURL")  # marks it as read, so that it does not become a facet
    if event_type == "OTHER" and state != "OTHER":
        run_facets.setdefault("status", state)
    return build_run_events(
        LegacyRun(
            event_type,
            time,
            start,
            run_id,
            job,
            run_facets=body.unread_members() | run.unread_members() | run_facets,
            job_facets=job_fields.unread_members() | job_facets,
            inputs=inputs,
            outputs=outputs,
            producer=producer,
        ),
        namespaces,
    )


def _event_time(
    event_type: str, start: Timestamp | None, end: Timestamp | None, sent_at: Timestamp | None, run: BodyFields
) -> Timestamp:
    """Choose the time of an event: the run's end for an end event, its start for a start event, or else `sent_at`.

    If that time is missing, another time in the body is used.
    """
    if event_type in TERMINAL:
        time = end or sent_at or start
    elif event_type == "START":
        time = start or sent_at or end
    else:
        time = sent_at or start or end
    if time is None:
        field = "endTime" if event_type in TERMINAL else "startTime"
        raise InvalidInput("is missing, and so are all other times", run.path_to(field))
    if end is not None and time is not end:
        run.notes.append(f"{run.path_to('endTime')} is ignored because the run has not ended")
    if start is not None and start.micros > time.micros:
        run.notes.append(f"{run.path_to('startTime')} is after the time of the event: ignored")
    return time


def _derive_run_id(event_type: str, job: JobName, start: Timestamp | None, time: Timestamp, run: BodyFields) -> str:
    """Derive the id of a run from its job and start, so that all events with the same start agree.

    The nominal time is only a fallback, because a rerun has the same nominal time.
    """
    run_start = time if start is None and event_type == "START" else start
    _, nominal_time = run.object("facets").get("nominalTime")
    if run_start is None and isinstance(nominal_time, dict):
        run_start = BodyFields(nominal_time, run.path_to("facets.nominalTime"), run.notes).time("nominalStartTime")
    if run_start is None:
        raise InvalidInput("is missing, and cannot be derived without run.startTime", run.path_to("runId"))
    run.notes.append(f"{run.path_to('runId')} is missing: derived from the job and the start of the run")
    return derive_run_id(job, run_start)
