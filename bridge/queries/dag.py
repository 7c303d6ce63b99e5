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

_IO = f"""
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
_UNINTEGRATED = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND integration IS NULL AND job_id {ids}"
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])

#: A job, or a dataset, which is told from a job by being in a tuple.
_Node = bytes | tuple[bytes]


class Dependency(msgspec.Struct, frozen=True):
    """One process comes after another, because of a dataset that it reads or of what somebody declared."""

    before: str
    after: str
    kind: Literal["declared", "inferred"]
    #: The dataset, where it is inferred.
    dataset: NodeReference | None = None
    #: What was declared: kind of dependency and the rules, as far as they were given.
    declared: dict[str, Any] | None = None
    #: Whether runs showed both ends of what is inferred; false where one is only declared to read or write it.
    observed: bool = True


class DagProcess(NodeReference, frozen=True):
    """A process, and the version of its definition that is in effect; null where none is registered."""

    version: str | None
    #: The id of the box that it lies in, as its definition says: it starts no sooner, and the box ends no sooner.
    box: str | None = None


class UnproducedDataset(msgspec.Struct, frozen=True):
    """A dataset that nobody is known to produce, and the ids of the processes that read it.

    No fault in itself: what comes from outside is made by nobody here.
    """

    dataset: NodeReference
    readers: list[str]


class DagResult(msgspec.Struct, frozen=True):
    """Processes by their ids, the dependencies between them, and whether more were found than asked for.

    Of one namespace that is asked for, with those of others that its processes wait for.
    """

    processes: list[DagProcess]
    dependencies: list[Dependency]
    cut: Literal["size"] | None
    #: The ids of processes that wait for each other; all of them, whatever was cut. Who reads what it writes is none.
    cycles: list[list[str]]
    #: What processes that are registered here, and jobs of which no integration tells, read without a known producer.
    missing: list[UnproducedDataset]


class DagQuery(Query[DagResult], frozen=True, kw_only=True):
    """Processes and their dependencies: declared, or inferred from what they read and write."""

    path = "/dag"
    result_type = DagResult
    namespace: Annotated[str, msgspec.Meta(description="Only processes of this namespace.", min_length=1)] | None = (
        None
    )
    most: Annotated[int, msgspec.Meta(ge=1, le=100_000, description="How many dependencies at most.")] = MAX_EDGES

    def run(self, view: QueryContext) -> DagResult:
        """Put it together."""
        io = view.db.fetch_all(_IO, view.org)
        declared = view.db.fetch_all(_DECLARED, view.org)
        ends = {job for _, job, *_ in io} | {job for row in declared for job in row[:2]}
        folds = logical_jobs(view.db, view.org, view.rule, ends)
        graph = view.graph()
        defined = {one.process: one for one in DefinitionStore(view.db, view.org, now_micros).list_active()}
        names = {job: QualifiedName(one.namespace, one.name) for job, one in defined.items()}
        names |= graph.job_names({job for found in folds.values() for job in found})
        shown = {job: named for job, named in names.items() if self.namespace in {None, named.namespace}}
        sides = _sides(io, folds)
        pairs = (
            pair
            for pair in chain(_declared(declared, folds), _inferred(sides))
            if pair.before in names and pair.after in shown and pair.before != pair.after
        )
        found = list(islice(pairs, self.most + 1))
        told = shown | {pair.before: names[pair.before] for pair in found[: self.most]}
        datasets = graph.dataset_names({pair.dataset for pair in found if pair.dataset})
        order = sorted(shown, key=lambda job: (*shown[job], job))
        return DagResult(
            [
                _result(job, told[job], defined.get(job), view.org)
                for job in sorted(told, key=lambda job: (*told[job], job))
            ],
            [pair.told(datasets) for pair in found[: self.most]],
            "size" if len(found) > self.most else None,
            _cycles(sides, _declared(declared, folds), order),
            _missing(view, sides, order, defined.keys()),
        )


def _result(job: bytes, named: QualifiedName, definition: RegisteredDefinition | None, org: str) -> DagProcess:
    if definition is None:
        return DagProcess(format_id(job), *named, None)
    box = _box(definition)
    around = format_id(job_id(org, definition.namespace, box)) if box else None
    return DagProcess(format_id(job), *named, definition.version, around)


def _box(definition: RegisteredDefinition) -> str | None:
    """Name the innermost box of a definition that names boxes."""
    if '"boxes"' not in definition.definition:
        return None
    said = msgspec.json.decode(definition.definition)
    boxes = said.get("boxes") if isinstance(said, dict) else None
    return boxes[-1] if isinstance(boxes, list) and boxes and isinstance(boxes[-1], str) else None


class _ReadersAndWriters(NamedTuple):
    """Who makes each dataset and who reads it, and whether that was observed."""

    made: dict[bytes, dict[bytes, bool]]
    read: dict[bytes, dict[bytes, bool]]


class _JobDependency(NamedTuple):
    before: bytes
    after: bytes
    dataset: bytes | None = None
    declared: str | None = None
    observed: bool = True

    def told(self, datasets: dict[bytes, QualifiedName]) -> Dependency:
        return Dependency(
            format_id(self.before),
            format_id(self.after),
            "inferred" if self.dataset else "declared",
            node_reference(self.dataset, datasets[self.dataset]) if self.dataset else None,
            {key: value for key, value in _decoder.decode(self.declared).items() if value} if self.declared else None,
            self.observed,
        )


def _declared(rows: list[tuple[Any, ...]], folds: dict[bytes, set[bytes]]) -> Iterator[_JobDependency]:
    for before, after, meta in rows:
        for pair in product(sorted(folds[before]), sorted(folds[after])):
            yield _JobDependency(*pair, declared=meta)


def _sides(rows: list[tuple[Any, ...]], folds: dict[bytes, set[bytes]]) -> _ReadersAndWriters:
    """Gather who makes and who reads; what was observed counts for more than what is declared."""
    sides = _ReadersAndWriters({}, {})
    for role, leaf, dataset, evidence in rows:
        jobs = (sides.made if role == "PRODUCES" else sides.read).setdefault(dataset, {})
        for job in folds[leaf]:
            jobs[job] = jobs.get(job, False) or evidence != "declared"
    return sides


def _inferred(sides: _ReadersAndWriters) -> Iterator[_JobDependency]:
    """Pair who makes a dataset with who reads it."""
    made, read = sides
    for dataset in sorted(made.keys() & read.keys()):
        for (before, seen), (after, also) in product(sorted(made[dataset].items()), sorted(read[dataset].items())):
            yield _JobDependency(before, after, dataset, observed=seen and also)


def _cycles(sides: _ReadersAndWriters, declared: Iterable[_JobDependency], order: list[bytes]) -> list[list[str]]:
    """Find who waits for each other; by way of the datasets, whose makers and readers in pairs would be too many."""
    place = {job: at for at, job in enumerate(order)}
    leads: dict[_Node, list[_Node]] = {job: [] for job in order}
    for dataset in sides.made.keys() & sides.read.keys():
        leads[dataset,] = [job for job in sides.read[dataset] if job in place]
        for job in sides.made[dataset]:
            if job in place:
                leads[job].append((dataset,))
    for pair in declared:
        if pair.before in place and pair.after in place:
            leads[pair.before].append(pair.after)
    among = ([node for node in found if isinstance(node, bytes)] for found in strongly_connected_components(leads))
    found = sorted(sorted(place[job] for job in jobs) for jobs in among if len(jobs) > 1)
    return [[format_id(order[at]) for at in cycle] for cycle in found]


def _missing(
    view: QueryContext, sides: _ReadersAndWriters, order: list[bytes], defined: Collection[bytes]
) -> list[UnproducedDataset]:
    """Find what is read and not made; of what an integration tells, every raw file would be such a thing."""
    read = {dataset: jobs for dataset, jobs in sides.read.items() if dataset not in sides.made}
    jobs = {job for found in read.values() for job in found}
    telling = {job for (job,) in view.db.fetch_for_ids(_UNINTEGRATED, sorted(jobs), view.org)} | set(defined)
    readers = {dataset: [job for job in order if job in found and job in telling] for dataset, found in read.items()}
    names = view.graph().dataset_names({dataset for dataset, found in readers.items() if found})
    return [
        UnproducedDataset(node_reference(dataset, names[dataset]), [format_id(job) for job in readers[dataset]])
        for dataset in sorted(names, key=lambda one: (*names[one], one))
    ]
