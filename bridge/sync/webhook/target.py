"""Webhook target: posts the terminal state of each run."""

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
_BATCH_SIZE, _THREADS = 100, 4


class _Notification(NamedTuple):
    """A request that reports one run."""

    item: SyncItem
    body: dict[str, Any]
    fingerprint: bytes


class EndedRunItems:
    """Determines the items that a change affects: only changed runs."""

    def of_marks(self, marks: Mapping[str, set[bytes]]) -> Affected:
        return Affected({("run", key) for key in marks.get("run", ())})


class WebhookTarget:
    """Posts the terminal state of each run to a URL. Not thread-safe."""

    name = NAME
    batch_sizes = {"run": _BATCH_SIZE}  # noqa: RUF012 - fixed
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
        self._requests = RequestPool(self._pool, client.probe)
        self.settings = TargetIdentity(client.url, ",".join(sorted(states)))
        self.affected: AffectedItems = EndedRunItems()

    def prepare(self) -> None:
        """Nothing to prepare: the queries of this target need no extra indexes."""

    def probe(self) -> None:
        self._client.probe()

    def push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:  # noqa: ARG002 - there is one kind only
        """Post each run once, and again if its state changes afterwards."""
        self._requests.start_batch()
        planned = self._plan(items)
        sent = self._requests.map(
            self._send, [notification for notification in planned if isinstance(notification, _Notification)], _failed
        )
        return BatchResult([*(result for result in planned if isinstance(result, Completed)), *sent])

    def plan(self, items: Sequence[SyncItem]) -> list[PlanStep]:
        notifications = [
            notification for notification in self._plan(items) if isinstance(notification, _Notification)
        ]
        return [
            PlanStep("create", "run", f"{notification.body['job']['name']} {notification.body['state']}")
            for notification in notifications
        ]

    def count_expected(self) -> Iterator[ExpectedCount]:
        return (ExpectedCount(*counts) for counts in self._items.count_expected())

    def compare(self) -> Iterator[ComparedBatch]:
        """Nothing to compare: sent requests cannot be read back."""
        return iter(())

    def close(self) -> None:
        self._pool.shutdown()
        self._client.close()

    def _plan(self, items: Sequence[SyncItem]) -> list[_Notification | Completed]:
        runs = read_runs(self._db, self._org, self._rule, [item.key for item in items])
        names = LineageGraph(self._db, self._org).job_names({run.job for run in runs.values()})
        since = read_status(self._db, self._org, NAME).enabled_at or 0
        planned: list[_Notification | Completed] = []
        for item in items:
            run = runs.get(item.key)
            if run is None or run.status not in self._states:
                planned.append(
                    item.complete(Outcome.UNWANTED, "its state is not selected, or it is shown as another run")
                )
            elif (run.ended_at or 0) < since:
                planned.append(item.complete(Outcome.UNWANTED, "it ended before the webhook was enabled"))
            else:
                body = _body(run, *names[run.job])
                content_fingerprint = fingerprint([body["run"], body["state"]])
                planned.append(
                    complete_unchanged(item)
                    if is_unchanged(item, content_fingerprint)
                    else _Notification(item, body, content_fingerprint)
                )
        return planned

    def _send(self, notification: _Notification) -> Completed | Failure:
        self._client.send(notification.body, notification.fingerprint.hex())
        remote = RemoteReference("run", notification.body["run"], notification.body["job"]["name"])
        return Completed(
            notification.item, Outcome.PUSHED, None, notification.fingerprint, remote, created_by_us=True
        )


def _body(run: CanonicalRun, namespace: str, name: str) -> dict[str, Any]:
    return {
        "job": {"namespace": namespace, "name": name},
        "run": run.run_uuid,
        "state": run.status,
        "startedAt": format_timestamp(run.started_at),
        "endedAt": format_timestamp(run.ended_at) if run.ended_at is not None else None,
        "error": run.error,
    }


def _failed(notification: _Notification, error: LineageBridgeError) -> Completed | Failure:
    return Failure(notification.item, error, notification.body, notification.fingerprint)
