"""Laws of the three-way merge, and of the merge base after it."""

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
from mappers.governance.merge_base import (
    MergeBase,
    RemoteChanges,
    decode_fields,
    encode_fields,
    next_base,
    remote_changes,
)

SCALAR = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["a", "b", ""]), st.just(0.5))
SET = st.frozensets(st.sampled_from("abc"), max_size=3)
SCALARS, SETS = st.tuples(SCALAR, SCALAR, SCALAR), st.tuples(SET, SET, SET)
VERSIONS = st.one_of(SCALARS, SETS)
PATHS = [("owner",), ("tags",), ("columns", "email", "tags")]


@given(VERSIONS)
def test_change_of_one_side_is_merged(versions: tuple[FieldValue, FieldValue, FieldValue]) -> None:
    base, local, remote = versions
    assert equal_values(merge_value(base, local, base), local)
    assert equal_values(merge_value(base, base, remote), remote)
    assert equal_values(merge_value(base, local, local), local)


@given(SCALARS)
def test_different_changes_of_a_scalar_conflict(versions: tuple[FieldValue, FieldValue, FieldValue]) -> None:
    base, local, remote = versions
    assert is_conflict(*versions) == (
        not equal_values(base, local) and not equal_values(base, remote) and not equal_values(local, remote)
    )


@given(SETS)
def test_elements_of_sets_are_merged_independently(versions: tuple[FieldValue, FieldValue, FieldValue]) -> None:
    assert not is_conflict(*versions)
    for element in "abc":
        in_base, in_local, in_remote = (element in version for version in versions)
        assert (element in merge_value(*versions)) == (in_remote if in_local == in_base else in_local)


@given(SETS)
def test_sets_without_a_base_are_united(versions: tuple[FieldValue, FieldValue, FieldValue]) -> None:
    _, local, remote = versions
    assert merge_value(None, local, remote) == local | remote


@given(VERSIONS, st.sampled_from(["report", "local", "remote"]))
def test_merge_is_symmetric(versions: tuple[FieldValue, FieldValue, FieldValue], policy: str) -> None:
    base, local, remote = ({("x",): value} for value in versions)
    mirrored_policy = {"local": "remote", "remote": "local"}.get(policy, policy)
    result, mirrored = merge(base, local, remote, policy), merge(base, remote, local, mirrored_policy)
    assert {path: value for path, value in result.fields.items() if value} == {
        path: value for path, value in mirrored.fields.items() if value and path in result.fields
    }
    assert len(result.conflicts) == len(mirrored.conflicts)


def test_fields_never_set_locally_are_ignored() -> None:
    assert merge({}, {("a",): 1}, {("a",): 1, ("b",): 2}).fields == {("a",): 1}


POLICIES = {
    "report": ({}, [Conflict(("d",), "was", "mine", "theirs")]),
    "local": ({("d",): "mine"}, []),
    "remote": ({("d",): "theirs"}, []),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("by_field", [False, True])
def test_policy_resolves_conflicts(policy: str, by_field: bool) -> None:
    policies = {("d",): policy} if by_field else policy
    merged = merge({("d",): "was"}, {("d",): "mine"}, {("d",): "theirs"}, policies)
    assert (merged.fields, merged.conflicts) == POLICIES[policy]


def test_changed_fields() -> None:
    assert changed_fields({("a",): 1, ("b",): frozenset()}, {("a",): 2, ("c",): "x"}) == {("a",): 2, ("c",): "x"}


def as_stored(value: FieldValue) -> FieldValue:
    """Value as the server stores it: texts are escaped, and element c is not accepted."""
    if isinstance(value, frozenset):
        return value - {"c"}
    return f"<{value}>" if isinstance(value, str) else value


def as_written(path: tuple[str, ...], value: FieldValue) -> FieldValue:
    return value[1:-1] if isinstance(value, str) else value


FIELDS = st.fixed_dictionaries({}, optional={PATHS[0]: st.sampled_from("xyz"), PATHS[1]: SET, PATHS[2]: SET})


def push(
    base: MergeBase, local: FieldValues, stored: dict[tuple[str, ...], FieldValue]
) -> tuple[MergeBase, RemoteChanges, FieldValues]:
    """Merge, change the remote fields, and compute the next base, as a push does."""
    remote = base.remote_fields(stored, as_written)
    merged = merge(base.sent, local, remote)
    stored_after = dict(stored)
    for path, value in merged.fields.items():
        if not equal_values(value, remote.get(path)):
            stored_after[path] = as_stored(value)
    changes = remote_changes(local, merged)
    return next_base(base, local, changes, stored_after), changes, stored_after


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=5))
def test_repeated_push_changes_nothing(steps: list[tuple[FieldValues, FieldValues]]) -> None:
    base, stored = MergeBase(), {}
    for local, edits in steps:
        stored |= {path: as_stored(value) for path, value in edits.items()}
        base, changes, stored = push(base, local, stored)
        repeated_base, repeated_changes, unchanged = push(base, local, stored)
        assert (repeated_changes, unchanged) == (changes, stored)
        assert repeated_base == base
        for fields in (base.sent, base.read, changes.fields):
            assert decode_fields(encode_fields(fields)) == fields


@given(FIELDS, FIELDS)
def test_unchanged_remote_fields_are_not_changes(first: FieldValues, second: FieldValues) -> None:
    base, _, stored = push(MergeBase(), first, {})
    _, changes, stored_after = push(base, second, stored)
    assert not changes.conflicts
    assert all(equal_values(value, second.get(path)) for path, value in changes.fields.items())
    for path, value in second.items():
        assert equal_values(stored_after.get(path), as_stored(value))


def test_remote_change_persists_until_the_file_contains_it() -> None:
    base, _, stored = push(MergeBase(), {PATHS[1]: frozenset("ab")}, {})
    stored[PATHS[1]] = frozenset("bd")
    for _ in range(2):
        base, changes, stored = push(base, {PATHS[1]: frozenset("ab")}, stored)
        assert changes.fields == {PATHS[1]: frozenset("bd")}
        assert stored[PATHS[1]] == frozenset("bd")
    base, changes, stored = push(base, {PATHS[1]: frozenset("bd")}, stored)
    assert changes.fields == {}
    base, changes, stored = push(base, {PATHS[1]: frozenset("d")}, stored)
    assert stored[PATHS[1]] == frozenset("d")
