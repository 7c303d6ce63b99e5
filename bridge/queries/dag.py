"""Query: dependencies between processes, declared or inferred."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, product
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from bridge.clock import now_micros
from bridge.queries.cycles import strongly_connected_components
from bridge.queries.query import Query, QueryContext
from bridge.store.job_families import logical_jobs
from bridge.store.lineage.evidence import IS_CURRENT_SQL
from bridge.store.lineage.graph import QualifiedName
from bridge.store.lineage.walk import MAX_EDGES
from bridge.store.references import NodeReference, format_id, node_reference
from bridge.versions.definitions import DefinitionStore, RegisteredDefinition
from mappers.canonical.identity import job_id

_INPUTS_AND_OUTPUTS = f"""
SELECT e.edge_role, CASE WHEN e.edge_role = 'CONSUMES' THEN e.target_id ELSE e.source_id END, d.class_id, e.evidence
FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
JOIN ol_dataset d ON d.org_id = e.org_id
  AND d.dataset_id = CASE WHEN e.edge_role = 'CONSUMES' THEN e.source_id ELSE e.target_id END
WHERE e.org_id = ?1 AND e.edge_role IN ('CONSUMES', 'PRODUCES') AND {IS_CURRENT_SQL}
"""
_DECLARED = f"""
SELECT e.source_id, e.target_id, e.transform_meta FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
WHERE e.org_id = ?1 AND e.edge_role = 'DEPENDS' AND {IS_CURRENT_SQL}
"""
_WITHOUT_INTEGRATION = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND integration IS NULL AND job_id {ids}"
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class Dependency(msgspec.Struct, frozen=True):
    """One process runs after another: it reads an output of the other, or the dependency is declared."""

    before: str
    after: str
    kind: Literal["declared", "inferred"]
    #: The dataset of an inferred dependency.
    dataset: NodeReference | None = None
    #: The kind and the rules of a declared dependency, as far as they were specified.
    declared: dict[str, Any] | None = None
    #: False for an inferred dependency whose writer or reader is only declared, rather than observed in runs.
    observed: bool = True


class DagProcess(NodeReference, frozen=True):
    """A process, and the version of its active definition; the version is null if no definition is registered."""

    version: str | None
    #: Id of the box that contains the process. The process starts after its box, and the box ends after it.
    box: str | None = None


class UnproducedDataset(msgspec.Struct, frozen=True):
    """A dataset without a known producer, and the ids of the processes that read it.

    That is not necessarily an error: external datasets have no producer in the store.
    """

    dataset: NodeReference
    readers: list[str]


class DagResult(msgspec.Struct, frozen=True):
    """Processes by id, the dependencies between them, and whether the dependencies were truncated.

    A query for one namespace also returns upstream processes in other namespaces.
    """

    processes: list[DagProcess]
    dependencies: list[Dependency]
    cut: Literal["size"] | None
    #: Ids of processes that depend on each other, complete even if truncated; self-dependencies do not count.
    cycles: list[list[str]]
    #: Inputs without a known producer, of registered processes and of jobs without an integration.
    missing: list[UnproducedDataset]


class DagQuery(Query[DagResult], frozen=True, kw_only=True):
    """Processes and their dependencies, declared or inferred from their inputs and outputs."""

    path = "/dag"
    result_type = DagResult
    namespace: Annotated[str, msgspec.Meta(description="Only processes of this namespace.", min_length=1)] | None = (
        None
    )
    most: Annotated[int, msgspec.Meta(ge=1, le=100_000, description="Maximum number of dependencies.")] = MAX_EDGES

    def run(self, ctx: QueryContext) -> DagResult:
        io_rows = ctx.db.fetch_all(_INPUTS_AND_OUTPUTS, ctx.org)
        declared_rows = ctx.db.fetch_all(_DECLARED, ctx.org)
        reporting_jobs = {job for _, job, *_ in io_rows}
        for before, after, _ in declared_rows:
            reporting_jobs |= {before, after}
        logical_jobs_by_job = logical_jobs(ctx.db, ctx.org, ctx.rule, reporting_jobs)
        graph = ctx.graph()
        active_definitions = {
            definition.process: definition
            for definition in DefinitionStore(ctx.db, ctx.org, now_micros).list_active()
        }
        names = {
            job: QualifiedName(definition.namespace, definition.name)
            for job, definition in active_definitions.items()
        }
        names |= graph.job_names(set().union(*logical_jobs_by_job.values()))
        selected_names = {job: name for job, name in names.items() if self.namespace in {None, name.namespace}}
        usage = _readers_and_writers(io_rows, logical_jobs_by_job)
        declared_dependencies = list(_declared_dependencies(declared_rows, logical_jobs_by_job))
        candidates = (
            dependency
            for dependency in chain(declared_dependencies, _inferred_dependencies(usage))
            if dependency.before in names
            and dependency.after in selected_names
            and dependency.before != dependency.after
        )
        dependencies = list(islice(candidates, self.most))
        is_truncated = next(candidates, None) is not None
        listed_names = selected_names | {dependency.before: names[dependency.before] for dependency in dependencies}
        dataset_names = graph.dataset_names({dependency.dataset for dependency in dependencies if dependency.dataset})
        ordered_jobs = sorted(selected_names, key=lambda job: (*selected_names[job], job))
        return DagResult(
            [
                _dag_process(job, listed_names[job], active_definitions.get(job), ctx.org)
                for job in sorted(listed_names, key=lambda job: (*listed_names[job], job))
            ],
            [dependency.to_result(dataset_names) for dependency in dependencies],
            "size" if is_truncated else None,
            _find_cycles(usage, declared_dependencies, ordered_jobs),
            _find_unproduced_datasets(ctx, usage, ordered_jobs, active_definitions.keys()),
        )


def _dag_process(job: bytes, name: QualifiedName, definition: RegisteredDefinition | None, org: str) -> DagProcess:
    if definition is None:
        return DagProcess(format_id(job), *name, version=None)
    box = _innermost_box(definition)
    box_id = format_id(job_id(org, definition.namespace, box)) if box else None
    return DagProcess(format_id(job), *name, definition.version, box_id)


def _innermost_box(definition: RegisteredDefinition) -> str | None:
    """Return the name of the innermost box of a definition, if any."""
    if '"boxes"' not in definition.definition:  # most definitions need not be decoded
        return None
    content = msgspec.json.decode(definition.definition)
    boxes = content.get("boxes") if isinstance(content, dict) else None
    innermost = boxes[-1] if isinstance(boxes, list) and boxes else None
    return innermost if isinstance(innermost, str) else None


class _DatasetNode(NamedTuple):
    """A dataset as a node of the graph, distinguished from a job by its type."""

    dataset: bytes


_Node = bytes | _DatasetNode


class _ReadersAndWriters(NamedTuple):
    """The writers and readers of each dataset. The value of a job is True if it was observed in a run."""

    writers: dict[bytes, dict[bytes, bool]]
    readers: dict[bytes, dict[bytes, bool]]


class _JobDependency(NamedTuple):
    """A dependency between logical jobs. `declared` is the JSON of a declared dependency's metadata, if any."""

    before: bytes
    after: bytes
    dataset: bytes | None = None
    declared: str | None = None
    observed: bool = True

    def to_result(self, dataset_names: dict[bytes, QualifiedName]) -> Dependency:
        metadata = None
        if self.declared:
            metadata = {key: value for key, value in _decoder.decode(self.declared).items() if value}
        return Dependency(
            format_id(self.before),
            format_id(self.after),
            "inferred" if self.dataset else "declared",
            node_reference(self.dataset, dataset_names[self.dataset]) if self.dataset else None,
            metadata,
            self.observed,
        )


