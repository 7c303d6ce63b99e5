"""Builds targets and reconcilers from the settings."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import NamedTuple

from bridge.bootstrap.clients import make_marquez_client, make_openmetadata_client, make_throttled_session
from bridge.bootstrap.store import folding_rule, open_background_connection
from bridge.clock import now_micros
from bridge.governance.asset_sync import OpenMetadataSync
from bridge.settings.model import Settings
from bridge.settings.openmetadata import OpenMetadataGovernanceSettings, OpenMetadataSettings
from bridge.settings.target_names import TargetName, target_settings
from bridge.store.database import Database
from bridge.store.dirty_marks import disable_target, is_enabled
from bridge.store.event_log import drop_run_index
from bridge.sync.call_counts import CallCounter
from bridge.sync.dead_letters import DeadLetters
from bridge.sync.item_store import SyncItemStore
from bridge.sync.lease import Heartbeat, WorkerLease
from bridge.sync.marquez.target import MarquezTarget
from bridge.sync.openmetadata.context import OpenMetadataOptions
from bridge.sync.openmetadata.target import OpenMetadataTarget, Relocation
from bridge.sync.reconciler import Reconciler
from bridge.sync.store_clock import StoreClock
from bridge.sync.target import SyncTarget
from bridge.sync.webhook.target import WebhookTarget
from connectors.webhook.client import WebhookClient
from mappers.openmetadata.governance import TagVocabulary
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping

#: Entities that are moved in one batch.
_MOVES_PER_PUSH = 200


def make_reconciler(
    settings: Settings,
    name: TargetName = TargetName.openmetadata,
    on_call: Callable[[str], None] = lambda _: None,
    on_failed_call: Callable[[str], None] = lambda _: None,
    on_pushed: Callable[[float], None] = lambda _: None,
) -> Reconciler:
    """Open the reconciler of a target with its own connections."""
    if name is TargetName.openmetadata:
        return make_openmetadata_sync(settings, on_call, on_failed_call, on_pushed).reconciler
    parts = _open_reconciler_parts(settings, name, on_call, on_failed_call, on_pushed)
    items = SyncItemStore(parts.db, settings.org, name, StoreClock(parts.db))
    make_target = _make_marquez_target if name is TargetName.marquez else _make_webhook_target
    return parts.build_reconciler(make_target(settings, parts, items), items)


class _ReconcilerParts(NamedTuple):
    """Dependencies of a reconciler apart from its target."""

    settings: Settings
    name: TargetName
    db: Database
    calls: CallCounter
    on_call: Callable[[str], None]
    on_failed_call: Callable[[str], None]
    on_pushed: Callable[[float], None]

    def build_reconciler(self, target: SyncTarget, items: SyncItemStore) -> Reconciler:
        """Build the reconciler of a target; its heartbeat uses a separate connection."""
        org, sync_settings = self.settings.org, target_settings(self.settings, self.name)
        heartbeat_db = open_background_connection(self.settings)
        lease = WorkerLease(heartbeat_db, org, self.name, StoreClock(heartbeat_db), items.worker.id)
        heartbeat = Heartbeat(heartbeat_db, lease)
        return Reconciler(
            self.db, org, target, items, StoreClock(self.db), backoff=sync_settings.retry_config.backoff_seconds,
            compare_seconds=sync_settings.comparison_interval_seconds, heartbeat=heartbeat, calls=self.calls,
            on_pushed=self.on_pushed,
        )  # fmt: skip


def _open_reconciler_parts(
    settings: Settings,
    name: TargetName,
    on_call: Callable[[str], None],
    on_failed_call: Callable[[str], None],
    on_pushed: Callable[[float], None],
) -> _ReconcilerParts:
    """Open the connection of a reconciler, and count its requests in addition to the callbacks."""
    db = open_background_connection(settings)
    calls = CallCounter(settings.org, name, now_micros)
    count_call = _call_both(calls.count_call, on_call)
    count_failure = _call_both(calls.count_failure, on_failed_call)
    return _ReconcilerParts(settings, name, db, calls, count_call, count_failure, on_pushed)


def make_openmetadata_sync(
    settings: Settings,
    on_call: Callable[[str], None],
    on_failed_call: Callable[[str], None] = lambda _: None,
    on_pushed: Callable[[float], None] = lambda _: None,
    options: OpenMetadataOptions | None = None,
) -> OpenMetadataSync:
    """Open the OpenMetadata target and its reconciler, with other options than those of the settings if given."""
    parts = _open_reconciler_parts(settings, TargetName.openmetadata, on_call, on_failed_call, on_pushed)
    client = make_openmetadata_client(settings.openmetadata, parts.on_call, parts.on_failed_call)
    items = SyncItemStore(parts.db, settings.org, OpenMetadataTarget.name, StoreClock(parts.db))
    target = OpenMetadataTarget(
        parts.db, settings.org, client, options or openmetadata_options(settings), items, now_micros
    )
    return OpenMetadataSync(target, parts.build_reconciler(target, items), items)


def list_relocations(settings: Settings) -> list[Relocation]:
    """List the entities of an earlier layout in OpenMetadata, with their new locations."""
    sync = make_openmetadata_sync(settings, lambda _: None)
    with closing(sync.reconciler):
        return list(sync.target.relocations())


def open_relocation(settings: Settings, move_count: int, on_call: Callable[[str], None]) -> OpenMetadataSync:
    """Open a target that moves entities; the limit of deletions does not apply to the moved entities."""
    max_deletions = settings.openmetadata.most_deletions + move_count
    options = openmetadata_options(settings)._replace(relocate=True, max_deletions=max_deletions)
    return make_openmetadata_sync(settings, on_call, options=options)


def relocate(reconciler: Reconciler, moves: Sequence[Relocation]) -> None:
    """Create entities at their new locations; the reconciler then moves what refers to them."""
    reconciler.probe()
    reconciler.enable()
    keys = [move.key for move in moves]
    for i in range(0, len(keys), _MOVES_PER_PUSH):
        reconciler.push_now("dataset", keys[i : i + _MOVES_PER_PUSH])


def _make_marquez_target(settings: Settings, parts: _ReconcilerParts, items: SyncItemStore) -> MarquezTarget:
    marquez = settings.marquez
    client = make_marquez_client(marquez, parts.on_call, parts.on_failed_call)
    return MarquezTarget(parts.db, settings.org, client, items, marquez.concurrency)


def _make_webhook_target(settings: Settings, parts: _ReconcilerParts, items: SyncItemStore) -> WebhookTarget:
    webhook = settings.webhook
    session = make_throttled_session(webhook, webhook.url or "", parts.on_call, parts.on_failed_call)
    client = WebhookClient(session)
    return WebhookTarget(parts.db, settings.org, client, items, folding_rule(settings), webhook.states)


def _call_both(first: Callable[[str], None], second: Callable[[str], None]) -> Callable[[str], None]:
    """Combine two callbacks that take the kind of a request."""

    def call(kind: str) -> None:
        first(kind)
        second(kind)

    return call


def disable_sync_target(settings: Settings, name: TargetName) -> bool:
    """Stop writing dirty marks for a target. Return False if the target was not enabled."""
    with closing(open_background_connection(settings)) as db:
        if not is_enabled(db, settings.org, name):
            return False
        disable_target(db, settings.org, name)
        if name is TargetName.marquez:
            drop_run_index(db)
        return True


def open_dead_letters(settings: Settings, name: TargetName) -> DeadLetters:
    """Open the dead letters of a target, to retry or drop them."""
    db = open_background_connection(settings)
    return DeadLetters(db, settings.org, name, StoreClock(db))


def openmetadata_options(settings: Settings) -> OpenMetadataOptions:
    openmetadata, sync = settings.openmetadata, settings.openmetadata.sync
    return OpenMetadataOptions(
        layout=service_layout(openmetadata),
        folding=folding_rule(settings),
        create=openmetadata.create,
        unresolved=openmetadata.unresolved,
        register_on_completion=sync.register_on_completion,
        update_on_schema_change=sync.update_on_schema_change,
        track_lineage=sync.track_lineage,
        track_column_lineage=sync.track_column_lineage,
        publish_quality_results=sync.publish_quality_results,
        publish_profiling_metrics=sync.publish_profiling_metrics,
        batch_size=openmetadata.batch_size,
        concurrency=openmetadata.concurrency,
        service_description=openmetadata.service.description,
        max_deletions=openmetadata.most_deletions,
        sync_governance_metadata=sync.sync_governance_metadata,
        vocabulary=tag_vocabulary(openmetadata.governance),
        conflicts=openmetadata.governance.conflicts,
        conflicts_by_field=tuple(sorted(openmetadata.governance.conflicts_of.items())),
        public_url=settings.server.public_url,
    )


def tag_vocabulary(governance: OpenMetadataGovernanceSettings) -> TagVocabulary:
    tags = tuple(sorted((alias.lower(), name) for alias, name in governance.tags.items()))
    return TagVocabulary(governance.classification, governance.glossary, governance.access_classification, tags)


def service_layout(settings: OpenMetadataSettings) -> ServiceLayout:
    mappings = (
        ServiceMapping(mapping.namespace, mapping.service, mapping.database, mapping.schema_)
        for mapping in settings.mappings
    )
    return ServiceLayout(tuple(mappings), settings.service.name, settings.paths_as)
