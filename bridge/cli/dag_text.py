"""Processes in the order in which they can run, with what each waits for."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bridge.cli.cut import tell_cut
from bridge.cli.escape import escape
from bridge.cli.levels import levels

if TYPE_CHECKING:
    from bridge.catalogue.dag import DagAnswer, DagProcess, Dependency
    from bridge.catalogue.things import Thing
    from bridge.cli.diagram import Arrow


def name(one: "Thing") -> str:
    """Name a process or a dataset."""
    return f"{one.namespace} {one.name}"


def dag_lines(found: "DagAnswer") -> Iterator[str]:
    """Tell processes by levels: those of one wait for none of it, but for those that wait in a circle."""
    processes = {one.id: one for one in found.processes}
    waits: dict[str, list[str]] = defaultdict(list)
    for wait in found.dependencies:
        waits[wait.after].append(f"{name(processes[wait.before])}: {_how(wait)}")
    yield f"{len(processes)} processes, {len(found.dependencies)} dependencies"
    for number, level in enumerate(levels(found), start=1):
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
    yield from tell_cut(found.cut)


def arrows(found: "DagAnswer") -> "Iterator[Arrow]":
    """Give the dependencies as arrows between the places of their processes."""
    places = {one.id: place for place, one in enumerate(found.processes)}
    for one in found.dependencies:
        yield places[one.before], name(one.dataset) if one.dataset else "declared", places[one.after]


def _process(one: "DagProcess") -> str:
    return name(one) + (f"   version {one.version}" if one.version is not None else "")


def _how(one: "Dependency") -> str:
    if one.dataset is None:
        said = (f"{key}={value}" for key, value in (one.declared or {}).items())
        return " ".join(["declared", *said])
    return name(one.dataset) + ("" if one.observed else " (only declared)")
