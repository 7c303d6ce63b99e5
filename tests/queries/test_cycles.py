"""What leads back to itself, of graphs that letters spell: `ab bc ca` leads around."""

import pytest
import rustworkx
from hypothesis import given
from hypothesis import strategies as st

from bridge.queries.cycles import strongly_connected_components


def spelled(edges: str) -> dict[str, list[str]]:
    leads: dict[str, list[str]] = {}
    for source, target in edges.split():
        leads.setdefault(source, []).append(target)
        leads.setdefault(target, [])
    return leads


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
        ("ab bc cb ca", "abc"),  # one within the other
        ("ab bc ca ad da", "abcd"),  # two that share a node
        ("xa ab bc ca cy", "abc"),
        ("ab bc cd db", "bcd"),
    ],
)
def test_who_leads_to_each_other_is_told_together(edges: str, cycles: str) -> None:
    found = ["".join(sorted(nodes)) for nodes in strongly_connected_components(spelled(edges))]
    assert sorted(nodes for nodes in found if len(nodes) > 1) == cycles.split()
    assert sorted("".join(found)) == sorted(spelled(edges))


@pytest.mark.parametrize("closed", [False, True])
def test_a_long_chain_is_no_deep_one(closed: bool) -> None:
    chain = {at: [at + 1] for at in range(100_000)} | {100_000: [0] if closed else []}
    assert len(list(strongly_connected_components(chain))) == (1 if closed else 100_001)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30))
def test_it_is_what_others_find(edges: list[tuple[int, int]]) -> None:
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(9))
    graph.add_edges_from_no_data(edges)
    leads = {at: [target for source, target in edges if source == at] for at in range(9)}
    expected = {frozenset(nodes) for nodes in rustworkx.strongly_connected_components(graph)}
    assert {frozenset(nodes) for nodes in strongly_connected_components(leads)} == expected