def _declared_dependencies(
    rows: list[tuple[Any, ...]], logical_jobs_by_job: dict[bytes, set[bytes]]
) -> Iterator[_JobDependency]:
    for before, after, metadata in rows:
        for before_job, after_job in product(sorted(logical_jobs_by_job[before]), sorted(logical_jobs_by_job[after])):
            yield _JobDependency(before_job, after_job, declared=metadata)


def _readers_and_writers(
    rows: list[tuple[Any, ...]], logical_jobs_by_job: dict[bytes, set[bytes]]
) -> _ReadersAndWriters:
    """Group writers and readers by dataset. Observed runs outweigh declarations."""
    usage = _ReadersAndWriters({}, {})
    for role, reporting_job, dataset, evidence in rows:
        jobs_by_dataset = usage.writers if role == "PRODUCES" else usage.readers
        jobs = jobs_by_dataset.setdefault(dataset, {})
        for job in logical_jobs_by_job[reporting_job]:
            jobs[job] = jobs.get(job, False) or evidence != "declared"
    return usage


def _inferred_dependencies(usage: _ReadersAndWriters) -> Iterator[_JobDependency]:
    """Pair the writers of each dataset with its readers."""
    writers, readers = usage
    for dataset in sorted(writers.keys() & readers.keys()):
        for (before, write_observed), (after, read_observed) in product(
            sorted(writers[dataset].items()), sorted(readers[dataset].items())
        ):
            yield _JobDependency(before, after, dataset, observed=write_observed and read_observed)


