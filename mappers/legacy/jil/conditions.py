"""Parses and evaluates Autosys starting conditions."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import eq, ge, gt, le, lt, ne
from typing import Literal, NamedTuple, TypeVar, cast

from lark import Lark, Token, Transformer, UnexpectedInput, v_args

from mappers.cache import bounded_lru_cache
from mappers.errors import PermanentError

T = TypeVar("T", float, str)
StatusPredicate = Literal["success", "failure", "done", "terminated", "notrunning"]
Operator = Literal["=", "!=", "<", "<=", ">", ">="]

#: `&` and `|` bind equally and from left to right: `a | b & c` is `(a | b) & c`.
_GRAMMAR = r"""
start: _any
_any: joined | _one
joined: _any JOIN _one
_one: "(" _any ")" | status | exitcode | variable
status: STATUS "(" job ["," LOOKBACK] ")"
exitcode: EXITCODE "(" job ["," LOOKBACK] ")" OPERATOR SIGNED
variable: VALUE "(" NAME ")" OPERATOR (QUOTED | SIGNED | NAME)
job: NAME ["^" NAME]

STATUS.3: /(success|failure|done|terminated|notrunning|[sfdtn])(?=\s*\()/i
EXITCODE.3: /(exitcode|e)(?=\s*\()/i
VALUE.3: /(value|v)(?=\s*\()/i
JOIN.2: "&" | "|" | /and(?=[\s(])/i | /or(?=[\s(])/i
OPERATOR: "!=" | "<=" | ">=" | "=" | "<" | ">"
LOOKBACK.2: /\d{1,4}([.:]\d{2})?(?=\s*\))/
SIGNED.1: /-?\d+(?=[\s)&|]|$)/
QUOTED: /"[^"]*"|'[^']*'/
NAME: /[^\s(),&|^"'=<>!]+/
%ignore /\s+/
"""
_PREDICATES: dict[str, StatusPredicate] = {
    "s": "success", "f": "failure", "d": "done", "t": "terminated", "n": "notrunning",
}  # fmt: skip
_COMPARISONS: dict[Operator, Callable[[int, int], bool]] = {
    "=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
#: A lookback without limit, and the number of hours that stands for it.
FOREVER = None
_UNLIMITED_HOURS = 9999


class InvalidCondition(PermanentError):
    """The text is not a valid condition; the message contains the position of the error."""


class StatusCondition(NamedTuple):
    """The condition that a job has reached a status within the lookback (in minutes)."""

    job: str
    instance: str | None
    predicate: StatusPredicate
    lookback: int | None = FOREVER


class ExitCodeCondition(NamedTuple):
    """The condition that the exit code of a job satisfies a comparison."""

    job: str
    instance: str | None
    operator: Operator
    code: int
    lookback: int | None = FOREVER


class GlobalCondition(NamedTuple):
    """The condition that the value of a global variable satisfies a comparison."""

    name: str
    operator: Operator
    value: str


class CompoundCondition(NamedTuple):
    """Two conditions joined with AND (`&`) or OR (`|`)."""

    left: "Condition"
    join: Literal["&", "|"]
    right: "Condition"


Atom = StatusCondition | ExitCodeCondition | GlobalCondition
Condition = Atom | CompoundCondition


class JobState(NamedTuple):
    """State of a job: its current status, the time of its last end in minutes, and its exit code."""

    status: str
    ended: float | None = None
    code: int | None = None


@bounded_lru_cache(1 << 14)
def parse_condition(text: str) -> Condition:
    """Parse a condition; raises InvalidCondition with the position of the error."""
    try:
        # The parser builds the result directly, without a parse tree, so the length of a condition is not limited.
        condition = cast("Condition", _condition_parser().parse(text))
    except UnexpectedInput as error:
        raise InvalidCondition(_error_message(error, text)) from error
    return condition


def _error_message(error: UnexpectedInput, text: str) -> str:
    position: int | None = getattr(error, "pos_in_stream", None)
    token = getattr(error, "token", None)
    if position is None or position < 0 or (token is not None and token.type == "$END"):
        return "unexpected end of condition"
    return f"unexpected {text[position : position + 20]!r} at character {position + 1}"


def atomic_conditions(condition: Condition) -> Iterator[Atom]:
    """Yield the atomic conditions from left to right."""
    pending = [condition]
    while pending:
        current = pending.pop()
        if isinstance(current, CompoundCondition):
            pending += [current.right, current.left]
        else:
            yield current


def evaluate(condition: Condition, is_true: Callable[[Atom], bool]) -> bool:
    """Evaluate a condition strictly from left to right; `is_true` evaluates its atomic conditions."""
    compounds: list[CompoundCondition] = []
    while isinstance(condition, CompoundCondition):
        compounds.append(condition)
        condition = condition.left
    result = is_true(condition)
    for compound in reversed(compounds):
        right = evaluate(compound.right, is_true)
        result = (result and right) if compound.join == "&" else (result or right)
    return result


def is_satisfied(
    condition: Condition,
    jobs: Mapping[tuple[str, str | None], JobState],
    variables: Mapping[str, str],
    now: float,
    own_end: float | None = None,
) -> bool:
    """Evaluate a condition against the current states of jobs, not against individual runs.

    A condition on an undefined job is false. A condition on a job that is on ice is true, regardless of the lookback.
    `own_end` is the time at which the waiting job last ended; all times are in minutes.
    """

    def is_true(atom: Atom) -> bool:
        if isinstance(atom, GlobalCondition):
            value = variables.get(atom.name)
            return value is not None and _satisfies_comparison(value, atom.operator, atom.value)
        state = jobs.get((atom.job, atom.instance))
        return state is not None and (state.status == "ON_ICE" or _matches_state(atom, state, now, own_end))

    return evaluate(condition, is_true)


def _matches_state(
    condition: StatusCondition | ExitCodeCondition, state: JobState, now: float, own_end: float | None
) -> bool:
    if not _is_recent(state, condition, now, own_end):
        return False
    if isinstance(condition, ExitCodeCondition):
        return state.code is not None and _satisfies_comparison(
            str(state.code), condition.operator, str(condition.code)
        )
    return _has_status(state.status, condition.predicate)


def _has_status(status: str, predicate: StatusPredicate) -> bool:
    if predicate == "notrunning":
        return status not in {"RUNNING", "STARTING"}
    statuses = {
        "success": {"SUCCESS"}, "failure": {"FAILURE"}, "terminated": {"TERMINATED"},
        "done": {"SUCCESS", "FAILURE", "TERMINATED"},
    }  # fmt: skip
    return status in statuses[predicate]


def _is_recent(
    state: JobState, condition: StatusCondition | ExitCodeCondition, now: float, own_end: float | None
) -> bool:
    """Return whether a job ended within the lookback; a lookback of zero begins at the waiting job's last end."""
    if condition.lookback is None:
        return True
    if state.ended is None:
        waits_for_idle = isinstance(condition, StatusCondition) and condition.predicate == "notrunning"
        return waits_for_idle or (condition.lookback == 0 and own_end is None)
    if condition.lookback == 0:
        return own_end is None or state.ended > own_end
    return now - state.ended <= condition.lookback


def _satisfies_comparison(actual: str, operator: Operator, expected: str) -> bool:
    """Compare two values as numbers if both are numbers, otherwise as strings."""
    try:
        order = _three_way_comparison(float(actual), float(expected))
    except ValueError:
        order = _three_way_comparison(actual, expected)
    return _COMPARISONS[operator](order, 0)


def _three_way_comparison(left: T, right: T) -> int:
    """Return -1, 0 or 1, as `left` is less than, equal to or greater than `right`."""
    return (left > right) - (left < right)


@cache
def _condition_parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", transformer=_ConditionBuilder())


@v_args(inline=True)
class _ConditionBuilder(Transformer[Token, Condition]):
    def start(self, condition: Condition) -> Condition:
        return condition

    def joined(self, left: Condition, join: Token, right: Condition) -> Condition:
        return CompoundCondition(left, "&" if join.lower() in {"&", "and"} else "|", right)

    def status(self, kind: Token, job: tuple[str, str | None], lookback: Token | None) -> Condition:
        return StatusCondition(*job, _PREDICATES[kind[0].lower()], _lookback_minutes(lookback))

    def exitcode(
        self, _: Token, job: tuple[str, str | None], lookback: Token | None, operator: Token, code: Token
    ) -> Condition:
        return ExitCodeCondition(*job, _parse_operator(operator), int(code), _lookback_minutes(lookback))

    def job(self, name: Token, instance: Token | None) -> tuple[str, str | None]:
        return str(name).replace("\\:", ":"), None if instance is None else str(instance)

    def variable(self, _: Token, name: Token, operator: Token, value: Token) -> Condition:
        return GlobalCondition(str(name), _parse_operator(operator), value.strip("\"'"))


def _parse_operator(token: Token) -> Operator:
    return cast("Operator", str(token))  # the grammar allows no other operators


def _lookback_minutes(lookback: Token | None) -> int | None:
    """Convert a lookback `hhhh.mm` or `hhhh` to minutes; 9999 means no limit."""
    if lookback is None:
        return FOREVER
    hours, _, minutes = str(lookback).replace(":", ".").partition(".")
    if int(hours) == _UNLIMITED_HOURS:
        return FOREVER
    return int(hours) * 60 + int(minutes or 0)
