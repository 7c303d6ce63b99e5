"""Processes and what depends on what: declared by somebody, or inferred from what they read and write."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, product
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from bridge.catalogue.cycles import strongly_connected
from bridge.catalogue.question import Question, View
from bridge.catalogue.registry import now_micros
from bridge.catalogue.things import Thing, thing, write_id
from bridge.registry.definitions import Definition, Definitions
from bridge.store.edges import STANDS
from bridge.store.folds import fold_jobs
from bridge.store.graph import Named
from bridge.store.limits import MOST_EDGES
from mappers.canonical.identity import job_id

_IO = f"""
SELECT e.edge_role, CASE WHEN e.edge_role = 'CONSUMES' THEN e.target_id ELSE e.source_id END, d.class_id, e.evidence
FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
JOIN ol_dataset d ON d.org_id = e.org_id
  AND d.dataset_id = CASE WHEN e.edge_role = 'CONSUMES' THEN e.source_id ELSE e.target_id END
WHERE e.org_id = ?1 AND e.edge_role IN ('CONSUMES', 'PRODUCES') AND {STANDS}
"""
_DECLARED = f"""
SELECT e.source_id, e.target_id, e.transform_meta FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
WHERE e.org_id = ?1 AND e.edge_role = 'DEPENDS' AND {STANDS}
"""
_UNINTEGRATED = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND integration IS NULL AND job_id {among}"
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])

#: A job, or a dataset, which is told from a job by being in a tuple.
_Node = bytes | tuple[bytes]


class Dependency(msgspec.Struct, frozen=True):
    """One process comes after another, because of a dataset that it reads or of what somebody declared."""

    before: str
    after: str
    kind: Literal["declared", "inferred"]
    #: The dataset, where it is inferred.
    dataset: Thing | None = None
    #: What was declared: kind of dependency and the rules, as far as they were given.
    declared: dict[str, Any] | None = None
    #: Whether runs showed both ends of what is inferred; false where one is only declared to read or write it.
    observed: bool = True


class DagProcess(Thing, frozen=True):
    """A process, and the version of its definition that is in effect; null where none is registered."""

    version: str | None
    #: The id of the box that it lies in, as its definition says: it starts no sooner, and the box ends no sooner.
    box: str | None = None


class Missing(msgspec.Struct, frozen=True):
    """A dataset that nobody is known to produce, and the ids of the processes that read it.

    No fault in itself: what comes from outside is made by nobody here.
    """

    dataset: Thing
    readers: list[str]


class DagAnswer(msgspec.Struct, frozen=True):
    """Processes by their ids, the dependencies between them, and whether more were found than asked for.

    Of one namespace that is asked for, with those of others that its processes wait for.
    """

    processes: list[DagProcess]
    dependencies: list[Dependency]
    cut: Literal["size"] | None
    #: The ids of processes that wait for each other; all of them, whatever was cut. Who reads what it writes is none.
    cycles: list[list[str]]
    #: What processes that are registered here, and jobs of which no integration tells, read without a known producer.
    missing: list[Missing]


class Dag(Question[DagAnswer], frozen=True, kw_only=True):
    """Processes and their dependencies: declared, or inferred from what they read and write."""

    path = "/dag"
    answer = DagAnswer
    namespace: Annotated[str, msgspec.Meta(description="Only processes of this namespace.", min_length=1)] | None = (
        None
    )
    most: Annotated[int, msgspec.Meta(ge=1, le=100_000, description="How many dependencies at most.")] = MOST_EDGES

    def answered(self, view: View) -> DagAnswer:
        """Put it together."""
        io = view.db.rows(_IO, view.org)
        declared = view.db.rows(_DECLARED, view.org)
        ends = {job for _, job, *_ in io} | {job for row in declared for job in row[:2]}
        folds = fold_jobs(view.db, view.org, view.rule, ends)
        graph = view.graph()
        defined = {one.process: one for one in Definitions(view.db, view.org, now_micros).all_active()}
        names = {job: Named(one.namespace, one.name) for job, one in defined.items()}
        names |= graph.jobs({job for found in folds.values() for job in found})
        shown = {job: named for job, named in names.items() if self.namespace in {None, named.namespace}}
        sides = _sides(io, folds)
        pairs = (
            pair
            for pair in chain(_declared(declared, folds), _inferred(sides))
            if pair.before in names and pair.after in shown and pair.before != pair.after
        )
        found = list(islice(pairs, self.most + 1))
        told = shown | {pair.before: names[pair.before] for pair in found[: self.most]}
        datasets = graph.datasets({pair.dataset for pair in found if pair.dataset})
        order = sorted(shown, key=lambda job: (*shown[job], job))
        return DagAnswer(
            [
                _told(job, told[job], defined.get(job), view.org)
                for job in sorted(told, key=lambda job: (*told[job], job))
            ],
            [pair.told(datasets) for pair in found[: self.most]],
            "size" if len(found) > self.most else None,
            _cycles(sides, _declared(declared, folds), order),
            _missing(view, sides, order, defined.keys()),
        )


def _told(job: bytes, named: Named, definition: Definition | None, org: str) -> DagProcess:
    if definition is None:
        return DagProcess(write_id(job), *named, None)
    box = _box(definition)
    around = write_id(job_id(org, definition.namespace, box)) if box else None
    return DagProcess(write_id(job), *named, definition.version, around)


def _box(definition: Definition) -> str | None:
    """Name the innermost box of a definition that names boxes."""
    if '"boxes"' not in definition.definition:
        return None
    said = msgspec.json.decode(definition.definition)
    boxes = said.get("boxes") if isinstance(said, dict) else None
    return boxes[-1] if isinstance(boxes, list) and boxes and isinstance(boxes[-1], str) else None


class _Sides(NamedTuple):
    """Who makes each dataset and who reads it, and whether that was observed."""

    made: dict[bytes, dict[bytes, bool]]
    read: dict[bytes, dict[bytes, bool]]


class _Pair(NamedTuple):
    before: bytes
    after: bytes
    dataset: bytes | None = None
    declared: str | None = None
    observed: bool = True

    def told(self, datasets: dict[bytes, Named]) -> Dependency:
        return Dependency(
            write_id(self.before),
            write_id(self.after),
            "inferred" if self.dataset else "declared",
            thing(self.dataset, datasets[self.dataset]) if self.dataset else None,
            {key: value for key, value in _decoder.decode(self.declared).items() if value} if self.declared else None,
            self.observed,
        )


def _declared(rows: list[tuple[Any, ...]], folds: dict[bytes, set[bytes]]) -> Iterator[_Pair]:
    for before, after, meta in rows:
        for pair in product(sorted(folds[before]), sorted(folds[after])):
            yield _Pair(*pair, declared=meta)


def _sides(rows: list[tuple[Any, ...]], folds: dict[bytes, set[bytes]]) -> _Sides:
    """Gather who makes and who reads; what was observed counts for more than what is declared."""
    sides = _Sides({}, {})
    for role, leaf, dataset, evidence in rows:
        jobs = (sides.made if role == "PRODUCES" else sides.read).setdefault(dataset, {})
        for job in folds[leaf]:
            jobs[job] = jobs.get(job, False) or evidence != "declared"
    return sides


def _inferred(sides: _Sides) -> Iterator[_Pair]:
    """Pair who makes a dataset with who reads it."""
    made, read = sides
    for dataset in sorted(made.keys() & read.keys()):
        for (before, seen), (after, also) in product(sorted(made[dataset].items()), sorted(read[dataset].items())):
            yield _Pair(before, after, dataset, observed=seen and also)


def _cycles(sides: _Sides, declared: Iterable[_Pair], order: list[bytes]) -> list[list[str]]:
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
    among = ([node for node in found if isinstance(node, bytes)] for found in strongly_connected(leads))
    found = sorted(sorted(place[job] for job in jobs) for jobs in among if len(jobs) > 1)
    return [[write_id(order[at]) for at in cycle] for cycle in found]


def _missing(view: View, sides: _Sides, order: list[bytes], defined: Collection[bytes]) -> list[Missing]:
    """Find what is read and not made; of what an integration tells, every raw file would be such a thing."""
    read = {dataset: jobs for dataset, jobs in sides.read.items() if dataset not in sides.made}
    jobs = {job for found in read.values() for job in found}
    telling = {job for (job,) in view.db.among(_UNINTEGRATED, sorted(jobs), view.org)} | set(defined)
    readers = {dataset: [job for job in order if job in found and job in telling] for dataset, found in read.items()}
    names = view.graph().datasets({dataset for dataset, found in readers.items() if found})
    return [
        Missing(thing(dataset, names[dataset]), [write_id(job) for job in readers[dataset]])
        for dataset in sorted(names, key=lambda one: (*names[one], one))
    ]
