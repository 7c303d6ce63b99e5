"""An address as a target of the reconciler, which is told how each run ends: the least that a target can be."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.store.lineage.graph import LineageGraph
from bridge.sync.canonical.runs import CanonicalRun, read_runs
from bridge.sync.item_store import SyncItemStore
from bridge.sync.request_pool import RequestPool
from bridge.sync.status import read_status
from bridge.sync.sync_item import (
    Completed,
    Failure,
    Outcome,
    RemoteReference,
    SyncItem,
    complete_unchanged,
    fingerprint,
    is_unchanged,
)
from bridge.sync.target import (
    Affected,
    AffectedItems,
    BatchResult,
    ComparedBatch,
    ExpectedCount,
    PlanStep,
    TargetIdentity,
)
from connectors.webhook.client import WebhookClient
from mappers.errors import LineageBridgeError
from mappers.logical_job import FoldingRule
from mappers.timestamps import format_timestamp

NAME = "webhook"
_AT_ONCE, _THREADS = 100, 4


class _Notification(NamedTuple):
    """What is to be told of a run."""

    item: SyncItem
    body: dict[str, Any]
    mark: bytes


class EndedRunItems:
    """Marks of runs mean these runs, and nothing else means anything."""

    def of_marks(self, marks: Mapping[str, set[bytes]]) -> Affected:
        """Say which runs marks mean."""
        return Affected({("run", key) for key in marks.get("run", ())})


class WebhookTarget:
    """Tells an address how runs end. Not for several threads at once."""

    name = NAME
    batch_sizes = {"run": _AT_ONCE}  # noqa: RUF012 - fixed
    slow_kinds: AbstractSet[str] = frozenset()
    compared_kinds: AbstractSet[str] = frozenset()

    def __init__(
        self,
        db: Database,
        org: str,
        client: WebhookClient,
        items: SyncItemStore,
        rule: FoldingRule,
        states: Collection[str],
    ) -> None:
        self._db = db
        self._org = org
        self._client = client
        self._items = items
        self._rule = rule
        self._states = frozenset(states)
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=NAME)
        self._workers = RequestPool(self._pool, client.probe)
        self.settings = TargetIdentity(client.url, ",".join(sorted(states)))
        self.affected: AffectedItems = EndedRunItems()

    def prepare(self) -> None:
        """Make nothing ready: all that is asked of the store lies ready."""

    def probe(self) -> None:
        """Ask whether anybody is there."""
        self._client.probe()

    def push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:  # noqa: ARG002 - there is one kind only
        """Tell how runs ended, each once; one that ends otherwise after all is told again."""
        self._workers.start_batch()
        found = self._wanted(items)
        told = self._workers.map(self._tell, [one for one in found if isinstance(one, _Notification)], _failed)
        return BatchResult([*(one for one in found if isinstance(one, Completed)), *told])

    def plan(self, items: Sequence[SyncItem]) -> list[PlanStep]:
        """Say what would be told."""
        wanted = [one for one in self._wanted(items) if isinstance(one, _Notification)]
        return [PlanStep("create", "run", f"{one.body['job']['name']} {one.body['state']}") for one in wanted]

    def count_expected(self) -> Iterator[ExpectedCount]:
        """Count what shall be told."""
        return (ExpectedCount(*counts) for counts in self._items.count_expected())

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare nothing: what was told cannot be read."""
        return iter(())

    def close(self) -> None:
        """End the threads, and close the connections."""
        self._pool.shutdown()
        self._client.close()

    def _wanted(self, items: Sequence[SyncItem]) -> list[_Notification | Completed]:
        runs = read_runs(self._db, self._org, self._rule, [item.key for item in items])
        names = LineageGraph(self._db, self._org).job_names({run.job for run in runs.values()})
        since = read_status(self._db, self._org, NAME).enabled_at or 0
        found: list[_Notification | Completed] = []
        for item in items:
            run = runs.get(item.key)
            if run is None or run.status not in self._states:
                found.append(item.complete(Outcome.UNWANTED, "it has not ended so, or another run stands for it"))
            elif (run.ended_at or 0) < since:
                found.append(item.complete(Outcome.UNWANTED, "it ended before anybody wanted to hear of it"))
            else:
                body = _body(run, *names[run.job])
                mark = fingerprint([body["run"], body["state"]])
                found.append(
                    complete_unchanged(item) if is_unchanged(item, mark) else _Notification(item, body, mark)
                )
        return found

    def _tell(self, told: _Notification) -> Completed | Failure:
        self._client.send(told.body, told.mark.hex())
        remote = RemoteReference("run", told.body["run"], told.body["job"]["name"])
        return Completed(told.item, Outcome.PUSHED, None, told.mark, remote, created_by_us=True)


def _body(run: CanonicalRun, namespace: str, name: str) -> dict[str, Any]:
    return {
        "job": {"namespace": namespace, "name": name},
        "run": run.run_uuid,
        "state": run.status,
        "startedAt": format_timestamp(run.started_at),
        "endedAt": format_timestamp(run.ended_at) if run.ended_at is not None else None,
        "error": run.error,
    }


def _failed(told: _Notification, error: LineageBridgeError) -> Completed | Failure:
    return Failure(told.item, error, told.body, told.mark)
