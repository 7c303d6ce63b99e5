"""What the service counts, in Prometheus' words. No label ever holds a job's or dataset's name."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from bridge.store.writer import Incoming, Rejected


class Metrics:
    """Counters and gauges of one service."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, waiting: Callable[[], int], healthy: Callable[[], bool]) -> None:
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
        self._merged = {flag: self._accepted.labels(merged=str(flag).lower()) for flag in (True, False)}
        self._gauge("lineage_bridge_events_waiting", "Events waiting for a commit", waiting)
        self._gauge("lineage_bridge_store_healthy", "1 while the last commit went well", healthy)

    def _gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        Gauge(name, text, registry=self._registry).set_function(value)

    def taken(self, item: Incoming | Rejected) -> None:
        """Count what is on disk: an event, or what was refused."""
        if isinstance(item, Rejected):
            self.refused("too_large" if item.too_large else "rejected")
        else:
            self._merged[item.failure is None].inc()

    def refused(self, reason: str) -> None:
        """Count an event that was not taken."""
        self._refused.labels(reason=reason).inc()

    def text(self) -> bytes:
        """Give all metrics in the exposition format."""
        return generate_latest(self._registry)
