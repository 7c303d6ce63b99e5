"""What is counted of bringing targets to what the store says, in Prometheus' words."""

import time
from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bridge.sync.comparison import ComparisonReport

#: Seconds: what is healthy, what is late, what waited for a server that was away.
_BUCKETS = (0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 300, 900, 3_600, 21_600)
_GAUGES = {
    "running": "0 once it cannot go on, until it can",
    "waiting": "Changes that have not reached the target",
    "oldest_waiting_age_seconds": "How long the oldest change waits that has not reached it, 0 when none does",
    "troubled": "What the target refused or has no place for",
    "left_alone": "1 while the target is left alone: it does not answer",
}


class TargetMetrics:
    """What the part that keeps a target tells of itself."""

    def __init__(self) -> None:
        self.running = True
        self.pending = 0
        self.needs_attention = 0
        self.circuit_open = False
        self.oldest_pending_at: int | None = None
        self.comparison: ComparisonReport | None = None
        self.on_call: Callable[[str], None] = lambda _: None
        self.on_failed_call: Callable[[str], None] = lambda _: None
        self.on_pushed: Callable[[float], None] = lambda _: None

    def oldest_pending_age(self) -> float:
        """Say how long the oldest change waits."""
        return 0.0 if self.oldest_pending_at is None else _age(self.oldest_pending_at)


class ComparisonCollector(Collector):
    """What the last comparisons found: nothing before there was one, and no kind of which nothing shall be there."""

    def __init__(self, watches: Mapping[str, TargetMetrics]) -> None:
        self._watches = watches

    def collect(self) -> Iterable[Metric]:
        """Give what is known now."""
        parts = GaugeMetricFamily(
            "lineage_bridge_sync_completeness_ratio",
            "Found as it shall be, of what shall be there",
            labels=["target", "kind"],
        )
        age = GaugeMetricFamily(
            "lineage_bridge_sync_compared_age_seconds",
            "How long ago the last comparison came to its end",
            labels=["target"],
        )
        for target, watch in self._watches.items():
            if (found := watch.comparison) is not None:
                age.add_metric([target], _age(found.ended_at))
                for kind, one in found.kinds.items():
                    if one.expected:
                        parts.add_metric([target, kind], one.in_sync / one.expected)
        return [parts, age]


class SyncMetrics:
    """How far targets are kept like the store; one that is not kept is not shown."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._watches: dict[str, TargetMetrics] = {}
        self._gauges = {
            name: Gauge(f"lineage_bridge_sync_{name}", text, ["target"], registry=registry)
            for name, text in _GAUGES.items()
        }
        labels = ["target", "kind"]
        self._calls = Counter(
            "lineage_bridge_sync_calls", "Calls of a target, tries included", labels, registry=registry
        )
        self._failed = Counter(
            "lineage_bridge_sync_calls_failed", "Those that were refused or not answered", labels, registry=registry
        )
        self._took = Histogram(
            "lineage_bridge_sync_latency_seconds",
            "How long changes took to reach a target",
            ["target"],
            buckets=_BUCKETS,
            registry=registry,
        )
        registry.register(ComparisonCollector(self._watches))

    def watch(self, target: str, sync: TargetMetrics) -> None:
        """Show how far a target is, and count what is done to it."""
        self._watches[target] = sync
        values: dict[str, Callable[[], float]] = {
            "running": lambda: sync.running,
            "waiting": lambda: sync.pending,
            "oldest_waiting_age_seconds": sync.oldest_pending_age,
            "troubled": lambda: sync.needs_attention,
            "left_alone": lambda: sync.circuit_open,
        }
        for name, value in values.items():
            self._gauges[name].labels(target=target).set_function(value)

        def counted(kind: str) -> None:
            self._failed.labels(target=target, kind=kind)  # from 0: a counter that begins at 1 shows no rise
            self._calls.labels(target=target, kind=kind).inc()

        def failed(kind: str) -> None:
            self._failed.labels(target=target, kind=kind).inc()

        sync.on_call, sync.on_failed_call, sync.on_pushed = counted, failed, self._took.labels(target=target).observe


def _age(micros: int) -> float:
    return max(0.0, time.time() - micros / 1_000_000)
