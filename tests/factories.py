"""Builders of minimal OpenLineage events for tests."""

from typing import Any

Json = dict[str, Any]

PRODUCER = "https://example.com/producer"
SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
FACET_URL = "https://openlineage.io/spec/facets/1-0-0/Any.json"


def at(second: float) -> str:
    """An ISO time within one minute."""
    return f"2026-01-01T00:00:{second:09.6f}Z"


def micros(second: float) -> int:
    return 1_767_225_600_000_000 + round(second * 1_000_000)


def run_uuid(number: int) -> str:
    return f"00000000-0000-7000-8000-{number:012x}"


def facet(**content: Any) -> Json:
    return {"_producer": PRODUCER, "_schemaURL": FACET_URL, **content}


DELETED = facet(_deleted=True)


def dataset(
    name: str,
    namespace: str = "db",
    *,
    input_facets: Json | None = None,
    output_facets: Json | None = None,
    **facets: Json,
) -> Json:
    result: Json = {"namespace": namespace, "name": name, "facets": facets}
    if input_facets is not None:
        result["inputFacets"] = input_facets
    if output_facets is not None:
        result["outputFacets"] = output_facets
    return result


def schema(*columns: str, **descriptions: str) -> Json:
    return facet(
        fields=[{"name": column, "type": "string"} for column in columns]
        + [{"name": column, "type": "string", "description": text} for column, text in descriptions.items()]
    )


def symlinks(*names: str, namespace: str = "db", kind: str = "TABLE") -> Json:
    return facet(identifiers=[{"namespace": namespace, "name": name, "type": kind} for name in names])


def lifecycle(change: str, previous: str | None = None, namespace: str = "db") -> Json:
    result = facet(lifecycleStateChange=change)
    if previous is not None:
        result["previousIdentifier"] = {"namespace": namespace, "name": previous}
    return result


def field(source: str, column: str, *transformations: Json, namespace: str = "db") -> Json:
    result: Json = {"namespace": namespace, "name": source, "field": column}
    if transformations:
        result["transformations"] = list(transformations)
    return result


def transformation(
    kind: str = "DIRECT", subtype: str = "IDENTITY", *, masking: bool = False, description: str = ""
) -> Json:
    return {"type": kind, "subtype": subtype, "masking": masking, "description": description}


def columns(fields: dict[str, list[Json]], dataset_inputs: list[Json] | None = None) -> Json:
    result = facet(fields={name: {"inputFields": inputs} for name, inputs in fields.items()})
    if dataset_inputs is not None:
        result["dataset"] = dataset_inputs
    return result


def parent(number: int, job: str, namespace: str = "jobs", root: tuple[int, str] | None = None) -> Json:
    result = facet(run={"runId": run_uuid(number)}, job={"namespace": namespace, "name": job})
    if root is not None:
        result["root"] = {"run": {"runId": run_uuid(root[0])}, "job": {"namespace": namespace, "name": root[1]}}
    return result


def registration(status: str = "PENDING", second: float = 0, by: str = "ann", **fields: Any) -> Json:
    return facet(submittedBy=by, submittedAt=at(second), status=status, **fields)


def spark_type(kind: str = "SQL_JOB") -> Json:
    return facet(integration="SPARK", jobType=kind, processingType="BATCH")


def run_event(
    kind: str = "COMPLETE",
    second: float = 0,
    *,
    run: int = 1,
    job: str = "job",
    namespace: str = "jobs",
    inputs: list[Json] | None = None,
    outputs: list[Json] | None = None,
    run_facets: Json | None = None,
    job_facets: Json | None = None,
) -> Json:
    return {
        "eventTime": at(second),
        "eventType": kind,
        "producer": PRODUCER,
        "schemaURL": SPEC + "RunEvent",
        "run": {"runId": run_uuid(run), "facets": run_facets or {}},
        "job": {"namespace": namespace, "name": job, "facets": job_facets or {}},
        "inputs": inputs or [],
        "outputs": outputs or [],
    }


def job_event(
    second: float = 0,
    *,
    job: str = "job",
    inputs: list[Json] | None = None,
    outputs: list[Json] | None = None,
    **facets: Json,
) -> Json:
    return {
        "eventTime": at(second),
        "producer": PRODUCER,
        "schemaURL": SPEC + "JobEvent",
        "job": {"namespace": "jobs", "name": job, "facets": facets},
        "inputs": inputs or [],
        "outputs": outputs or [],
    }


def dataset_event(second: float, described: Json) -> Json:
    return {
        "eventTime": at(second),
        "producer": PRODUCER,
        "schemaURL": SPEC + "DatasetEvent",
        "dataset": described,
    }


def app(kind: str, second: float, message: str | None = None, *, run: int = 1, **facets: Json) -> Json:
    """An event of a Spark application, with the error message that its listener reports, if any."""
    return run_event(
        kind, second, run=run, job=f"app{run}", run_facets=facets | spark_exception(message),
        job_facets={"jobType": spark_type("APPLICATION")},
    )  # fmt: skip


def action(
    kind: str, second: float, message: str | None = None, *, run: int = 2, job_type: str = "SQL_JOB",
    parent_facet: Json | None = None, outputs: list[Json] | None = None,
) -> Json:  # fmt: skip
    """An event of an action of application 1."""
    return run_event(
        kind, second, run=run, job=f"app1.{run}", outputs=outputs, job_facets={"jobType": spark_type(job_type)},
        run_facets={"parent": parent_facet or parent(1, "app1", root=(1, "app1")), **spark_exception(message)},
    )  # fmt: skip


def spark_exception(message: str | None) -> Json:
    return {} if message is None else {"spark.exception": facet(message=message, stackTrace="at …")}


def create_as_select(
    *, outer: str = "CREATE", inner: str = "OVERWRITE", rows: int = 2, ends: int = 3, application: int = 9
) -> list[Json]:
    """Two sibling actions that write one table: run 1 from second 1 to 4, run 2 from second 2 to `ends`."""
    events = []
    for run, begin, end, state_change, parent_run, count in (
        (1, 1, 4, outer, 9, 2),
        (2, 2, ends, inner, application, rows),
    ):
        written = dataset(
            "t",
            output_facets={"outputStatistics": facet(rowCount=count, size=10, fileCount=1)},
            lifecycleStateChange=lifecycle(state_change),
        )
        for kind, second in (("START", begin), ("COMPLETE", end)):
            facets = {"job_facets": {"jobType": spark_type()}, "run_facets": {"parent": parent(parent_run, "app")}}
            events.append(run_event(kind, second, run=run, job=f"app.{run}", outputs=[written], **facets))
    return events
