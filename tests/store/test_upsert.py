"""SQL upserts and the in-memory reducer merge rows of every table identically."""

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mappers.canonical.merge import Reducer, Row, merge_plan, merger
from mappers.canonical.rows import TABLES
from tests.stores import Store

#: Texts that every table accepts: a CHECK constraint of one table allows only these.
_TEXTS = ("APPROVED", "PENDING", "REJECTED")
_VALUES: dict[type, st.SearchStrategy[Any]] = {
    bytes: st.sampled_from((b"a", b"b", b"c")),
    str: st.sampled_from(_TEXTS),
    int: st.sampled_from((1, 2, 3)),
    bool: st.booleans(),
}


def rows(row_class: type[Row]) -> st.SearchStrategy[Row]:
    """Generate rows of one class and one key; columns of a register follow from its order, as hashes do."""
    plan = merge_plan(row_class)
    constant = set(range(len(plan.names))) - {i for r in plan.registers for i in r.columns}
    ordering = {i for r in plan.registers for i in r.order}

    def build(drawn: list[Any]) -> Row:
        values = list(drawn)
        for register in plan.registers:
            for i in register.columns:
                if i not in register.order:
                    values[i] = _derived(plan.types[i], drawn[register.order[0]])
        return row_class._make(values)  # type: ignore[attr-defined]

    def column(i: int, hint: Any) -> st.SearchStrategy[Any]:
        base_type = next(t for t in (get_args(hint) or (hint,)) if t is not type(None))
        if i in constant:
            return st.just(_derived(base_type, b"k"))
        optional = i in ordering and type(None) in get_args(hint)
        return st.one_of(st.none(), _VALUES[base_type]) if optional else _VALUES[base_type]

    return st.tuples(*(column(i, hint) for i, hint in enumerate(plan.types))).map(list).map(build)


def _derived(hint: Any, order: Any) -> Any:
    base_type = next(t for t in (get_args(hint) or (hint,)) if t is not type(None))
    if order is None and type(None) in get_args(hint):
        return None
    number = order[0] if isinstance(order, bytes) else int(order or 0)
    return {bytes: bytes([number]), str: _TEXTS[number % 3], int: number, bool: bool(number % 2)}[base_type]


@pytest.mark.parametrize("row_class", TABLES.values(), ids=TABLES)
def test_upsert_agrees_with_reducer(store: Store, row_class: type[Row]) -> None:
    plan = merge_plan(row_class)
    table = next(name for name, table_class in TABLES.items() if table_class is row_class)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(rows(row_class), min_size=1, max_size=4))
    def check(drawn: list[Row]) -> None:
        store.db.execute(f"DELETE FROM {table}")
        for row in drawn:
            store.db.merge_rows(row_class, [row])
        reducer = Reducer()
        reducer.add(drawn)
        (expected,) = reducer.rows(row_class)
        assert store.rows(f"SELECT {', '.join(plan.names)} FROM {table}") == [tuple(expected)]

    check()


@pytest.mark.parametrize("row_class", TABLES.values(), ids=TABLES)
def test_merge_is_commutative_associative_and_idempotent(row_class: type[Row]) -> None:
    merge = merger(row_class)

    @given(rows(row_class), rows(row_class), rows(row_class))
    def check(a: Row, b: Row, c: Row) -> None:
        assert merge(a, b) == merge(b, a)
        assert merge(merge(a, b), c) == merge(a, merge(b, c))
        assert merge(a, a) == a

    check()


def test_column_without_merge_rule_is_rejected() -> None:
    from typing import NamedTuple

    from mappers.canonical.merge import Key, Max

    class Undeclared(NamedTuple):
        key: Key[str]
        loose: int

    class Unordered(NamedTuple):
        newest: Max[int]
        key: Key[str]

    with pytest.raises(TypeError, match="loose"):
        merge_plan(Undeclared)
    with pytest.raises(TypeError, match="come first"):
        merge_plan(Unordered)
