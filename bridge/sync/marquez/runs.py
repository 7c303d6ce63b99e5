"""Sends the runs of a family in start order, each with its terminal event last."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from bridge.sync.context import split_plan
from bridge.sync.marquez import NAME, MarquezContext
from bridge.sync.marquez.canonical import (
    MarquezRun,
    governance_by_name,
    newest_sent_run,
    read_derived_failures,
    read_jobs,
    read_runs,
)
from bridge.sync.sync_item import (
    Completed,
    Failure,
    ItemRecord,
    Outcome,
    RemoteReference,
    SyncItem,
    all_failed,
    failed,
    fingerprint,
    pushed,
)
from bridge.sync.target import BatchResult, ItemKey
from connectors.errors import TargetRejected
from connectors.marquez.event_log import find_logged_events
from mappers.canonical_json import JsonObject
from mappers.marquez.event_selection import select_events
from mappers.marquez.events import COMPLETED, is_streaming, run_event, run_state
from mappers.marquez.governance import add_steward_facets
from mappers.marquez.names import find_unsafe_name
from mappers.openlineage.names import canonical_dataset_name

_DERIVED_FAILURE = "its last action failed, but it reported success, which Marquez shows"


class RunPlan(NamedTuple):
    """Events to send for a run, by hash; the terminal event is last."""

    item: SyncItem
    run: MarquezRun
    events: dict[str, JsonObject]
    #: Hashes of events that were imported from this Marquez.
    already_present: frozenset[str]
    fingerprint: bytes
    #: For the operator: how the run in Marquez differs from the run in the store.
    note: str | None = None

    @property
    def request(self) -> JsonObject:
        return self.events[self.terminal_hash]

    @property
    def terminal_hash(self) -> str:
        """Hash of the terminal event."""
        return next(reversed(self.events))

    @property
    def name(self) -> str:
        """Display name of the job."""
        job = self.request["job"]
        return f"{job['namespace']} {job['name']}"


def plan_runs(ctx: MarquezContext, items: Sequence[SyncItem]) -> list[RunPlan | Completed | Failure]:
    """Plan what to send for each run; if there is nothing to send, the result is a completed or failed item."""
    planned = list(_plan(ctx, items))
    return _with_declared_facets(ctx, planned)


def required_events(run: MarquezRun) -> dict[str, JsonObject]:
    """Return the smallest set of events, by hash, that contains everything a run reported."""
    events = [run_event(event.payload, event.micros, run.uuid) for event in run.events]
    return {run.events[index].hash.hex(): events[index] for index in select_events(events)}


def _plan(ctx: MarquezContext, items: Sequence[SyncItem]) -> Iterator[RunPlan | Completed | Failure]:
    keys = [item.key for item in items]
    runs = read_runs(ctx.db, ctx.org, keys)
    derived_failures = read_derived_failures(ctx.db, ctx.org, keys)
    for item in items:
        run = runs.get(item.key)
        if run is None or not run.events:
            yield item.complete(Outcome.UNWANTED, "only events of its child runs mention it")
        elif all(event.source == ctx.client.source_name for event in run.events):
            yield item.complete(Outcome.UNWANTED, "it was imported from this Marquez")
        else:
            yield _plan_run(ctx, item, run, _DERIVED_FAILURE if item.key in derived_failures else None)


def _plan_run(
    ctx: MarquezContext, item: SyncItem, run: MarquezRun, note: str | None
) -> RunPlan | Completed | Failure:
    events = required_events(run)
    content_fingerprint = fingerprint([*events])
    if unchanged := item.complete_if_unchanged(content_fingerprint):
        return unchanged
    for event in events.values():
        if reason := find_unsafe_name(event):
            return Failure(item, TargetRejected(reason, 0), event, content_fingerprint)
    imported = {event.hash.hex() for event in run.events if event.source == ctx.client.source_name}
    return RunPlan(item, run, events, frozenset(imported & events.keys()), content_fingerprint, note)


def _with_declared_facets(
    ctx: MarquezContext, planned: list[RunPlan | Completed | Failure]
) -> list[RunPlan | Completed | Failure]:
    """Add declared facets to terminal events, because the last event of a job replaces all its facets."""
    plans = [plan for plan in planned if isinstance(plan, RunPlan)]
    jobs = read_jobs(ctx.db, ctx.org, {plan.run.job for plan in plans})
    dataset_names = [
        (dataset["namespace"], dataset["name"])
        for plan in plans
        for field in ("inputs", "outputs")
        for dataset in plan.request[field]
    ]
    governance = governance_by_name(
        ctx.db, ctx.org, {canonical_dataset_name(ctx.org, *name).id for name in dataset_names}
    )
    extended: list[RunPlan | Completed | Failure] = []
    for entry in planned:
        if isinstance(entry, RunPlan):
            event = add_steward_facets(entry.request, jobs[entry.run.job].declared_facets, governance)
            extended.append(entry._replace(events=entry.events | {entry.terminal_hash: event}))
        else:
            extended.append(entry)
    return extended


RUN = "run"


class RunRecord(ItemRecord, frozen=True):
    """Hashes of the events that were sent, and whether a send is in progress."""

    sent: list[str] = msgspec.field(default_factory=list)
    is_sending: bool = msgspec.field(default=False, name="begun")


class RunSender:
    """Sends runs. Not thread-safe."""

    def __init__(self, ctx: MarquezContext) -> None:
        self._ctx = ctx

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        results, plans = split_plan(plan_runs(self._ctx, items))
        self._ctx.items.record_intent(
            (plan.item, RunRecord(plan.item.read_record(RunRecord).sent, is_sending=True)) for plan in plans
        )
        families: dict[bytes, list[RunPlan]] = {}
        for plan in sorted(plans, key=lambda plan: _start_order(plan.run)):
            families.setdefault(plan.run.family, []).append(plan)
        sent = [
            result
            for family_results in self._ctx.requests.map(self._send_family, families.values(), all_failed)
            for result in family_results
        ]
        accepted = {result.item.key for result in sent if isinstance(result, Completed)}
        to_resend = self._runs_to_resend([plan.run for plan in plans if plan.item.key in accepted])
        return BatchResult(results + sent, to_verify=to_resend)

    def _send_family(self, plans: Sequence[RunPlan]) -> list[Completed | Failure]:
        return self._ctx.requests.send_in_order(self._send_run, plans, failed)

    def _send_run(self, plan: RunPlan) -> Completed:
        """Send missing events, the terminal one last, because the last event determines the state."""
        present = self._present_events(plan)
        missing = [hash_ for hash_ in plan.events if hash_ not in present]
        is_complete = not missing and plan.item.read_record(RunRecord).is_sending
        if not is_complete and plan.terminal_hash not in missing:
            missing.append(plan.terminal_hash)
        for hash_ in missing:
            self._ctx.client.send(plan.events[hash_])
        if is_streaming(plan.request) and run_state(plan.request) == COMPLETED:
            # Marquez does not make an existing version of a streaming job the current one again
            self._ctx.client.complete_run(plan.run.uuid, plan.request["eventTime"])
        remote = RemoteReference(RUN, plan.run.uuid, plan.name)
        return pushed(plan, remote, plan.note, RunRecord([*plan.events]))

    def _present_events(self, plan: RunPlan) -> set[str]:
        """Return the hashes of events that Marquez has; queries Marquez only if the record leaves this open."""
        item, record = plan.item, plan.item.read_record(RunRecord)
        sent = set(record.sent) | plan.already_present
        if not record.is_sending and (item.remote is None or item.fingerprint is not None):
            return sent
        run = self._ctx.client.get_run(plan.run.uuid)
        if run is None:
            return set()
        unconfirmed = {hash_: event for hash_, event in plan.events.items() if hash_ not in sent}
        logged = sent | find_logged_events(self._ctx.client, unconfirmed)
        # Marquez logs events before it applies them: the state shows whether the terminal event was applied.
        return logged if run.get("state") == run_state(plan.request) else logged - {plan.terminal_hash}

    def _runs_to_resend(self, sent_runs: Iterable[MarquezRun]) -> set[ItemKey]:
        """Return newest runs that must be sent again because an older run of the same job was sent after them."""
        newest: dict[bytes, MarquezRun] = {}
        for run in sent_runs:
            newest[run.job] = max(run, newest.get(run.job, run), key=_start_order)
        to_resend: set[ItemKey] = set()
        for job, run in newest.items():
            newest_sent = newest_sent_run(self._ctx.db, self._ctx.org, NAME, job)
            if newest_sent is not None and newest_sent > _start_order(run):
                _, key = newest_sent
                to_resend.add((RUN, key))
        return to_resend


def _start_order(run: MarquezRun) -> tuple[int, bytes]:
    return run.started_at, run.key
