"""Merge rules of columns, and the reducer that applies them in memory.

A column is part of the key, a constant determined by the key, a minimum, a maximum, or a member of a register. A
register is a group of columns that is replaced as a whole by the assertion with the greatest (or smallest) order.
All of these merges are commutative, associative and idempotent, so the result does not depend on the order in which
assertions arrive, or on how often. The reducer, the stores and the tests of the merge laws share these declarations.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from operator import itemgetter
from types import NoneType
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_args, get_type_hints

T = TypeVar("T")
R = TypeVar("R", bound=tuple[Any, ...])

#: A row of a table: a NamedTuple whose annotations declare the merge rule of each column.
Row = tuple[Any, ...]


class MergeRule(Enum):
    """How a column merges when two rows have the same key."""

    KEY = "key"
    CONST = "const"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True)
class RegisterOrder:
    """Marks a column that orders a register; with `minimum`, the smallest order wins."""

    register: str
    minimum: bool = False


@dataclass(frozen=True)
class RegisterMember:
    """Marks a column that is replaced together with the other columns of its register."""

    register: str


Key = Annotated[T, MergeRule.KEY]
Const = Annotated[T, MergeRule.CONST]
Min = Annotated[T, MergeRule.MIN]
Max = Annotated[T, MergeRule.MAX]


@dataclass(frozen=True)
class Register:
    """Positions of the columns that are replaced together, and of the columns that decide which assertion wins.

    A minimum or maximum is a register of one column.
    """

    order: tuple[int, ...]
    columns: tuple[int, ...]
    minimum: bool


@dataclass(frozen=True)
class MergePlan:
    """How the rows of a class merge, by column position; columns outside of registers never change."""

    names: tuple[str, ...]
    types: tuple[Any, ...]
    key_count: int
    registers: tuple[Register, ...]


@cache
def merge_plan(row_class: type[Row]) -> MergePlan:
    """Read the merge plan of a row class from its annotations."""
    hints = get_type_hints(row_class, include_extras=True)
    names = tuple(hints)
    rules = [_merge_rule(row_class, name, hint) for name, hint in hints.items()]
    key_count = sum(rule is MergeRule.KEY for rule in rules)
    if any(rule is not MergeRule.KEY for rule in rules[:key_count]):
        raise TypeError(f"{row_class.__name__}: key columns must come first")
    types = tuple(get_args(hint)[0] for hint in hints.values())
    return MergePlan(names, types, key_count, tuple(_registers(rules)))


def value_type(hint: Any) -> type:
    """Return the type of the values in a column, without None."""
    alternatives: tuple[type, ...] = get_args(hint) or (hint,)
    return next(alternative for alternative in alternatives if alternative is not NoneType)


def _merge_rule(row_class: type[Row], name: str, hint: Any) -> MergeRule | RegisterOrder | RegisterMember:
    rules = [rule for rule in get_args(hint)[1:] if isinstance(rule, MergeRule | RegisterOrder | RegisterMember)]
    if len(rules) != 1:
        raise TypeError(f"{row_class.__name__}.{name} must declare exactly one merge rule")
    return rules[0]


def _registers(rules: list[MergeRule | RegisterOrder | RegisterMember]) -> Iterable[Register]:
    for position, rule in enumerate(rules):
        if rule in (MergeRule.MIN, MergeRule.MAX):
            yield Register((position,), (position,), rule is MergeRule.MIN)
    order_rules = {rule.register: rule for rule in rules if isinstance(rule, RegisterOrder)}
    for name, order_rule in order_rules.items():
        register_rules = {
            position: rule
            for position, rule in enumerate(rules)
            if isinstance(rule, RegisterOrder | RegisterMember) and rule.register == name
        }
        order = tuple(position for position, rule in register_rules.items() if isinstance(rule, RegisterOrder))
        yield Register(order, tuple(register_rules), order_rule.minimum)


@cache
def merger(row_class: type[Row]) -> Callable[[Row, Row], Row]:
    """Build a function that merges two rows of a class with the same key."""
    registers = [
        (itemgetter(*register.order), register.order[0], register.columns, register.minimum)
        for register in merge_plan(row_class).registers
    ]

    def merge(left: Row, right: Row) -> Row:
        merged = None
        for get_order, order_column, columns, smallest_wins in registers:
            if right[order_column] is None:
                continue
            if left[order_column] is not None:
                left_order, right_order = get_order(left), get_order(right)
                if right_order == left_order or (right_order > left_order) == smallest_wins:
                    continue  # left wins
            merged = merged or list(left)
            for position in columns:
                merged[position] = right[position]
        return left if merged is None else tuple.__new__(row_class, merged)

    return merge


class _RowsOfClass(NamedTuple):
    by_key: dict[Row, Row]
    key_count: int
    merge: Callable[[Row, Row], Row]


class Reducer:
    """Merges rows into one row per key in memory, before they are written.

    It merges the rows of concurrent requests and, on Spark, of the partitions of a backfill.
    """

    def __init__(self) -> None:
        self._tables: dict[type[Row], _RowsOfClass] = {}
        self._sorted_rows: dict[type[Row], list[Row]] = {}

    def add(self, rows: Iterable[Row]) -> None:
        tables = self._tables
        self._sorted_rows.clear()
        for row in rows:
            row_class = type(row)
            table = tables.get(row_class)
            if table is None:
                table = _RowsOfClass({}, merge_plan(row_class).key_count, merger(row_class))
                tables[row_class] = table
            by_key, key_count, merge = table
            key = row[:key_count]
            existing_row = by_key.setdefault(key, row)
            if existing_row is not row:
                by_key[key] = merge(existing_row, row)

    def rows(self, row_class: type[R]) -> list[R]:
        """Return the merged rows of a class, sorted by key."""
        rows = self._sorted_rows.get(row_class)
        if rows is None:
            by_key = self._tables[row_class].by_key if row_class in self._tables else {}
            rows = self._sorted_rows[row_class] = [by_key[key] for key in sorted(by_key)]
        return cast("list[R]", rows)
