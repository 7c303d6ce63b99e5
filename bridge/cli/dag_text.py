"""Text and JSON output of `lineage-bridge process dag`."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from bridge.cli.output import escape, truncation_note
from bridge.queries.cycles import strongly_connected_components
from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.cli.diagram import DiagramEdge
    from bridge.queries.dag import DagProcess, DagResult, Dependency
    from bridge.store.references import NodeReference


class _ProcessBoundary(NamedTuple):
    """The start or the end of a process."""

    process_id: str
    is_end: bool


def _start(process_id: str) -> _ProcessBoundary:
    return _ProcessBoundary(process_id, is_end=False)


def _end(process_id: str) -> _ProcessBoundary:
    return _ProcessBoundary(process_id, is_end=True)


def execution_levels(dag: "DagResult") -> "list[list[DagProcess]]":
    """Group processes by level. A process is one level after the last process that it waits for.

    Processes in a box start no earlier than the box, and a process that waits for a box waits for all processes in
    the box. The processes of a cycle count as a single process, so that all other processes can be ordered.
    """
    successors = _successors(dag)
    levels = _longest_path_levels(
        successors, {(dependency.before, dependency.after) for dependency in dag.dependencies}
    )
    processes_by_level: list[list[DagProcess]] = [[] for _ in range(max(levels.values(), default=-1) + 1)]
    for process in dag.processes:
        processes_by_level[levels[_start(process.id)]].append(process)
    return [level for level in processes_by_level if level]


def _successors(dag: "DagResult") -> dict[_ProcessBoundary, list[_ProcessBoundary]]:
    """Map each boundary to the boundaries that cannot come before it."""
    successors: dict[_ProcessBoundary, list[_ProcessBoundary]] = {}
    for process in dag.processes:
        successors[_start(process.id)] = [_end(process.id)]
        successors[_end(process.id)] = []
    for process in dag.processes:
        if process.box is not None and _start(process.box) in successors:
            successors[_start(process.box)].append(_start(process.id))
            successors[_end(process.id)].append(_end(process.box))
    for dependency in dag.dependencies:
        successors[_end(dependency.before)].append(_start(dependency.after))
    return successors


def _longest_path_levels(
    successors: dict[_ProcessBoundary, list[_ProcessBoundary]], dependencies: set[tuple[str, str]]
) -> dict[_ProcessBoundary, int]:
    """Return the level of each boundary: the maximum number of dependencies on a path to it."""
    components = list(strongly_connected_components(successors))
    component_indexes = {boundary: index for index, component in enumerate(components) for boundary in component}
    levels = [0] * len(components)
    for index in reversed(range(len(components))):  # components are in reverse topological order
        edges = [(boundary, successor) for boundary in components[index] for successor in successors[boundary]]
        for boundary, successor in edges:
            successor_index = component_indexes[successor]
            if successor_index == index:
                continue
            ends_before_start = boundary.is_end and not successor.is_end
            is_dependency = ends_before_start and (boundary.process_id, successor.process_id) in dependencies
            levels[successor_index] = max(levels[successor_index], levels[index] + is_dependency)
    return {boundary: levels[index] for boundary, index in component_indexes.items()}


def full_name(node: "NodeReference") -> str:
    return f"{node.namespace} {node.name}"


def dag_lines(dag: "DagResult") -> Iterator[str]:
    """List processes by level. Processes of one level do not wait for each other, unless they form a cycle."""
    processes = {process.id: process for process in dag.processes}
    dependencies: dict[str, dict[str, list[Dependency]]] = defaultdict(lambda: defaultdict(list))
    for dependency in dag.dependencies:
        dependencies[dependency.after][full_name(processes[dependency.before])].append(dependency)
    dependency_count = count_of(len(dag.dependencies), "dependency", "dependencies")
    yield f"{count_of(len(processes), 'process', 'processes')}, {dependency_count}"
    for number, level in enumerate(execution_levels(dag), start=1):
        yield f"level {number}"
        for process in level:
            box = processes.get(process.box or "")
            location = f"   in {box.name}" if box else ""
            yield escape(f"  {_process_label(process)}{location}")
            for before, reasons in sorted(dependencies[process.id].items()):
                yield escape(f"    waits for {before}: {', '.join(sorted(map(_edge_label, reasons)))}")
    for cycle in dag.cycles:
        yield escape(f"cycle: {', '.join(full_name(processes[process_id]) for process_id in cycle)}")
    for unproduced_dataset in dag.missing:
        readers = ", ".join(full_name(processes[reader]) for reader in unproduced_dataset.readers)
        yield escape(f"no known producer of {full_name(unproduced_dataset.dataset)} (read by {readers})")
    yield from truncation_note(dag.cut, "--max-dependencies")


def diagram_edges(dag: "DagResult") -> "Iterator[DiagramEdge]":
    """Yield each dependency as an edge between the positions of its processes in `dag.processes`."""
    positions = {process.id: position for position, process in enumerate(dag.processes)}
    for dependency in dag.dependencies:
        label = full_name(dependency.dataset) if dependency.dataset else "declared"
        yield positions[dependency.before], label, positions[dependency.after]


def _process_label(process: "DagProcess") -> str:
    version = "" if process.version is None else f"   version {process.version}"
    return f"{full_name(process)}{version}"


def _edge_label(dependency: "Dependency") -> str:
    if dependency.dataset is None:
        declared = dependency.declared or {}
        labels = {"status_trigger_rule": "", "trigger_rule": "condition "}
        rules = [f"{label}{declared[key]}" for key, label in labels.items() if declared.get(key)]
        return f"declared ({'; '.join(rules)})" if rules else "declared"
    note = "" if dependency.observed else " (declared only)"
    return f"{full_name(dependency.dataset)}{note}"
