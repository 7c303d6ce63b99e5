"""Webhook target: posts the terminal state of each run."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.store.lineage.graph import LineageGraph
from bridge.sync.canonical.runs import CanonicalRun, read_runs
from bridge.sync.context import RequestPool, TargetContext, split_plan
from bridge.sync.item_store import SyncItemStore
from bridge.sync.status import read_status
from bridge.sync.sync_item import Completed, Failure, Outcome, RemoteReference, SyncItem, fingerprint, pushed
from bridge.sync.target import (
    Affected,
    BatchResult,
    ComparedBatch,
    ExpectedCount,
    PlanStep,
    TargetIdentity,
)
from connectors.webhook.client import WebhookClient
from mappers.logical_job import FoldingRule
from mappers.timestamps import format_timestamp

NAME = "webhook"
_BATCH_SIZE, _THREADS = 100, 4


class WebhookOptions(NamedTuple):
    """How runs are folded, and the states to report."""

    rule: FoldingRule
    states: frozenset[str]


class _Notification(NamedTuple):
    """A request that reports one run."""

    item: SyncItem
    request: dict[str, Any]
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
    min_intervals: Mapping[str, int] = MappingProxyType({})
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
        pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=NAME)
        options = WebhookOptions(rule, frozenset(states))
        requests = RequestPool(pool, client.probe)
        self._ctx = TargetContext[WebhookClient, WebhookOptions](
            db, org, NAME, client, options, items, requests, pool
        )
        self.identity = TargetIdentity(client.url, ",".join(sorted(states)))
        self.affected = EndedRunItems()

    def prepare(self) -> None:
        """Do nothing: the queries of this target need no extra indexes."""

    def probe(self) -> None:
        self._ctx.client.probe()

    def push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:  # noqa: ARG002 - there is one kind only
        """Post each run once, and again if its state changes afterwards."""
        self._ctx.requests.start_batch()
        return BatchResult(self._ctx.push_each(self._plan(items), self._send))

    def plan(self, items: Sequence[SyncItem]) -> list[PlanStep]:
        _, notifications = split_plan(self._plan(items))
        requests = [notification.request for notification in notifications]
        return [PlanStep("create", "run", f"{request['job']['name']} {request['state']}") for request in requests]

    def count_expected(self) -> Iterator[ExpectedCount]:
        yield from self._ctx.items.count_expected()

    def compare(self) -> Iterator[ComparedBatch]:
        """Return no batches: sent requests cannot be read back."""
        return iter(())

    def cancel(self) -> None:
        self._ctx.client.close()

    def close(self) -> None:
        self._ctx.pool.shutdown()
        self._ctx.client.close()

    def _plan(self, items: Sequence[SyncItem]) -> list[_Notification | Completed]:
        db, org, options = self._ctx.db, self._ctx.org, self._ctx.options
        runs = read_runs(db, org, options.rule, [item.key for item in items])
        names = LineageGraph(db, org).job_names({run.job for run in runs.values()})
        enabled_at = read_status(db, org, NAME).enabled_at or 0
        planned: list[_Notification | Completed] = []
        for item in items:
            run = runs.get(item.key)
            if run is None or run.status not in options.states:
                planned.append(
                    item.complete(Outcome.UNWANTED, "its state is not selected, or it is shown as another run")
                )
            elif (run.ended_at or 0) < enabled_at:
                planned.append(item.complete(Outcome.UNWANTED, "it ended before the webhook was enabled"))
            else:
                body = _body(run, *names[run.job])
                content_fingerprint = fingerprint([body["run"], body["state"]])
                notification = _Notification(item, body, content_fingerprint)
                planned.append(item.complete_if_unchanged(content_fingerprint) or notification)
        return planned

    def _send(self, notification: _Notification) -> Completed | Failure:
        body = notification.request
        self._ctx.client.send(body, notification.fingerprint.hex())
        return pushed(notification, RemoteReference("run", body["run"], body["job"]["name"]))


def _body(run: CanonicalRun, namespace: str, name: str) -> dict[str, Any]:
    return {
        "job": {"namespace": namespace, "name": name},
        "run": run.run_uuid,
        "state": run.status,
        "startedAt": format_timestamp(run.started_at),
        "endedAt": format_timestamp(run.ended_at) if run.ended_at is not None else None,
        "error": run.error,
    }
