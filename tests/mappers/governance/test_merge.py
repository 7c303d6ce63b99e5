"""The laws of the three-way merge, and of what is agreed on after it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.governance.merge import (
    Conflict,
    FieldValue,
    FieldValues,
    changed_fields,
    equal_values,
    is_conflict,
    merge,
    merge_value,
)
from mappers.governance.merge_base import MergeBase, RemoteChanges, next_base, remote_changes, to_record

SINGLE = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["a", "b", ""]), st.just(0.5))
SET = st.frozensets(st.sampled_from("abc"), max_size=3)
SINGLES, SETS = st.tuples(SINGLE, SINGLE, SINGLE), st.tuples(SET, SET, SET)
THREE = st.one_of(SINGLES, SETS)
PATHS = [("owner",), ("tags",), ("columns", "email", "tags")]


@given(THREE)
def test_what_one_side_changed_is_taken_over(three: tuple[FieldValue, FieldValue, FieldValue]) -> None:
    base, here, there = three
    assert equal_values(merge_value(base, here, base), here)
    assert equal_values(merge_value(base, base, there), there)
    assert equal_values(merge_value(base, here, here), here)


@given(SINGLES)
def test_a_conflict_is_what_both_changed_differently(three: tuple[FieldValue, FieldValue, FieldValue]) -> None:
    base, here, there = three
    assert is_conflict(*three) == (
        not equal_values(base, here) and not equal_values(base, there) and not equal_values(here, there)
    )


@given(SETS)
def test_of_a_set_each_element_is_decided_by_itself(three: tuple[FieldValue, FieldValue, FieldValue]) -> None:
    assert not is_conflict(*three)
    for element in "abc":
        was, mine, theirs = (element in one for one in three)
        assert (element in merge_value(*three)) == (theirs if mine == was else mine)


@given(SETS)
def test_without_a_base_sets_unite(three: tuple[FieldValue, FieldValue, FieldValue]) -> None:
    _, here, there = three
    assert merge_value(None, here, there) == here | there


@given(THREE, st.sampled_from(["report", "local", "remote"]))
def test_the_sides_are_alike(three: tuple[FieldValue, FieldValue, FieldValue], policy: str) -> None:
    base, here, there = ({("x",): value} for value in three)
    other = {"local": "remote", "remote": "local"}.get(policy, policy)
    one, two = merge(base, here, there, policy), merge(base, there, here, other)
    assert {path: value for path, value in one.fields.items() if value} == {
        path: value for path, value in two.fields.items() if value and path in one.fields
    }
    assert len(one.conflicts) == len(two.conflicts)


def test_nothing_that_was_never_mentioned_is_looked_at() -> None:
    assert merge({}, {("a",): 1}, {("a",): 1, ("b",): 2}).fields == {("a",): 1}


POLICIES = {
    "report": ({}, [Conflict(("d",), "was", "mine", "theirs")]),
    "local": ({("d",): "mine"}, []),
    "remote": ({("d",): "theirs"}, []),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("by_field", [False, True])
def test_a_policy_decides(policy: str, by_field: bool) -> None:
    of = {("d",): policy} if by_field else policy
    merged = merge({("d",): "was"}, {("d",): "mine"}, {("d",): "theirs"}, of)
    assert (merged.fields, merged.conflicts) == POLICIES[policy]


def test_changes_are_named() -> None:
    assert changed_fields({("a",): 1, ("b",): frozenset()}, {("a",): 2, ("c",): "x"}) == {("a",): 2, ("c",): "x"}


def escaped(value: FieldValue) -> FieldValue:
    """As a server stores what it is sent: texts otherwise, and no element c."""
    if isinstance(value, frozenset):
        return value - {"c"}
    return f"<{value}>" if isinstance(value, str) else value


def unescaped(path: tuple[str, ...], value: FieldValue) -> FieldValue:
    return value[1:-1] if isinstance(value, str) else value


FIELDS = st.fixed_dictionaries({}, optional={PATHS[0]: st.sampled_from("xyz"), PATHS[1]: SET, PATHS[2]: SET})


def pushed(
    before: MergeBase, local: FieldValues, there: dict[tuple[str, ...], FieldValue]
) -> tuple[MergeBase, RemoteChanges, FieldValues]:
    """Do as a push does: merge, change what the other side says, and remember."""
    remote = before.remote_fields(there, unescaped)
    merged = merge(before.sent, local, remote)
    now = dict(there)
    for path, value in merged.fields.items():
        if not equal_values(value, remote.get(path)):
            now[path] = escaped(value)
    found = remote_changes(local, merged)
    return next_base(before, local, found, now), found, now


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=5))
def test_doing_it_twice_changes_nothing(steps: list[tuple[FieldValues, FieldValues]]) -> None:
    agreement, there = MergeBase(), {}
    for local, edits in steps:
        there |= {path: escaped(value) for path, value in edits.items()}
        agreement, found, there = pushed(agreement, local, there)
        again, found_again, unchanged = pushed(agreement, local, there)
        assert (found_again, unchanged) == (found, there)
        assert again == agreement
        assert MergeBase.from_record(to_record(agreement, found)) == agreement
        assert RemoteChanges.read(to_record(agreement, found)).fields == found.fields


@given(FIELDS, FIELDS)
def test_what_nobody_changed_over_there_is_no_change_whatever_the_server_made_of_it(
    first: FieldValues, then: FieldValues
) -> None:
    agreement, _, there = pushed(MergeBase(), first, {})
    _, found, now = pushed(agreement, then, there)
    assert not found.conflicts
    assert all(equal_values(value, then.get(path)) for path, value in found.fields.items())
    for path, value in then.items():
        assert equal_values(now.get(path), escaped(value))


def test_a_change_over_there_stays_a_change_until_the_file_says_so() -> None:
    agreement, _, there = pushed(MergeBase(), {PATHS[1]: frozenset("ab")}, {})
    there[PATHS[1]] = frozenset("bd")
    for _ in range(2):
        agreement, found, there = pushed(agreement, {PATHS[1]: frozenset("ab")}, there)
        assert found.fields == {PATHS[1]: frozenset("bd")}
        assert there[PATHS[1]] == frozenset("bd")
    agreement, found, there = pushed(agreement, {PATHS[1]: frozenset("bd")}, there)
    assert found.fields == {}
    agreement, found, there = pushed(agreement, {PATHS[1]: frozenset("d")}, there)
    assert there[PATHS[1]] == frozenset("d")
