"""What is counted of bringing OpenMetadata to what the store says, in Prometheus' words."""

import time
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bridge.sync.figures import LastComparison

#: Seconds: what is healthy, what is late, what waited for a server that was away.
_BUCKETS = (0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 300, 900, 3_600, 21_600)


class SyncWatch:
    """What the part that keeps OpenMetadata tells of itself."""

    def __init__(self) -> None:
        self.running = True
        self.waiting = 0
        self.troubled = 0
        self.left_alone = False
        self.oldest_at: int | None = None
        self.comparison: LastComparison | None = None
        self.counted: Callable[[str], None] = lambda _: None
        self.failed: Callable[[str], None] = lambda _: None
        self.took: Callable[[float], None] = lambda _: None

    def oldest_age(self) -> float:
        """Say how long the oldest change waits."""
        return 0.0 if self.oldest_at is None else _age(self.oldest_at)


class Comparisons(Collector):
    """What the last comparison found: nothing before there was one, and no kind of which nothing shall be there."""

    def __init__(self, sync: SyncWatch) -> None:
        self._sync = sync

    def collect(self) -> Iterable[Metric]:
        """Give what is known now."""
        found = self._sync.comparison
        parts = GaugeMetricFamily(
            "lineage_bridge_sync_completeness_ratio", "Found as it shall be, of what shall be there", labels=["kind"]
        )
        age = GaugeMetricFamily(
            "lineage_bridge_sync_compared_age_seconds", "How long ago the last comparison came to its end"
        )
        if found is not None:
            age.add_metric([], _age(found.ended_at))
            for kind, one in found.kinds.items():
                if one.wanted:
                    parts.add_metric([kind], one.found / one.wanted)
        return [parts, age]


def show(sync: SyncWatch, registry: CollectorRegistry) -> None:
    """Show how far OpenMetadata is kept like the store."""
    gauges: dict[str, tuple[str, Callable[[], float]]] = {
        "running": ("0 once it cannot go on, until it can", lambda: sync.running),
        "waiting": ("Changes that have not reached OpenMetadata", lambda: sync.waiting),
        "oldest_waiting_age_seconds": (
            "How long the oldest change waits that has not reached OpenMetadata, 0 when none does",
            sync.oldest_age,
        ),
        "troubled": ("What OpenMetadata refused or has no place for", lambda: sync.troubled),
        "left_alone": ("1 while OpenMetadata is left alone: it does not answer", lambda: sync.left_alone),
    }
    for name, (text, value) in gauges.items():
        Gauge(f"lineage_bridge_sync_{name}", text, registry=registry).set_function(value)
    registry.register(Comparisons(sync))
    _count(sync, registry)


def _count(sync: SyncWatch, registry: CollectorRegistry) -> None:
    calls = Counter("lineage_bridge_sync_calls", "Calls of OpenMetadata, tries included", ["kind"], registry=registry)
    failed = Counter(
        "lineage_bridge_sync_calls_failed", "Those that were refused or not answered", ["kind"], registry=registry
    )
    took = Histogram(
        "lineage_bridge_sync_latency_seconds",
        "How long changes took to reach OpenMetadata",
        buckets=_BUCKETS,
        registry=registry,
    )

    def counted(kind: str) -> None:
        failed.labels(kind=kind)  # from 0: a counter that begins at 1 shows no rise
        calls.labels(kind=kind).inc()

    sync.counted, sync.failed, sync.took = counted, lambda kind: failed.labels(kind=kind).inc(), took.observe


def _age(micros: int) -> float:
    return max(0.0, time.time() - micros / 1_000_000)
