"""Calls about tags: of datasets, their columns, and jobs."""

from tests.standins.marquez import datasets, job_views, jobs
from tests.standins.marquez.errors import database, failed, not_found
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.tables import Field


def listed(call: Call) -> Answer:
    known = call.store.tags.items()
    return Answer(body={"tags": [{"name": name, "description": text} for name, text in call.page(list(known))]})


def put(call: Call) -> Answer:
    if not call.raw:
        raise failed()
    name, text = call.args["tag"], call.object().get("description")
    call.store.tags[name] = text
    return Answer(body={"name": name, "description": text})


def tag_dataset(call: Call) -> Answer:
    dataset, name = datasets.asked(call)
    dataset.tags[_known(call)] = None
    return Answer(body=datasets.shown(call.store, dataset, name))


def untag_dataset(call: Call) -> Answer:
    dataset, name = datasets.asked(call)
    dataset.tags.pop(call.args["tag"], None)
    return Answer(body=datasets.shown(call.store, dataset, name))


def tag_field(call: Call) -> Answer:
    dataset, name = datasets.asked(call)
    fields = _fields(call)
    if len(dataset.names) > 1:  # cannot be told from itself
        raise failed()
    for field in fields:
        field.tags[_known(call)] = None
    return Answer(body=datasets.shown(call.store, dataset, name))


def untag_field(call: Call) -> Answer:
    dataset, name = datasets.asked(call)
    for field in _fields(call):
        field.tags.pop(call.args["tag"], None)
    return Answer(body=datasets.shown(call.store, dataset, name))


def tag_job(call: Call) -> Answer:
    job = jobs.asked(call)
    if job.simple != job.name:
        raise database('null value in column "job_uuid" of relation "jobs_tag_mapping" violates not-null constraint')
    job.tags[_known(call)] = None
    return Answer(body=job_views.bare(job))


def untag_job(call: Call) -> Answer:
    job = jobs.asked(call)
    if job.simple == job.name:
        job.tags.pop(call.args["tag"], None)
    return Answer(body=job_views.bare(job))


def _known(call: Call) -> str:
    call.store.tags.setdefault(call.args["tag"], None)
    return call.args["tag"]


def _fields(call: Call) -> list[Field]:
    dataset, name = datasets.asked(call)
    wanted = call.args["field"]
    found = [field for field in dataset.fields.values() if field.name == wanted]
    if not found:
        raise not_found("Field", wanted, f" for dataset '{name[1]}'")
    return found
