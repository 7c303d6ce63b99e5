"""Prometheus metrics of the service. Labels never contain job or dataset names."""

import math
import platform
from collections.abc import Callable
from pathlib import Path
from shutil import disk_usage

from prometheus_client import CollectorRegistry, Counter, Gauge, Info
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from bridge import __version__
from bridge.api.sync_metrics import SyncMetrics, TargetMetrics
from bridge.intake.group_commit import GroupCommitter
from bridge.intake.pending_events import PendingEvents
from bridge.store.event_log import PENDING, IncomingEvent, RejectedInput
from bridge.store.file_guard import file_size, wal_path

#: Reasons for rejecting a request or an event.
_REJECTION_REASONS = ("rejected", "too_large", "unavailable")


class Metrics:
    """Metrics of the service; `store_file` is the file of a SQLite store."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(
        self,
        committer: GroupCommitter,
        pending_events: PendingEvents,
        ready: Callable[[], bool],
        *,
        store: str,
        store_file: Path | None,
    ) -> None:
        self._registry = CollectorRegistry()
        self._accepted = Counter(
            "lineage_bridge_events_accepted",
            "Events accepted with a 2xx response",
            ["merged"],
            registry=self._registry,
        )
        self._rejected = Counter(
            "lineage_bridge_events_refused",
            "Rejected requests and events, by reason",
            ["reason"],
            registry=self._registry,
        )
        self._contract_checks = Counter(
            "lineage_bridge_contract_checks",
            "Contract checks of dataset versions, by result",
            ["result"],
            registry=self._registry,
        )
        for result in ("kept", "broken"):
            self._contract_checks.labels(result=result)
        self._merged = {merged: self._accepted.labels(merged=str(merged).lower()) for merged in (True, False)}
        for reason in _REJECTION_REASONS:
            self._rejected.labels(reason=reason)  # created at 0: a counter that starts at 1 shows no increase
        self._add_gauge("lineage_bridge_events_waiting", "Events waiting for a commit", committer.pending_event_count)
        self._add_gauge(
            "lineage_bridge_pending_events", "Events that are stored but not merged yet", pending_events.total
        )
        self._add_gauge(
            "lineage_bridge_oldest_pending_age_seconds",
            "Age of the oldest uncommitted event in seconds (0 if none)",
            committer.oldest_age,
        )
        self._add_gauge(
            "lineage_bridge_store_healthy", "1 if the last commit succeeded", lambda: committer.is_healthy
        )
        self._add_gauge("lineage_bridge_ready", "1 if the service accepts events (same as /readyz)", ready)
        if store_file is not None:
            log, disk = wal_path(store_file), store_file.absolute().parent
            self._add_gauge(
                "lineage_bridge_store_wal_bytes",
                "Size of the write-ahead log of the SQLite store",
                lambda: file_size(log),
            )
            self._add_gauge(
                "lineage_bridge_store_free_bytes",
                "Free bytes on the disk of the SQLite store",
                lambda: _free_bytes(disk),
            )
        self._sync: SyncMetrics | None = None
        Info(
            "lineage_bridge_build", "Versions of lineage-bridge, Python and the store", registry=self._registry
        ).info({"version": __version__, "python": platform.python_version(), "store": store})

    def add_target(self, target: str, target_metrics: TargetMetrics) -> None:
        """Add the metrics of a target. Disabled targets have no metrics."""
        self._sync = self._sync or SyncMetrics(self._registry)
        self._sync.add_target(target, target_metrics)

    def _add_gauge(self, name: str, description: str, get_value: Callable[[], float]) -> None:
        Gauge(name, description, registry=self._registry).set_function(get_value)

    def count_ingested(self, item: IncomingEvent | RejectedInput) -> None:
        if isinstance(item, RejectedInput):
            self.count_rejected("too_large" if item.too_large else "rejected")
        else:
            self._merged[item.failure in (None, PENDING)].inc()

    def count_rejected(self, reason: str) -> None:
        self._rejected.labels(reason=reason).inc()

    def count_contract_checks(self, violated_count: int, checked_count: int) -> None:
        """Count contract checks. `violated_count` is the number of checked versions that violated their contract."""
        self._contract_checks.labels(result="broken").inc(violated_count)
        self._contract_checks.labels(result="kept").inc(checked_count - violated_count)

    def render(self) -> bytes:
        """Return the metrics in the Prometheus exposition format."""
        return generate_latest(self._registry)


def _free_bytes(folder: Path) -> float:
    try:
        return disk_usage(folder).free
    except OSError:
        return math.nan  # an unreachable disk must not hide the other metrics
