"""Site settings and job definitions that a report does not contain."""

from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from mappers.legacy.autorep.dates import DateOrder, parse_report_time

if TYPE_CHECKING:
    from mappers.legacy.jil.conditions import StatusCondition


class ReportContext(NamedTuple):
    """What a report does not contain: the instance, its date order and time zone, and facts from job definitions."""

    instance: str
    order: DateOrder
    zone: tzinfo
    #: For each job whose definition is known: its boxes, the statuses it waits for, the exit codes that mean success.
    boxes: Mapping[str, tuple[str, ...]] = {}
    awaited_statuses: Mapping[str, "Sequence[StatusCondition]"] = {}
    success_rules: Mapping[str, Mapping[str, str]] = {}

    def isoformat(self, text: str) -> str:
        """Convert a time in a report to ISO 8601; raises ValueError if the time does not exist."""
        return parse_report_time(text, self.order, self.zone).isoformat()

    def run_interval(self, start: str | None, end: str | None) -> tuple[str | None, str | None]:
        """Convert the start and end of a run to ISO 8601.

        If the end is in an hour that occurs twice and the first occurrence is before the start, the second occurrence
        is used. Raises ValueError if the end is still before the start.
        """
        start_time = parse_report_time(start, self.order, self.zone) if start else None
        end_time = parse_report_time(end, self.order, self.zone) if end else None
        if start_time and end_time and end_time.astimezone(UTC) < start_time.astimezone(UTC):
            end_time = end_time.replace(fold=1)
            if end_time.astimezone(UTC) < start_time.astimezone(UTC):
                raise ValueError(f"ends at {end}, before its start at {start}")
        return (start_time.isoformat() if start_time else None), (end_time.isoformat() if end_time else None)


def format_run_id(run: int, attempt: int | None) -> str:
    """Format a run id as the agent does, from the run number and the attempt."""
    return f"{run}/{1 if attempt is None else attempt}"
