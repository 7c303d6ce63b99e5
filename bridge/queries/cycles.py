"""Strongly connected components of a directed graph."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def strongly_connected_components(leads: Mapping[N, Sequence[N]]) -> Iterator[list[N]]:
    """List the nodes that lead to each other, together; each node is in one list, most of them alone.

    Tarjan's way, in linear time; without calls of itself: a chain may be longer than calls can be nested.
    """
    number: dict[N, int] = {}
    lowest: dict[N, int] = {}
    waiting: list[N] = []
    there: set[N] = set()
    for start in leads:
        path = [] if start in number else [(start, iter(leads[start]))]
        while path:
            node, ways = path[-1]
            if node not in number:
                number[node] = lowest[node] = len(number)
                waiting.append(node)
                there.add(node)
            new = _next_new(node, ways, number, lowest, there)
            if new is not None:
                path.append((new, iter(leads.get(new, ()))))
                continue
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[node])
            if lowest[node] == number[node]:
                found = list(_taken(waiting, node))
                there.difference_update(found)
                yield found


def _next_new(node: N, ways: Iterator[N], number: dict[N, int], lowest: dict[N, int], there: set[N]) -> N | None:
    """Find where to go on from a node; on the way, hear from what was seen before how far back it leads."""
    for other in ways:
        if other not in number:
            return other
        if other in there:
            lowest[node] = min(lowest[node], number[other])
    return None


def _taken(waiting: list[N], until: N) -> Iterator[N]:
    """Take nodes from the end, that one with them."""
    while waiting:
        node = waiting.pop()
        yield node
        if node == until:
            return
