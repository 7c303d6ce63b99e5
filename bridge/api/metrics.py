"""What the service counts, in Prometheus' words. No label ever holds a job's or dataset's name."""

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
from bridge.store.event_log import IncomingEvent, RejectedInput

#: Why an event was not taken.
_REASONS = ("rejected", "too_large", "unavailable")


class Metrics:
    """Counters and gauges of one service; `disk` is the folder whose free space ends the store's growth."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, gate: GroupCommitter, ready: Callable[[], bool], *, store: str, disk: Path | None) -> None:
        self._registry = CollectorRegistry()
        self._accepted = Counter(
            "lineage_bridge_events_accepted",
            "Events answered with 2xx",
            ["merged"],
            registry=self._registry,
        )
        self._refused = Counter(
            "lineage_bridge_events_refused",
            "Events not taken, by reason",
            ["reason"],
            registry=self._registry,
        )
        self._contracts = Counter(
            "lineage_bridge_contract_checks",
            "Versions held against the contract of an asset, by how they did",
            ["result"],
            registry=self._registry,
        )
        for result in ("kept", "broken"):
            self._contracts.labels(result=result)
        self._merged = {flag: self._accepted.labels(merged=str(flag).lower()) for flag in (True, False)}
        for reason in _REASONS:
            self._refused.labels(reason=reason)  # from 0: a counter that begins at 1 shows no rise
        self._gauge("lineage_bridge_events_waiting", "Events waiting for a commit", gate.pending_events)
        self._gauge(
            "lineage_bridge_oldest_pending_age_seconds",
            "How long the oldest event waits that the store has not taken, 0 when none does",
            gate.oldest_age,
        )
        self._gauge("lineage_bridge_store_healthy", "1 while the last commit went well", lambda: gate.is_healthy)
        self._gauge("lineage_bridge_ready", "1 while events can be taken, as /readyz says", ready)
        if disk is not None:
            self._gauge(
                "lineage_bridge_store_free_bytes",
                "Room left on the disk of a SQLite store",
                lambda: _free_bytes(disk),
            )
        self._sync: SyncMetrics | None = None
        Info("lineage_bridge_build", "What runs here", registry=self._registry).info(
            {"version": __version__, "python": platform.python_version(), "store": store}
        )

    def add_target(self, target: str, sync: TargetMetrics) -> None:
        """Show how far a target is kept like the store; nothing is shown of one that is not."""
        self._sync = self._sync or SyncMetrics(self._registry)
        self._sync.watch(target, sync)

    def _gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        Gauge(name, text, registry=self._registry).set_function(value)

    def count_ingested(self, item: IncomingEvent | RejectedInput) -> None:
        """Count what is on disk: an event, or what was refused."""
        if isinstance(item, RejectedInput):
            self.count_rejected("too_large" if item.too_large else "rejected")
        else:
            self._merged[item.failure is None].inc()

    def count_rejected(self, reason: str) -> None:
        """Count an event that was not taken."""
        self._refused.labels(reason=reason).inc()

    def count_contract_checks(self, broken: int, looked_at: int) -> None:
        """Count versions that were held against contracts, and those that broke one."""
        self._contracts.labels(result="broken").inc(broken)
        self._contracts.labels(result="kept").inc(looked_at - broken)

    def render(self) -> bytes:
        """Give all metrics in the exposition format."""
        return generate_latest(self._registry)


def _free_bytes(folder: Path) -> float:
    try:
        return disk_usage(folder).free
    except OSError:
        return math.nan  # a disk that does not answer must not take the other metrics along
