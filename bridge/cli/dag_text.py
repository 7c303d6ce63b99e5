"""Text and JSON output of `lineage-bridge process dag`."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.cli.output import escape, truncation_note
from bridge.queries.cycles import strongly_connected_components

if TYPE_CHECKING:
    from bridge.cli.diagram import DiagramEdge
    from bridge.queries.dag import DagProcess, DagResult, Dependency
    from bridge.store.references import NodeReference

#: The start of a process, or its end, by its id.
_ProcessBoundary = tuple[str, bool]
_START, _END = False, True


def execution_levels(found: "DagResult") -> "list[list[DagProcess]]":
    """Give the processes by levels, each as low as those allow that it waits for.

    What lies in a box starts no lower than the box, and who waits for the box waits for all that lies in it. Those
    that wait for each other count as one, so that what is left is in an order.
    """
    leads = _successors(found)
    level = _longest_path_levels(leads, {(wait.before, wait.after) for wait in found.dependencies})
    listed: list[list[DagProcess]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for process in found.processes:
        listed[level[process.id, _START]].append(process)
    return [one for one in listed if one]


def _successors(found: "DagResult") -> dict[_ProcessBoundary, list[_ProcessBoundary]]:
    """Tell which moment comes before which."""
    leads: dict[_ProcessBoundary, list[_ProcessBoundary]] = {}
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


def _longest_path_levels(
    leads: dict[_ProcessBoundary, list[_ProcessBoundary]], waits: set[tuple[str, str]]
) -> dict[_ProcessBoundary, int]:
    """Give the level of each moment; a wait is what leads up."""
    together = list(strongly_connected_components(leads))
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


def name(one: "NodeReference") -> str:
    """Name a process or a dataset."""
    return f"{one.namespace} {one.name}"


def dag_lines(found: "DagResult") -> Iterator[str]:
    """Tell processes by levels: those of one wait for none of it, but for those that wait in a circle."""
    processes = {one.id: one for one in found.processes}
    waits: dict[str, list[str]] = defaultdict(list)
    for wait in found.dependencies:
        waits[wait.after].append(f"{name(processes[wait.before])}: {_edge_label(wait)}")
    yield f"{len(processes)} processes, {len(found.dependencies)} dependencies"
    for number, level in enumerate(execution_levels(found), start=1):
        yield f"level {number}"
        for one in level:
            box = processes.get(one.box or "")
            yield escape(f"  {_process(one)}" + (f"   in {box.name}" if box else ""))
            yield from (escape(f"    waits for {before}") for before in sorted(waits[one.id]))
    for cycle in found.cycles:
        yield escape(f"wait for each other: {', '.join(name(processes[one]) for one in cycle)}")
    for missing in found.missing:
        readers = ", ".join(name(processes[one]) for one in missing.readers)
        yield escape(f"nobody is known to produce {name(missing.dataset)}, read by {readers}")
    yield from truncation_note(found.cut, "--max-dependencies")


def arrows(found: "DagResult") -> "Iterator[DiagramEdge]":
    """Give the dependencies as arrows between the places of their processes."""
    places = {one.id: place for place, one in enumerate(found.processes)}
    for one in found.dependencies:
        yield places[one.before], name(one.dataset) if one.dataset else "declared", places[one.after]


def _process(one: "DagProcess") -> str:
    return name(one) + (f"   version {one.version}" if one.version is not None else "")


def _edge_label(one: "Dependency") -> str:
    if one.dataset is None:
        said = (f"{key}={value}" for key, value in (one.declared or {}).items())
        return " ".join(["declared", *said])
    return name(one.dataset) + ("" if one.observed else " (only declared)")
