"""What a report does not say of itself."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, NamedTuple

from mappers.legacy.autorep.dates import Order, read_time

if TYPE_CHECKING:
    from mappers.legacy.jil.conditions import StatusIs


class Site(NamedTuple):
    """What a report does not say of itself: the instance, the order of its dates, the time zone."""

    instance: str
    order: Order
    zone: tzinfo
    #: The boxes of each job, what it waits for, and which exit codes are its successes, where definitions say it.
    boxes: Mapping[str, tuple[str, ...]] = {}
    waits: Mapping[str, "Sequence[StatusIs]"] = {}
    successes: Mapping[str, Mapping[str, str]] = {}

    def time(self, text: str) -> str:
        """Give a time of a report as all read it; raises ValueError when there is no such one."""
        return read_time(text, self.order, self.zone).isoformat()


def run_id(run: int, attempt: int | None) -> str:
    """Name a run as the agent does: by its number and its attempt."""
    return f"{run}/{1 if attempt is None else attempt}"
