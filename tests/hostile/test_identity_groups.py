"""Symlinks cannot create identity groups that slow down the store."""

from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bridge.doctor.store import check_identity_groups
from bridge.store.identity_groups import group_names, oversized_groups
from bridge.store.sqlite import SqliteDatabase
from bridge.store.symlink_graph import LinkRules
from bridge.store.writer import Writer
from mappers.canonical.identity import dataset_id
from mappers.errors import InputTooLarge
from mappers.openlineage.event import parse_event
from tests.factories import DELETED, dataset, dataset_event, facet
from tests.stores import Store, as_bytes, empty_postgres

Json = dict[str, Any]
#: Seconds, a dataset, and the aliases that it reports, or None to delete its symlinks.
Report = tuple[int, str, tuple[str, ...] | None]
NAMES = "abcdefgh"


def link_event(second: int, name: str, aliases: tuple[str, ...] | None) -> Json:
    if aliases is None:
        return dataset_event(second, dataset(name, symlinks=DELETED))
    identifiers = [{"namespace": "db", "name": alias, "type": "LOCATION"} for alias in aliases]
    return dataset_event(second, dataset(name, symlinks=facet(identifiers=identifiers)))


def components(nodes: set[str], links: set[tuple[str, str]]) -> list[set[str]]:
    groups = [{node} for node in nodes]
    for left, right in links:
        joined = [group for group in groups if left in group or right in group]
        groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return groups


def expected_groups(reports: list[Report], max_names: int) -> tuple[set[frozenset[str]], bool]:
    """Compute the groups from their definition, and whether a component exceeds the limit."""
    asserted: dict[tuple[str, str], int] = {}
    deleted: dict[str, int] = {}
    nodes = {name for _, name, _ in reports} | {alias for _, _, aliases in reports for alias in aliases or ()}
    for second, name, aliases in reports:
        if aliases is None:
            deleted[name] = max(second, deleted.get(name, second))
        for alias in set(aliases or ()) - {name}:
            asserted[name, alias] = max(second, asserted.get((name, alias), second))
    live = {(name, alias) for (name, alias), second in asserted.items() if second > deleted.get(name, -1)}
    groups = set()
    any_oversized = False
    for component in components(nodes, set(asserted)):
        is_oversized = len(component) > max_names
        links = set() if is_oversized else {link for link in live if link[0] in component}
        groups |= {frozenset(group) for group in components(component, links)}
        any_oversized |= is_oversized
    return groups, any_oversized


def stored_groups(store: Store) -> set[frozenset[str]]:
    rows = store.rows("SELECT class_id, name FROM ol_dataset")
    return {frozenset(name for group, name in rows if group == group_id) for group_id, _ in rows}


reports = st.lists(
    st.tuples(
        st.integers(1, 5),
        st.sampled_from(NAMES),
        st.one_of(st.none(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple)),
    ),
    min_size=1,
    max_size=9,
)


@given(reports, st.integers(2, 5), st.randoms(use_true_random=False))
@example(  # two live groups of one component, joined to an oversized one by a link to the first
    [(1, "a", ("b",)), (1, "b", ("c",)), (1, "c", ("d",)), (2, "b", None), (3, "a", ("e",))], 4, Random(0)
)
def test_oversized_groups_depend_only_on_the_events(sent: list[Report], max_names: int, random: Random) -> None:
    arrivals = [link_event(*report) for report in sent]
    expected = expected_groups(sent, max_names)
    with Store(max_names=max_names) as one_by_one, Store(max_names=max_names) as shuffled, Store() as late_rule:
        one_by_one.apply_each(*arrivals)
        random.shuffle(arrivals)
        shuffled.apply_each(*arrivals[: len(arrivals) // 2]).apply(*arrivals)
        late_rule.apply(*arrivals)
        Writer(late_rule.db, late_rule.org, link_rules=LinkRules(max_names=max_names))
        for store in (one_by_one, shuffled, late_rule):
            assert (stored_groups(store), bool(oversized_groups(store.db, store.org))) == expected


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.system("postgres"))])
def test_oversized_group_has_one_row_that_names_it(kind: str) -> None:
    with Store(max_names=5, db=empty_postgres() if kind == "postgres" else None) as store:
        store.apply(link_event(1, "hub", ("t1", "t2")))
        assert group_names(store.db, store.org, dataset_id("default", "db", "hub")) == [
            ("db", "hub"),
            ("db", "t1"),
            ("db", "t2"),
        ]
        for number in range(3, 9):
            store.apply(link_event(1, "hub", (f"t{number}",)))
        assert all(len(group) == 1 for group in stored_groups(store))
        (finding,) = check_identity_groups(store.db, store.org, 5)
        assert finding.message == "symlinks connect db hub with more than 4 other names"
        Writer(store.db, store.org, link_rules=LinkRules(max_names=50))
        assert max(len(group) for group in stored_groups(store)) == 9
        assert oversized_groups(store.db, store.org) == []


class InstructionCount:
    """Counts the instructions that SQLite executes, in thousands."""

    def __init__(self, db: SqliteDatabase) -> None:
        self.thousands = 0
        db.connection.set_progress_handler(self._count, 1_000)

    def _count(self) -> int:
        self.thousands += 1
        return 0


def cost_of_one_more_name(names: int) -> int:
    """Return the cost of a small event that adds a name to a dataset with this many names."""
    with Store() as store:
        for start in range(0, names, 1_000):
            store.apply(
                link_event(1, "hub", tuple(f"t{number}" for number in range(start, min(names, start + 1_000))))
            )
        assert isinstance(store.db, SqliteDatabase)
        count = InstructionCount(store.db)
        store.apply(link_event(2, "hub", ("one more",)))
        return count.thousands


def test_cost_of_an_event_does_not_grow_with_the_names_of_its_dataset() -> None:
    assert cost_of_one_more_name(8_000) <= cost_of_one_more_name(400) + 400


def test_identifiers_of_symlinks_count_as_datasets() -> None:
    event = as_bytes(link_event(1, "hub", tuple(f"t{number}" for number in range(10_000))))
    with pytest.raises(InputTooLarge, match="10001 datasets and symlinks"):
        parse_event(event)
