"""Prometheus metrics of sync targets."""

import time
from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bridge.sync.comparison import ComparisonReport

#: Latency buckets in seconds; the largest ones are for changes that waited for an unavailable server.
_BUCKETS = (0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 300, 900, 3_600, 21_600)
_GAUGES = {
    "running": "1 if the sync task is running",
    "waiting": "Pending changes",
    "oldest_waiting_age_seconds": "Age of the oldest pending change in seconds (0 if none)",
    "troubled": "Dead letters and unresolved items",
    "left_alone": "1 if the circuit breaker of the target is open",
}


class TargetMetrics:
    """State of one target, written by the target's sync task and read by the metrics."""

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
        """Return the age of the oldest pending change in seconds (0 if none)."""
        return 0.0 if self.oldest_pending_at is None else _age_seconds(self.oldest_pending_at)


class ComparisonCollector(Collector):
    """Metrics of the last comparison of each target. Item kinds without desired items are omitted."""

    def __init__(self, targets: Mapping[str, TargetMetrics]) -> None:
        self._targets = targets

    def collect(self) -> Iterable[Metric]:
        completeness = GaugeMetricFamily(
            "lineage_bridge_sync_completeness_ratio",
            "Share of desired items found in the target by the last comparison",
            labels=["target", "kind"],
        )
        age = GaugeMetricFamily(
            "lineage_bridge_sync_compared_age_seconds",
            "Age of the last completed comparison in seconds",
            labels=["target"],
        )
        for target, metrics in self._targets.items():
            if (comparison := metrics.comparison) is not None:
                age.add_metric([target], _age_seconds(comparison.ended_at))
                for kind, counts in comparison.kinds.items():
                    if counts.expected:
                        completeness.add_metric([target, kind], counts.in_sync / counts.expected)
        return [completeness, age]


class SyncMetrics:
    """Metrics of all enabled targets."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._targets: dict[str, TargetMetrics] = {}
        self._gauges = {
            name: Gauge(f"lineage_bridge_sync_{name}", description, ["target"], registry=registry)
            for name, description in _GAUGES.items()
        }
        labels = ["target", "kind"]
        self._calls = Counter(
            "lineage_bridge_sync_calls", "Requests to the target, including retries", labels, registry=registry
        )
        self._failed_calls = Counter(
            "lineage_bridge_sync_calls_failed", "Failed requests to the target", labels, registry=registry
        )
        self._latency = Histogram(
            "lineage_bridge_sync_latency_seconds",
            "Seconds from a change to its arrival in the target",
            ["target"],
            buckets=_BUCKETS,
            registry=registry,
        )
        registry.register(ComparisonCollector(self._targets))

    def add_target(self, target: str, metrics: TargetMetrics) -> None:
        """Expose the metrics of a target and install its counters."""
        self._targets[target] = metrics
        gauge_functions: dict[str, Callable[[], float]] = {
            "running": lambda: metrics.running,
            "waiting": lambda: metrics.pending,
            "oldest_waiting_age_seconds": metrics.oldest_pending_age,
            "troubled": lambda: metrics.needs_attention,
            "left_alone": lambda: metrics.circuit_open,
        }
        for name, get_value in gauge_functions.items():
            self._gauges[name].labels(target=target).set_function(get_value)

        def count_call(kind: str) -> None:
            # Create the counter of failures at 0, because a counter that starts at 1 shows no increase.
            self._failed_calls.labels(target=target, kind=kind)
            self._calls.labels(target=target, kind=kind).inc()

        def count_failure(kind: str) -> None:
            self._failed_calls.labels(target=target, kind=kind).inc()

        metrics.on_call = count_call
        metrics.on_failed_call = count_failure
        metrics.on_pushed = self._latency.labels(target=target).observe


def _age_seconds(timestamp_micros: int) -> float:
    return max(0.0, time.time() - timestamp_micros / 1_000_000)
