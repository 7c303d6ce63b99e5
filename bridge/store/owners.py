"""Who owns datasets and jobs."""

from collections.abc import Iterable

from bridge.store.database import Database

_OWNERS = """
SELECT m.class_id, m.owner_team, m.owner_email FROM ol_dataset m WHERE m.org_id = ?1 AND m.class_id {among}
UNION SELECT j.job_id, j.owner_team, j.owner_email FROM ol_job j WHERE j.org_id = ?1 AND j.job_id {among}
"""


def owners_of(db: Database, org: str, ends: Iterable[bytes]) -> dict[bytes, list[str]]:
    """Name the owners of datasets, given by their classes, and of jobs, as far as any are known."""
    found: dict[bytes, set[str]] = {}
    for end, *named in db.among(_OWNERS, sorted(ends), org):
        found.setdefault(end, set()).update(name for name in named if name)
    return {end: sorted(names) for end, names in found.items()}
