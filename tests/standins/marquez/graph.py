"""GET /lineage: jobs joined by what they read and write now."""

from collections.abc import Iterable

from tests.standins.marquez import dataset_views, job_views, node_ids, run_views
from tests.standins.marquez.errors import Refused, database, failed, not_found
from tests.standins.marquez.exchange import Answer, Call
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import INPUT, OUTPUT, Dataset, Job, Json

#: A column as the version has it that was written: without what came later.
_COLUMN: Json = {"name": None, "type": None, "tags": [], "description": None}


def lineage(call: Call) -> Answer:
    """Show the graph around a job or a dataset."""
    node, depth = node_ids.asked(call), node_ids.depth(call)
    if node.kind not in ("job", "dataset"):
        message = f"Node '{node.text}' must be of type dataset or job!"
        raise Refused(404, {"code": 404, "message": message})
    namespace, name = node.names(2)
    if "\x00" in node.text:
        raise database('invalid byte sequence for encoding "UTF8": 0x00')
    if node.version is not None:
        raise failed()
    store = call.store
    if node.kind == "job":
        start = store.job(namespace, name)
        if start is None:
            raise not_found("Job", name)
        return Answer(body={"graph": _graph(store, around(store, start, depth))})
    dataset = store.dataset(namespace, name)
    if dataset is None:
        raise not_found("Dataset", name)
    start = _job_of(store, dataset)
    if start is None:
        return Answer(body={"graph": [_dataset_node(dataset, [], [])]})
    return Answer(body={"graph": _graph(store, around(store, start, depth))})


def around(store: Store, start: Job, depth: int) -> list[Job]:
    """Give the jobs that are not further away than so many steps; deleted ones still join others."""
    reached = [start]
    edge = [start]
    for _ in range(depth):
        touched = {id(dataset) for job in edge for dataset in [*now(job, INPUT), *now(job, OUTPUT)]}
        edge = [
            job
            for job in store.jobs.values()
            if job not in reached and any(id(one) in touched for one in [*now(job, INPUT), *now(job, OUTPUT)])
        ]
        if not edge:
            break
        reached += edge
    return [job for job in reached if not job.hidden]


def now(job: Job, type_: str) -> list[Dataset]:
    """Give what a job reads or writes now."""
    return list({id(io.dataset): io.dataset for io in job.io if io.current and io.type == type_}.values())


def _seen(job: Job, type_: str) -> list[Dataset]:
    return [dataset for dataset in now(job, type_) if not dataset.hidden]


def _job_of(store: Store, dataset: Dataset) -> Job | None:
    """Give the job that wrote a dataset last, else one that reads it."""
    found = [
        (io.type, io.version.created, job)
        for job in store.jobs.values()
        for io in job.io
        if io.dataset is dataset and not job.hidden
    ]
    return max(found, key=lambda one: one[:2])[2] if found else None


def _graph(store: Store, jobs: list[Job]) -> list[Json]:
    datasets = {id(one): one for job in jobs for type_ in (INPUT, OUTPUT) for one in _seen(job, type_)}
    nodes = [
        _dataset_node(
            dataset,
            [job for job in jobs if dataset in now(job, OUTPUT)],
            [job for job in jobs if dataset in now(job, INPUT)],
        )
        for dataset in datasets.values()
    ]
    nodes += [_job_node(store, job) for job in jobs]
    return sorted(nodes, key=lambda node: str(node["id"]))


def _dataset_node(dataset: Dataset, writers: list[Job], readers: list[Job]) -> Json:
    current = dataset.current
    data = dataset_views.base(dataset, dataset.names[0])
    columns = [] if current is None else current.schema or []
    data |= {
        "fields": [{**_COLUMN, **column, "tags": []} for column in columns],
        "tags": [],
        "lastModifiedAt": None,
        "description": dataset.description,
        "lastLifecycleState": None if current is None else current.lifecycle,
    }
    return {
        "id": _dataset_id(dataset),
        "type": "DATASET",
        "data": data,
        "inEdges": _edges((_job_id(job), _dataset_id(dataset)) for job in writers),
        "outEdges": _edges((_dataset_id(dataset), _job_id(job)) for job in readers),
    }


def _job_node(store: Store, job: Job) -> Json:
    shown = job_views.bare(job)
    latest = None if job.run is None else store.runs.get(job.run)
    inputs, outputs = _seen(job, INPUT), _seen(job, OUTPUT)
    kept = ("id", "type", "name", "simpleName", "parentJobName", "parentJobUuid")
    data = {name: shown[name] for name in kept}
    data |= {"currentRunUuid": job.run}
    data |= {name: shown[name] for name in ("createdAt", "updatedAt", "namespace")}
    data |= {
        "inputs": job_views.ids([dataset.names[0] for dataset in inputs]),
        "outputs": job_views.ids([dataset.names[0] for dataset in outputs]),
        "location": job.location,
        "description": job.description,
        "latestRun": None if latest is None else run_views.shown(latest),
    }
    return {
        "id": _job_id(job),
        "type": "JOB",
        "data": data,
        "inEdges": _edges((_dataset_id(dataset), _job_id(job)) for dataset in inputs),
        "outEdges": _edges((_job_id(job), _dataset_id(dataset)) for dataset in outputs),
    }


def _edges(pairs: Iterable[tuple[str, str]]) -> list[Json]:
    return [{"origin": origin, "destination": destination} for origin, destination in sorted(pairs)]


def _dataset_id(dataset: Dataset) -> str:
    return f"dataset:{dataset.names[0][0]}:{dataset.names[0][1]}"


def _job_id(job: Job) -> str:
    return f"job:{job.namespace}:{job.name}"
