"""OpenMetadata as a target of the reconciler."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor

from bridge.store.database import Database
from bridge.store.edges import Edges
from bridge.store.folds import fold_jobs
from bridge.store.graph import Graph
from bridge.sync.checks import checks_of, results_of
from bridge.sync.edge_states import EdgeStates
from bridge.sync.item import REMOVAL, Failed, Item, Outcome, Remote, Settled, fingerprint
from bridge.sync.items import Items
from bridge.sync.lineage import read_leaves
from bridge.sync.openmetadata.access import Access
from bridge.sync.openmetadata.checks import Checks
from bridge.sync.openmetadata.comparison import Comparison
from bridge.sync.openmetadata.datasets import want_datasets
from bridge.sync.openmetadata.directory import Directory
from bridge.sync.openmetadata.entities import Entities
from bridge.sync.openmetadata.governance import Governance
from bridge.sync.openmetadata.jobs import want_jobs
from bridge.sync.openmetadata.lineage import Lineages
from bridge.sync.openmetadata.meaning import FoldedMeaning
from bridge.sync.openmetadata.profiles import Profiles
from bridge.sync.openmetadata.removals import Removals, remote_of
from bridge.sync.openmetadata.results import Results
from bridge.sync.openmetadata.rules import Rules
from bridge.sync.openmetadata.runs import Runs
from bridge.sync.openmetadata.wanted import Wanted
from bridge.sync.openmetadata.workbench import Workbench
from bridge.sync.target import Compared, Meaning, Owed, Pushed, Step, TargetSettings
from bridge.sync.workers import Workers
from connectors.openmetadata.client import OpenMetadata

NAME = "openmetadata"
#: How many items are worked on at once: as many as make lists of what there is worth their calls, and as many whose
#: edges take seconds at most.
_ENTITIES, _LINEAGES, _RUNS, _CHECKS, _REMOVALS = 2_000, 200, 500, 200, 100
#: Kinds of items that stand for several things.
_BY_EDGES = ("lineage",)
#: Where the columns of an entity are remembered: of ours, and of those of others.
_COLUMNS = ("shape", "columns", "tasks")
_READERS = """
SELECT DISTINCT e.target_id FROM ol_dataset d
JOIN lineage_edge e ON e.org_id = d.org_id AND e.source_id = d.dataset_id AND e.edge_role = 'CONSUMES'
WHERE d.org_id = ?1 AND d.class_id {among}
"""
_CLASSES = "SELECT DISTINCT class_id FROM ol_dataset WHERE org_id = ?1 AND dataset_id {among}"
_MEMBERS = "SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id {among}"
_USED = (
    "SELECT run_id FROM ol_run_output WHERE org_id = ?1 AND dataset_id {among}",
    "SELECT run_id FROM ol_run_input WHERE org_id = ?1 AND dataset_id {among}",
)
_ABOVE = "SELECT parent_run_id FROM ol_run WHERE org_id = ?1 AND run_id {among} AND parent_run_id IS NOT NULL"
_CHILD_JOBS = "SELECT target_id FROM lineage_edge WHERE org_id = ?1 AND source_id {among} AND edge_role = 'PARENT'"
_RUNS_OF = "SELECT run_id FROM ol_run WHERE org_id = ?1 AND job_id {among}"
_WRITTEN = """
SELECT DISTINCT d.class_id FROM lineage_edge e
JOIN ol_dataset d ON d.org_id = e.org_id AND d.dataset_id = e.target_id
WHERE e.org_id = ?1 AND e.source_id {among} AND e.edge_role = 'PRODUCES' AND e.target_type = 'dataset'
"""


class OpenMetadataTarget:
    """Keeps an OpenMetadata server like a store. Not for several threads at once."""

    name = NAME
    kinds = {  # noqa: RUF012 - fixed
        "dataset": _ENTITIES,
        "job": _ENTITIES,
        "lineage": _LINEAGES,
        "run": _RUNS,
        "check": _CHECKS,
        "result": _CHECKS,
        "profile": _CHECKS,
        "governance": _CHECKS,
        "access": 1,
        REMOVAL: _REMOVALS,
    }
    compared: AbstractSet[str] = frozenset({"dataset", "job", "lineage", "run", "check", "result", "profile"})
    slow: AbstractSet[str] = frozenset({"lineage", "run", "check", "result", "profile", "governance"})

    def __init__(
        self, db: Database, org: str, client: OpenMetadata, rules: Rules, items: Items, clock: Callable[[], int]
    ) -> None:
        self._db = db
        self._org = org
        self._client = client
        self._rules = rules
        self._pool = ThreadPoolExecutor(rules.concurrency, thread_name_prefix="openmetadata")
        self._states = EdgeStates(db, org, NAME)
        self.meaning: Meaning = FoldedMeaning(db, org, NAME, items, rules.folding)
        self._workers = Workers(self._pool, client.probe)
        asked = rules._replace(batch_size=0, concurrency=0, most_deletions=0)
        self.settings = TargetSettings(client.url, fingerprint(repr(asked)).hex())
        directory = Directory(client, self._pool, rules.layout.service, clock)
        self._entities = Entities(client, directory, rules, items, self._workers, clock)
        at = Workbench(db, org, client, rules, items, self._workers)
        self._lineages = Lineages(at, self._states)
        self._runs = Runs(at)
        self.governance = Governance(at)
        self._checks = Checks(at)
        results, profiles = Results(at), Profiles(at)
        self._pushers = {
            "lineage": self._lineages.push,
            "run": self._runs.push,
            "check": self._checks.push,
            "result": results.push,
            "profile": profiles.push,
            "governance": self.governance.push,
            "access": Access(at).push,
        }
        said = {"run": self._runs.said, "result": results.said, "profile": profiles.said}
        self._comparison = Comparison(at, NAME, directory, self._states, said, self._pool)
        self._items = items
        self._removals = Removals(client, items, self._states, self._workers, rules.most_deletions)

    def prepare(self) -> None:
        """Make nothing ready: all that is asked of the store lies ready."""

    def probe(self) -> None:
        """Ask whether the server answers, and takes the token."""
        self._client.probe()

    def push(self, kind: str, items: Sequence[Item]) -> Pushed:
        """Make the server say what the store says of items."""
        self._workers.begin()
        if kind in self._pushers:
            return self._pushers[kind](items)
        if kind == REMOVAL:
            return Pushed(self._removals.push(items))
        wanted, settled = self._wanted(kind, items)
        given_up, begun = self._entities.given_up([_without_remote(one) for one in settled])
        results = given_up + self._entities.push(wanted)
        left = begun + [remote for one in results if isinstance(one, Settled) and (remote := _left(one))]
        return Pushed(results, marked=self._followed(kind, results), left=left)

    def plan(self, items: Sequence[Item]) -> list[Step]:
        """Say what a push would do."""
        steps: list[Step] = []
        made: dict[bytes, str] = {}
        for kind in ("dataset", "job"):
            wanted, settled = self._wanted(kind, [item for item in items if item.kind == kind])
            planned, others, named = self._entities.plan(wanted)
            steps += sorted([*planned, *self._steps([*others, *settled])], key=_by_name)
            made |= named
        steps += sorted(self._lineages.plan([item for item in items if item.kind == "lineage"], made), key=_by_name)
        steps += self._runs.plan([item for item in items if item.kind == "run"], made)
        looked = self.governance.look([item for item in items if item.kind == "governance"])
        steps += [
            step for look in sorted(looked, key=lambda one: one.name or "") if look.name for step in look.steps()
        ]
        for item in items:
            if item.kind == REMOVAL and (remote := remote_of(item)) and self._removals.is_alone(item):
                steps.append(Step("delete", remote.type, remote.name))
        return steps

    def _steps(self, results: Sequence[Settled | Failed]) -> Iterator[Step]:
        """Tell of what would be left as it is, and why."""
        keys, graph = {one.item.key for one in results}, Graph(self._db, self._org)
        names = {**graph.datasets(keys), **graph.jobs(keys)}
        for one in results:
            named = names[one.item.key]
            name = one.item.remote.name if one.item.remote else f"{named.namespace} {named.name}"
            if isinstance(one, Failed):
                yield Step("failed", one.item.kind, name, str(one.error))
            else:
                action = "leave" if one.outcome is Outcome.UNCHANGED else one.outcome.value
                yield Step(action, one.item.kind, name, one.reason)

    def _wanted(self, kind: str, items: Sequence[Item]) -> tuple[list[Wanted], list[Settled]]:
        want = want_datasets if kind == "dataset" else want_jobs
        found = list(want(self._db, self._org, self._rules, items))
        return [one for one in found if isinstance(one, Wanted)], [one for one in found if isinstance(one, Settled)]

    def _followed(self, kind: str, results: Sequence[Settled | Failed]) -> set[tuple[str, bytes]]:
        """Say whose lineage is to be looked at: of what has become another entity, or has other columns."""
        moved = {one.item.key for one in results if isinstance(one, Settled) and _moved(one)}
        if kind == "dataset":
            fused = [one.item.key for one in results if isinstance(one, Settled) and _fused(one)]
            moved |= {class_id for (class_id,) in self._db.among(_CLASSES, sorted(fused), self._org)}
        if kind == "job":
            leaves = set().union(*read_leaves(self._db, self._org, self._rules.folding, moved).values())
            written = {dataset for (dataset,) in self._db.among(_WRITTEN, sorted(leaves), self._org)}
            readers = self._states.targets_by(moved) | written  # they may be ends themselves, and were missing
        else:
            readers = {found.target for found in Edges(self._db, self._org).out_of(sorted(moved))}
            jobs = {job for (job,) in self._db.among(_READERS, sorted(moved), self._org)}
            for shown in fold_jobs(self._db, self._org, self._rules.folding, jobs).values():
                readers |= shown
        followed = {("lineage", key) for key in moved | readers | self._states.targets_of(moved)}
        if kind == "job":
            return followed | self._told_as(moved)
        others = {one.item.key for one in results if isinstance(one, Settled) and one.item.remote != one.remote}
        return followed | self._checked(moved, others)

    def _checked(self, datasets: set[bytes], others: set[bytes]) -> set[tuple[str, bytes]]:
        """Find the checks of datasets that are tables with other columns now, and how they ended.

        Of those that have become other tables, or gave way to another one, the figures too: they are told anew.
        """
        checks = set(self._items.of("check", checks_of(self._db, self._org, datasets)))
        results = self._items.of("result", results_of(self._db, self._org, checks))
        members = {member for (member,) in self._db.among(_MEMBERS, sorted(datasets), self._org)}
        within = {member for (member,) in self._db.among(_MEMBERS, sorted(others), self._org)} | others
        profiles = self._items.beginning("profile", within)
        governed = set(self._items.of("governance", others))
        followed = {"check": checks, "result": set(results), "profile": profiles, "run": self._that_used(members)}
        followed["governance"] = governed
        return {(kind, key) for kind, keys in followed.items() for key in keys}

    def _that_used(self, datasets: set[bytes]) -> set[bytes]:
        """Find the runs that are told, and read or wrote datasets: of those that have become other entities."""
        runs = {run for sql in _USED for (run,) in self._db.among(sql, sorted(datasets), self._org)}
        for _ in range(2):  # they are told as their application, or as what started that
            runs |= {run for (run,) in self._db.among(_ABOVE, sorted(runs), self._org)}
        return set(self._items.of("run", runs))

    def _told_as(self, jobs: set[bytes]) -> set[tuple[str, bytes]]:
        """Find the runs that are told as statuses of pipelines that have become others."""
        beneath = {job for (job,) in self._db.among(_CHILD_JOBS, sorted(jobs), self._org)}
        runs = {run for (run,) in self._db.among(_RUNS_OF, sorted(jobs | beneath), self._org)}
        return {("run", run) for run in self._items.of("run", runs)}

    def owed(self) -> Iterator[Owed]:
        """Count what shall be there, bit by bit, as the store says."""
        yield from (Owed(*counts) for counts in self._items.owed() if counts[0] not in _BY_EDGES)
        yield from self._lineages.owed()

    def compare(self) -> Iterator[Compared]:
        """Compare everything that is there with what was left there, bit by bit."""
        self.forget()  # somebody may have restored an older state
        return self._comparison.slices()

    def forget(self) -> None:
        """Believe nothing of the server any more: somebody may have restored it."""
        self._entities.forget()
        self.governance.forget()
        self._checks.forget()

    def close(self) -> None:
        """End the threads, and close the connections."""
        self._pool.shutdown()
        self._client.close()


def _by_name(step: Step) -> str:
    return step.name


def _without_remote(settled: Settled) -> Settled:
    """Let what shall not be there stand for no entity."""
    return settled._replace(remote=None, fingerprint=None) if settled.outcome is Outcome.UNWANTED else settled


def _moved(settled: Settled) -> bool:
    before, item = settled.item.remote, settled.item
    return before != settled.remote or any(item.detail.get(key) != settled.detail.get(key) for key in _COLUMNS)


def _fused(settled: Settled) -> bool:
    """Tell whether it has become another name of something, which may have been there before."""
    return settled.outcome is Outcome.UNWANTED and settled.item.outcome != Outcome.UNWANTED


def _left(settled: Settled) -> Remote | None:
    """Give the entity that we made and that the item stood for until now."""
    before = settled.item.remote
    gone = before is not None and settled.item.ours and (settled.remote is None or settled.remote.id != before.id)
    return before if gone else None
