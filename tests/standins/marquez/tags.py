"""Handlers of tags of datasets, columns and jobs."""

from tests.standins.marquez import datasets, job_views, jobs
from tests.standins.marquez.errors import database_error, internal_error, not_found
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.tables import Field


def list_tags(call: Call) -> ApiResponse:
    tags = call.store.tags.items()
    return ApiResponse(body={"tags": [{"name": name, "description": text} for name, text in call.page(list(tags))]})


def put(call: Call) -> ApiResponse:
    if not call.raw:
        raise internal_error()
    name, text = call.args["tag"], call.object().get("description")
    call.store.tags[name] = text
    return ApiResponse(body={"name": name, "description": text})


def tag_dataset(call: Call) -> ApiResponse:
    dataset, name = datasets.resolve(call)
    dataset.tags[_ensure_tag(call)] = None
    return ApiResponse(body=datasets.render_dataset(call.store, dataset, name))


def untag_dataset(call: Call) -> ApiResponse:
    dataset, name = datasets.resolve(call)
    dataset.tags.pop(call.args["tag"], None)
    return ApiResponse(body=datasets.render_dataset(call.store, dataset, name))


def tag_field(call: Call) -> ApiResponse:
    dataset, name = datasets.resolve(call)
    fields = _fields(call)
    if len(dataset.names) > 1:  # the server joins by name, so aliases make the dataset ambiguous
        raise internal_error()
    for field in fields:
        field.tags[_ensure_tag(call)] = None
    return ApiResponse(body=datasets.render_dataset(call.store, dataset, name))


def untag_field(call: Call) -> ApiResponse:
    dataset, name = datasets.resolve(call)
    for field in _fields(call):
        field.tags.pop(call.args["tag"], None)
    return ApiResponse(body=datasets.render_dataset(call.store, dataset, name))


def tag_job(call: Call) -> ApiResponse:
    job = jobs.resolve(call)
    if job.simple != job.name:
        raise database_error(
            'null value in column "job_uuid" of relation "jobs_tag_mapping" violates not-null constraint'
        )
    job.tags[_ensure_tag(call)] = None
    return ApiResponse(body=job_views.render_without_runs(job))


def untag_job(call: Call) -> ApiResponse:
    job = jobs.resolve(call)
    if job.simple == job.name:
        job.tags.pop(call.args["tag"], None)
    return ApiResponse(body=job_views.render_without_runs(job))


def _ensure_tag(call: Call) -> str:
    call.store.tags.setdefault(call.args["tag"], None)
    return call.args["tag"]


def _fields(call: Call) -> list[Field]:
    dataset, name = datasets.resolve(call)
    field_name = call.args["field"]
    found = [field for field in dataset.fields.values() if field.name == field_name]
    if not found:
        raise not_found("Field", field_name, f" for dataset '{name[1]}'")
    return found
