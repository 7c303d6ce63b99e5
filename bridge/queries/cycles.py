"""Strongly connected components of a directed graph."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def strongly_connected_components(successors: Mapping[N, Sequence[N]]) -> Iterator[list[N]]:
    """Group nodes that can reach each other. Every node is in exactly one group, often alone.

    Runs Tarjan's algorithm in linear time and without recursion, because paths may exceed the recursion limit.
    """
    index: dict[N, int] = {}
    low_link: dict[N, int] = {}
    stack: list[N] = []
    on_stack: set[N] = set()
    for start in successors:
        path = [] if start in index else [(start, iter(successors[start]))]
        while path:
            node, remaining = path[-1]
            if node not in index:
                index[node] = low_link[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            successor = _next_unvisited(node, remaining, index, low_link, on_stack)
            if successor is not None:
                path.append((successor, iter(successors.get(successor, ()))))
                continue
            path.pop()
            if path:
                predecessor, _ = path[-1]
                low_link[predecessor] = min(low_link[predecessor], low_link[node])
            if low_link[node] == index[node]:
                component = _pop_until(stack, node)
                on_stack.difference_update(component)
                yield component


def _next_unvisited(
    node: N, remaining: Iterator[N], index: dict[N, int], low_link: dict[N, int], on_stack: set[N]
) -> N | None:
    """Return the next unvisited successor. Successors before it that are on the stack lower the node's low link."""
    for successor in remaining:
        if successor not in index:
            return successor
        if successor in on_stack:
            low_link[node] = min(low_link[node], index[successor])
    return None


def _pop_until(stack: list[N], last: N) -> list[N]:
    """Pop nodes, up to and including `last`, and return them."""
    popped = [stack.pop()]
    while popped[-1] != last:
        popped.append(stack.pop())
    return popped