def _find_cycles(
    usage: _ReadersAndWriters, declared_dependencies: Iterable[_JobDependency], ordered_jobs: list[bytes]
) -> list[list[str]]:
    """Find processes that depend on each other.

    Datasets are nodes as well: an edge from every writer to every reader of a dataset could be too many.
    """
    positions = {job: index for index, job in enumerate(ordered_jobs)}
    successors: dict[_Node, list[_Node]] = {job: [] for job in ordered_jobs}
    for dataset in usage.writers.keys() & usage.readers.keys():
        successors[_DatasetNode(dataset)] = [job for job in usage.readers[dataset] if job in positions]
        for job in usage.writers[dataset]:
            if job in positions:
                successors[job].append(_DatasetNode(dataset))
    for dependency in declared_dependencies:
        if dependency.before in positions and dependency.after in positions:
            successors[dependency.before].append(dependency.after)
    cycles = []
    for component in strongly_connected_components(successors):
        jobs = [node for node in component if isinstance(node, bytes)]
        if len(jobs) > 1:
            cycles.append(sorted(jobs, key=positions.__getitem__))
    cycles.sort(key=lambda cycle: [positions[job] for job in cycle])
    return [list(map(format_id, cycle)) for cycle in cycles]


def _find_unproduced_datasets(
    ctx: QueryContext, usage: _ReadersAndWriters, ordered_jobs: list[bytes], registered_processes: Collection[bytes]
) -> list[UnproducedDataset]:
    """Find inputs that no job writes. Inputs of integration jobs are ignored, because many are raw files."""
    readers_by_dataset = {
        dataset: readers for dataset, readers in usage.readers.items() if dataset not in usage.writers
    }
    all_readers = {job for readers in readers_by_dataset.values() for job in readers}
    relevant_jobs = {job for (job,) in ctx.db.fetch_for_ids(_WITHOUT_INTEGRATION, sorted(all_readers), ctx.org)}
    relevant_jobs.update(registered_processes)
    reader_ids: dict[bytes, list[str]] = {}
    for dataset, readers in readers_by_dataset.items():
        relevant_readers = [job for job in ordered_jobs if job in readers and job in relevant_jobs]
        if relevant_readers:
            reader_ids[dataset] = [format_id(job) for job in relevant_readers]
    names = ctx.graph().dataset_names(reader_ids)
    return [
        UnproducedDataset(node_reference(dataset, names[dataset]), reader_ids[dataset])
        for dataset in sorted(names, key=lambda dataset: (*names[dataset], dataset))
    ]
