"""What was decided of the small estate, always at the same time."""

from bridge.store.database import Database
from bridge.versions.publisher import PublicationRequest
from bridge.versions.registry import VersionRegistry
from bridge.versions.selector import parse_selector
from tests.factories import micros

#: Long after everybody who reads this.
FAR = micros(0) + 100 * 365 * 86_400 * 1_000_000


def decide(db: Database, org: str = "default") -> None:
    """Publish and pin what was cleaned, doubt a day of the report, and define a job."""
    registry = VersionRegistry(db, org, lambda: micros(59))
    clean, report = (registry.find_dataset("db", name) for name in ("clean", "report"))
    with registry.transaction():
        registry.publisher.publish([PublicationRequest(clean, parse_selector("latest"), None)], "ann", "checked")
        (version,) = registry.versions.list_newest(clean)
        registry.pins.pin("january", [(clean, version)], FAR, "ann", "for the auditors")
        registry.metadata.patch_version(version, {"ticket": "DATA-7"})
        (first,) = registry.versions.list_newest(report)
        registry.invalidations.invalidate(report, first, "cut off", "bob", "day=2026-01-31")
        registry.definitions.register("process", "jobs", "app2", {"steps": ["report"]}, "ann")
