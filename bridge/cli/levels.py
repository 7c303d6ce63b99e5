"""Processes by levels: the order in which they can run."""

from typing import TYPE_CHECKING

from bridge.catalogue.cycles import strongly_connected

if TYPE_CHECKING:
    from bridge.catalogue.dag import DagAnswer, DagProcess

#: The start of a process, or its end, by its id.
_Moment = tuple[str, bool]
_START, _END = False, True


def levels(found: "DagAnswer") -> "list[list[DagProcess]]":
    """Give the processes by levels, each as low as those allow that it waits for.

    What lies in a box starts no lower than the box, and who waits for the box waits for all that lies in it. Those
    that wait for each other count as one, so that what is left is in an order.
    """
    leads = _leads(found)
    level = _heights(leads, {(wait.before, wait.after) for wait in found.dependencies})
    listed: list[list[DagProcess]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for process in found.processes:
        listed[level[process.id, _START]].append(process)
    return [one for one in listed if one]


def _leads(found: "DagAnswer") -> dict[_Moment, list[_Moment]]:
    """Tell which moment comes before which."""
    leads: dict[_Moment, list[_Moment]] = {}
    for process in found.processes:
        leads[process.id, _START] = [(process.id, _END)]
        leads[process.id, _END] = []
    for process in found.processes:
        if process.box is not None and (process.box, _START) in leads:
            leads[process.box, _START].append((process.id, _START))
            leads[process.id, _END].append((process.box, _END))
    for wait in found.dependencies:
        leads[wait.before, _END].append((wait.after, _START))
    return leads


def _heights(leads: dict[_Moment, list[_Moment]], waits: set[tuple[str, str]]) -> dict[_Moment, int]:
    """Give the level of each moment; a wait is what leads up."""
    together = list(strongly_connected(leads))
    place = {moment: number for number, moments in enumerate(together) for moment in moments}
    height = [0] * len(together)
    # What comes last is found first.
    for number in range(len(together) - 1, -1, -1):
        for moment in together[number]:
            for after in leads[moment]:
                if place[after] != number:
                    step = (moment[0], after[0]) in waits and moment[1] is _END and after[1] is _START
                    height[place[after]] = max(height[place[after]], height[number] + step)
    return {moment: height[number] for moment, number in place.items()}
