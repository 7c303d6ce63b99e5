"""What was decided of the small estate, always at the same time."""

from bridge.registry.publishing import Change
from bridge.registry.registry import Registry
from bridge.registry.selector import read_selector
from bridge.store.database import Database
from tests.factories import micros

#: Long after everybody who reads this.
FAR = micros(0) + 100 * 365 * 86_400 * 1_000_000


def decide(db: Database, org: str = "default") -> None:
    """Publish and pin what was cleaned, doubt a day of the report, and define a job."""
    registry = Registry(db, org, lambda: micros(59))
    clean, report = (registry.dataset("db", name) for name in ("clean", "report"))
    with registry.deciding():
        registry.publisher.publish([Change(clean, read_selector("latest"), None)], "ann", "checked")
        (version,) = registry.versions.newest(clean)
        registry.pins.put("january", [(clean, version)], FAR, "ann", "for the auditors")
        registry.descriptions.describe_version(version, {"ticket": "DATA-7"})
        (first,) = registry.versions.newest(report)
        registry.invalidation.mark(report, first, "cut off", "bob", "day=2026-01-31")
        registry.definitions.register("process", "jobs", "app2", {"steps": ["report"]}, "ann")
