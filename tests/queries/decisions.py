"""A publication, a pin, an invalidation and a definition in the sample store, always of the same time."""

from bridge.store.database import Database
from bridge.versions.publisher import PublicationRequest
from bridge.versions.registry import VersionRegistry
from bridge.versions.selector import parse_selector
from tests.factories import micros

#: A century after the sample events.
FAR_FUTURE = micros(0) + 100 * 365 * 86_400 * 1_000_000


def decide(db: Database, org: str = "default") -> None:
    """Publish and pin the cleaned dataset, invalidate a day of the report, and register a definition."""
    registry = VersionRegistry(db, org, lambda: micros(59))
    clean, report = (registry.find_dataset("db", name) for name in ("clean", "report"))
    with registry.transaction():
        registry.publisher.publish([PublicationRequest(clean, parse_selector("latest"), None)], "ann", "checked")
        (version,) = registry.versions.list_newest(clean)
        registry.pins.pin("january", [(clean, version)], FAR_FUTURE, "ann", "for the auditors")
        registry.metadata.patch_version(version, {"ticket": "DATA-7"})
        (report_version,) = registry.versions.list_newest(report)
        registry.invalidations.invalidate(report, report_version, "cut off", "bob", "day=2026-01-31")
        registry.definitions.register("process", "jobs", "app2", {"steps": ["report"]}, "ann")
