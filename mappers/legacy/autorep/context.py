"""Site settings and job definitions that a report does not contain."""

from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from mappers.legacy.autorep.dates import DateOrder, parse_report_time

if TYPE_CHECKING:
    from mappers.legacy.jil.conditions import StatusCondition


class ReportContext(NamedTuple):
    """What a report does not say of itself: the instance, the order of its dates, the time zone."""

    instance: str
    order: DateOrder
    zone: tzinfo
    #: The boxes of each job, what it waits for, and which exit codes are its successes, where definitions say it.
    boxes: Mapping[str, tuple[str, ...]] = {}
    awaited_statuses: Mapping[str, "Sequence[StatusCondition]"] = {}
    success_rules: Mapping[str, Mapping[str, str]] = {}

    def isoformat(self, text: str) -> str:
        """Give a time of a report as all read it; raises ValueError when there is no such one."""
        return parse_report_time(text, self.order, self.zone).isoformat()

    def run_interval(self, start: str | None, end: str | None) -> tuple[str | None, str | None]:
        """Give when something began and ended; raises ValueError where no hour that comes twice makes sense of it."""
        began, ended = (parse_report_time(one, self.order, self.zone) if one else None for one in (start, end))
        if began and ended and ended.astimezone(UTC) < began.astimezone(UTC):
            ended = ended.replace(fold=1)
            if ended.astimezone(UTC) < began.astimezone(UTC):
                raise ValueError(f"ends at {end}, before it begins at {start}")
        return began.isoformat() if began else None, ended.isoformat() if ended else None


def run_id(run: int, attempt: int | None) -> str:
    """Name a run as the agent does: by its number and its attempt."""
    return f"{run}/{1 if attempt is None else attempt}"
