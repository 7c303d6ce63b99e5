"""Links between runs of a report: which runs a run seems to have waited for."""

from collections.abc import Mapping
from typing import Any

from mappers.legacy.autorep.dates import read_time
from mappers.legacy.autorep.report import Row
from mappers.legacy.autorep.site import Site, run_id

#: Which ends of a job satisfy what is waited for.
_SATISFIES: dict[str, frozenset[str]] = {
    "success": frozenset({"SU"}), "failure": frozenset({"FA"}), "terminated": frozenset({"TE"}),
    "done": frozenset({"SU", "FA", "TE"}), "notrunning": frozenset(),
}  # fmt: skip


def links_of(row: Row, rows: Mapping[str, Row], site: Site) -> list[dict[str, Any]]:
    """Link a run to those that it seems to have waited for: by what definitions say, and by time.

    A condition looks at how jobs stand, not at runs: which run it was is inferred, and says so.
    """
    found: list[dict[str, Any]] = []
    for one in site.waits.get(row.name, ()):
        other = rows.get(one.job)
        if one.instance is not None or other is None or other.end is None or row.start is None or other.run is None:
            continue
        ended, began = read_time(other.end, site.order, site.zone), read_time(row.start, site.order, site.zone)
        late = one.lookback is not None and one.lookback and (began - ended).total_seconds() > one.lookback * 60
        if ended > began or late or other.status not in _SATISFIES[one.kind]:
            continue
        job = {"namespace": f"autosys://{site.instance}", "name": one.job}
        found.append({"job": job, "run": {"runId": run_id(other.run, other.attempt)}, "inferred": True})
    return found
