"""Processes and what depends on what: declared by somebody, or inferred from what they read and write."""

from collections.abc import Iterator
from itertools import chain, islice, product
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from bridge.catalogue.question import Question, View
from bridge.catalogue.things import Thing, thing, write_id
from bridge.store.edges import STANDS
from bridge.store.folds import fold_jobs
from bridge.store.graph import Named
from bridge.store.limits import MOST_EDGES

_IO = f"""
SELECT e.edge_role, CASE WHEN e.edge_role = 'CONSUMES' THEN e.target_id ELSE e.source_id END, d.class_id, e.evidence
FROM lineage_edge e
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
JOIN ol_dataset d ON d.org_id = e.org_id
  AND d.dataset_id = CASE WHEN e.edge_role = 'CONSUMES' THEN e.source_id ELSE e.target_id END
WHERE e.org_id = ?1 AND e.edge_role IN ('CONSUMES', 'PRODUCES') AND {STANDS}
"""
_DECLARED = """
SELECT e.source_id, e.target_id, e.transform_meta FROM lineage_edge e
WHERE e.org_id = ?1 AND e.edge_role = 'DEPENDS'
"""
_decoder: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


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


class DagAnswer(msgspec.Struct, frozen=True):
    """Processes by their ids, the dependencies between them, and whether more were found than asked for."""

    processes: list[Thing]
    dependencies: list[Dependency]
    cut: Literal["size"] | None


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
        names = graph.jobs({job for found in folds.values() for job in found})
        shown = {job: named for job, named in names.items() if self.namespace in {None, named.namespace}}
        pairs = (
            pair
            for pair in chain(_declared(declared, folds), _inferred(io, folds))
            if pair.before in shown and pair.after in shown and pair.before != pair.after
        )
        found = list(islice(pairs, self.most + 1))
        datasets = graph.datasets({pair.dataset for pair in found if pair.dataset})
        processes = sorted(
            (thing(job, named) for job, named in shown.items()), key=lambda job: (job.namespace, job.name)
        )
        told = [pair.told(datasets) for pair in found[: self.most]]
        return DagAnswer(processes, told, "size" if len(found) > self.most else None)


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


def _inferred(rows: list[tuple[Any, ...]], folds: dict[bytes, set[bytes]]) -> Iterator[_Pair]:
    """Pair who makes a dataset with who reads it; what was observed counts for more than what is declared."""
    sides: dict[str, dict[bytes, dict[bytes, bool]]] = {"PRODUCES": {}, "CONSUMES": {}}
    for role, leaf, dataset, evidence in rows:
        jobs = sides[role].setdefault(dataset, {})
        for job in folds[leaf]:
            jobs[job] = jobs.get(job, False) or evidence != "declared"
    made, read = sides["PRODUCES"], sides["CONSUMES"]
    for dataset in sorted(made.keys() & read.keys()):
        for (before, seen), (after, also) in product(sorted(made[dataset].items()), sorted(read[dataset].items())):
            yield _Pair(before, after, dataset, observed=seen and also)
