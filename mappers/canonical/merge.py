"""How rows merge: declared once for every column, used by the reducer, the stores and the laws' tests.

A column is part of the key, a constant that follows from the key, a minimum, a maximum, or belongs to a
register: a group of columns that is replaced whole by the statement with the greatest (or least) order.
All of these are commutative, associative and idempotent, so a row is the same whatever the order and
number of the statements that made it.
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

#: One row of one table, as a NamedTuple whose annotations say how each column merges.
Row = tuple[Any, ...]


class Rule(Enum):
    """What becomes of a column when two statements about the same key meet."""

    KEY = "key"
    CONST = "const"
    LEAST = "least"
    GREATEST = "greatest"


@dataclass(frozen=True)
class Order:
    """Marks the column that orders a register; `least` turns the register round."""

    register: str
    least: bool = False


@dataclass(frozen=True)
class Member:
    """Marks a column that is replaced together with the order of its register."""

    register: str


Key = Annotated[T, Rule.KEY]
Const = Annotated[T, Rule.CONST]
Least = Annotated[T, Rule.LEAST]
Greatest = Annotated[T, Rule.GREATEST]


@dataclass(frozen=True)
class Register:
    """Columns that are replaced together, and those among them that decide; a minimum decides by itself."""

    order: tuple[int, ...]
    columns: tuple[int, ...]
    least: bool


@dataclass(frozen=True)
class Plan:
    """How the rows of one class merge, by column position; what is in no register never changes."""

    names: tuple[str, ...]
    types: tuple[Any, ...]
    keys: int
    registers: tuple[Register, ...]


@cache
def plan_of(row_class: type[Row]) -> Plan:
    """Read the merge plan of a row class from its annotations."""
    hints = get_type_hints(row_class, include_extras=True)
    names = tuple(hints)
    rules = [_rule(row_class, name, hint) for name, hint in hints.items()]
    keys = sum(rule is Rule.KEY for rule in rules)
    if any(rule is not Rule.KEY for rule in rules[:keys]):
        raise TypeError(f"{row_class.__name__}: key columns come first")
    types = tuple(get_args(hint)[0] for hint in hints.values())
    return Plan(names, types, keys, tuple(_registers(rules)))


def plain_type(hint: Any) -> type:
    """Give the type of a column's values beside None."""
    kinds: tuple[type, ...] = get_args(hint) or (hint,)
    return next(kind for kind in kinds if kind is not NoneType)


def _rule(row_class: type[Row], name: str, hint: Any) -> Rule | Order | Member:
    marks = [mark for mark in get_args(hint)[1:] if isinstance(mark, Rule | Order | Member)]
    if len(marks) != 1:
        raise TypeError(f"{row_class.__name__}.{name} must declare exactly one merge rule")
    return marks[0]


def _registers(rules: list[Rule | Order | Member]) -> Iterable[Register]:
    for i, rule in enumerate(rules):
        if rule in (Rule.LEAST, Rule.GREATEST):
            yield Register((i,), (i,), rule is Rule.LEAST)
    for name, first in {rule.register: rule for rule in rules if isinstance(rule, Order)}.items():
        mine = [(i, r) for i, r in enumerate(rules) if isinstance(r, Order | Member) and r.register == name]
        order = tuple(i for i, r in mine if isinstance(r, Order))
        yield Register(order, tuple(i for i, _ in mine), first.least)


@cache
def merger(row_class: type[Row]) -> Callable[[Row, Row], Row]:
    """Build the function that merges two rows of a class that share their key."""
    registers = [(itemgetter(*r.order), r.order[0], r.columns, r.least) for r in plan_of(row_class).registers]
    make: Any = row_class._make  # type: ignore[attr-defined]  # every row class is a NamedTuple

    def merge(left: Row, right: Row) -> Row:
        merged = None
        for order_of, first, columns, least in registers:
            if right[first] is None:
                continue
            if left[first] is not None:
                ours, theirs = order_of(left), order_of(right)
                if theirs == ours or (theirs > ours) == least:
                    continue
            merged = merged or list(left)
            for i in columns:
                merged[i] = right[i]
        return left if merged is None else make(merged)

    return merge


class _Table(NamedTuple):
    known: dict[Row, Row]
    keys: int
    merge: Callable[[Row, Row], Row]


class Reducer:
    """Folds statements into one row per key before they are written.

    The same fold serves a group of concurrent requests and, on Spark, a partition of a backfill.
    """

    def __init__(self) -> None:
        self._tables: dict[type[Row], _Table] = {}
        self._sorted: dict[type[Row], list[Row]] = {}

    def add(self, rows: Iterable[Row]) -> None:
        """Merge rows into what is already known of their keys."""
        tables = self._tables
        self._sorted.clear()
        for row in rows:
            row_class = type(row)
            table = tables.get(row_class)
            if table is None:
                table = tables[row_class] = _Table({}, plan_of(row_class).keys, merger(row_class))
            known, keys, merge = table
            key = row[:keys]
            before = known.setdefault(key, row)
            if before is not row:
                known[key] = merge(before, row)

    def rows(self, row_class: type[R]) -> list[R]:
        """Give the merged rows of one class in the order of their keys."""
        rows = self._sorted.get(row_class)
        if rows is None:
            known = self._tables[row_class].known if row_class in self._tables else {}
            rows = self._sorted[row_class] = [known[key] for key in sorted(known)]
        return cast("list[R]", rows)
