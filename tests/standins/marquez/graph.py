"""GET /lineage: jobs connected by their current inputs and outputs."""

from collections.abc import Iterable

from tests.standins.marquez import dataset_views, job_views, node_ids, run_views
from tests.standins.marquez.errors import ApiError, database_error, internal_error, not_found
from tests.standins.marquez.exchange import ApiResponse, Call
from tests.standins.marquez.store import Store
from tests.standins.marquez.tables import INPUT, OUTPUT, Dataset, Job, Json

#: Defaults of a column in the schema of a version.
_COLUMN: Json = {"name": None, "type": None, "tags": [], "description": None}


def lineage(call: Call) -> ApiResponse:
    """Return the graph around a job or dataset."""
    node, depth = node_ids.parse(call), node_ids.depth(call)
    if node.kind not in ("job", "dataset"):
        message = f"Node '{node.text}' must be of type dataset or job!"
        raise ApiError(404, {"code": 404, "message": message})
    namespace, name = node.names(2)
    if "\x00" in node.text:
        raise database_error('invalid byte sequence for encoding "UTF8": 0x00')
    if node.version is not None:
        raise internal_error()
    store = call.store
    if node.kind == "job":
        start = store.job(namespace, name)
        if start is None:
            raise not_found("Job", name)
        return ApiResponse(body={"graph": _graph(store, reachable_jobs(store, start, depth))})
    dataset = store.dataset(namespace, name)
    if dataset is None:
        raise not_found("Dataset", name)
    start = _start_job(store, dataset)
    if start is None:
        return ApiResponse(body={"graph": [_dataset_node(dataset, [], [])]})
    return ApiResponse(body={"graph": _graph(store, reachable_jobs(store, start, depth))})


def reachable_jobs(store: Store, start: Job, depth: int) -> list[Job]:
    """Jobs within `depth` steps; deleted jobs still connect others."""
    reached = [start]
    frontier = [start]
    for _ in range(depth):
        datasets = {
            id(dataset)
            for job in frontier
            for dataset in [*current_datasets(job, INPUT), *current_datasets(job, OUTPUT)]
        }
        frontier = [
            job
            for job in store.jobs.values()
            if job not in reached
            and any(
                id(dataset) in datasets for dataset in [*current_datasets(job, INPUT), *current_datasets(job, OUTPUT)]
            )
        ]
        if not frontier:
            break
        reached += frontier
    return [job for job in reached if not job.hidden]


def current_datasets(job: Job, type_: str) -> list[Dataset]:
    """Current inputs or outputs of a job."""
    return list({id(io.dataset): io.dataset for io in job.io if io.current and io.type == type_}.values())


def _visible_datasets(job: Job, type_: str) -> list[Dataset]:
    return [dataset for dataset in current_datasets(job, type_) if not dataset.hidden]


def _start_job(store: Store, dataset: Dataset) -> Job | None:
    """Job that wrote a dataset last, or else one that reads it."""
    candidates = [
        (io.type, io.version.created, job)
        for job in store.jobs.values()
        for io in job.io
        if io.dataset is dataset and not job.hidden
    ]
    return max(candidates, key=lambda candidate: candidate[:2])[2] if candidates else None


def _graph(store: Store, jobs: list[Job]) -> list[Json]:
    datasets = {
        id(dataset): dataset for job in jobs for type_ in (INPUT, OUTPUT) for dataset in _visible_datasets(job, type_)
    }
    nodes = [
        _dataset_node(
            dataset,
            [job for job in jobs if dataset in current_datasets(job, OUTPUT)],
            [job for job in jobs if dataset in current_datasets(job, INPUT)],
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
    job_json = job_views.render_without_runs(job)
    latest = None if job.run is None else store.runs.get(job.run)
    inputs, outputs = _visible_datasets(job, INPUT), _visible_datasets(job, OUTPUT)
    members = ("id", "type", "name", "simpleName", "parentJobName", "parentJobUuid")
    data = {name: job_json[name] for name in members}
    data |= {"currentRunUuid": job.run}
    data |= {name: job_json[name] for name in ("createdAt", "updatedAt", "namespace")}
    data |= {
        "inputs": job_views.ids([dataset.names[0] for dataset in inputs]),
        "outputs": job_views.ids([dataset.names[0] for dataset in outputs]),
        "location": job.location,
        "description": job.description,
        "latestRun": None if latest is None else run_views.render(latest),
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
