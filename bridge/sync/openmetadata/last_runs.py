"""Pushes the last run of the jobs that write a table, which the page of the table shows as its pipeline."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bridge.sync.canonical.lineage import read_writers
from bridge.sync.canonical.runs import CanonicalRun, read_newest_runs
from bridge.sync.context import split_plan
from bridge.sync.openmetadata.context import OpenMetadataContext, parents_to_verify
from bridge.sync.sync_item import Completed, Outcome, RemoteReference, SyncItem, fingerprint, pushed
from bridge.sync.target import BatchResult
from mappers.canonical_json import JsonObject
from mappers.openmetadata.pipeline_status import last_run


class _DesiredLastRun(NamedTuple):
    """The last run of the jobs that write a table."""

    item: SyncItem
    table: RemoteReference
    pipeline: RemoteReference
    request: JsonObject
    fingerprint: bytes


class LastRunPusher:
    """Pushes the last run of each table. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        results, desired = split_plan(self._plan(items))
        if desired and not self._ctx.client.features().pipeline_observability:
            reason = "OpenMetadata shows the last run of a table since version 1.13"
            results += [desired_run.item.complete(Outcome.OFF, reason) for desired_run in desired]
            desired = []
        results += self._ctx.push_each(desired, self._send)
        keys = {item.key: item.key for item in items}
        return BatchResult(results, to_verify=parents_to_verify("dataset", results, keys))

    def _plan(self, items: Sequence[SyncItem]) -> list[_DesiredLastRun | Completed]:
        keys = [item.key for item in items]
        db, org, rule = self._ctx.db, self._ctx.org, self._ctx.options.folding
        datasets = self._ctx.items.get("dataset", keys)
        writers = read_writers(db, org, rule, keys)
        newest_runs = read_newest_runs(db, org, rule, set().union(*writers.values()))
        pipelines = self._ctx.items.get("job", {run.job for run in newest_runs.values()})
        planned: list[_DesiredLastRun | Completed] = []
        for item in items:
            runs = [newest_runs[job] for job in writers.get(item.key, ()) if job in newest_runs]
            dataset = datasets.get(item.key)
            planned.append(_plan_item(item, dataset.remote if dataset else None, runs, pipelines))
        return planned

    def _send(self, desired: _DesiredLastRun) -> Completed:
        self._ctx.client.put_last_run(desired.table.id, desired.pipeline.name, desired.request)
        remote_id = f"{desired.table.id}/{desired.pipeline.id}"
        return pushed(desired, RemoteReference("pipelineObservability", remote_id, desired.table.name))


def _plan_item(
    item: SyncItem,
    table: RemoteReference | None,
    runs: Sequence[CanonicalRun],
    pipelines: Mapping[bytes, SyncItem],
) -> _DesiredLastRun | Completed:
    if not runs:
        return item.complete(Outcome.UNWANTED, "no known run has written it")
    if table is None:
        return item.complete(Outcome.WAITING, "its dataset is not in OpenMetadata yet")
    if table.type != "table":
        return item.complete(
            Outcome.UNWANTED, f"OpenMetadata shows the last run of tables only; this is a {table.type}"
        )
    run = max(runs, key=lambda run: (run.started_at, run.run_uuid))
    pipeline = pipelines[run.job].remote if run.job in pipelines else None
    if pipeline is None:
        return item.complete(Outcome.WAITING, "its pipeline is not in OpenMetadata yet")
    body = last_run(pipeline.id, pipeline.name, run.status, run.started_at // 1_000)
    content_fingerprint = fingerprint([table.id, body])
    return item.complete_if_unchanged(content_fingerprint) or _DesiredLastRun(
        item, table, pipeline, body, content_fingerprint
    )
