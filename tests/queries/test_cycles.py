"""Strongly connected components of graphs that are written as pairs of letters: `ab bc ca` is a cycle."""

import pytest
import rustworkx
from hypothesis import given
from hypothesis import strategies as st

from bridge.queries.cycles import strongly_connected_components


def parse_graph(edges: str) -> dict[str, list[str]]:
    successors: dict[str, list[str]] = {}
    for source, target in edges.split():
        successors.setdefault(source, []).append(target)
        successors.setdefault(target, [])
    return successors


@pytest.mark.parametrize(
    ("edges", "cycles"),
    [
        ("", ""),
        ("ab bc", ""),
        ("ab ac bd cd", ""),
        ("aa ab", ""),
        ("ab ba", "ab"),
        ("ab bc ca", "abc"),
        ("ab ba bc cd dc", "ab cd"),
        ("ab bc cb ca", "abc"),  # nested cycles
        ("ab bc ca ad da", "abcd"),  # cycles that share a node
        ("xa ab bc ca cy", "abc"),
        ("ab bc cd db", "bcd"),
    ],
)
def test_nodes_of_a_cycle_are_grouped(edges: str, cycles: str) -> None:
    components = ["".join(sorted(nodes)) for nodes in strongly_connected_components(parse_graph(edges))]
    assert sorted(nodes for nodes in components if len(nodes) > 1) == cycles.split()
    assert sorted("".join(components)) == sorted(parse_graph(edges))


@pytest.mark.parametrize("closed", [False, True])
def test_long_chain_does_not_exhaust_the_stack(closed: bool) -> None:
    chain = {node: [node + 1] for node in range(100_000)} | {100_000: [0] if closed else []}
    assert len(list(strongly_connected_components(chain))) == (1 if closed else 100_001)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30))
def test_components_equal_those_of_rustworkx(edges: list[tuple[int, int]]) -> None:
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(9))
    graph.add_edges_from_no_data(edges)
    successors = {node: [target for source, target in edges if source == node] for node in range(9)}
    expected = {frozenset(nodes) for nodes in rustworkx.strongly_connected_components(graph)}
    assert {frozenset(nodes) for nodes in strongly_connected_components(successors)} == expected
