"""Starting conditions of Autosys: read by their grammar, and told true or false as the scheduler would."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
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
_KINDS: dict[str, StatusPredicate] = {
    "s": "success", "f": "failure", "d": "done", "t": "terminated", "n": "notrunning",
}  # fmt: skip
#: What is never too long ago.
FOREVER = None


class InvalidCondition(PermanentError):
    """The text is no condition; says where it stops being one."""


class StatusCondition(NamedTuple):
    """A job has a status, reached no longer ago than the lookback in minutes."""

    job: str
    instance: str | None
    kind: StatusPredicate
    lookback: int | None = FOREVER


class ExitCodeCondition(NamedTuple):
    """A job ended with an exit code that compares so."""

    job: str
    instance: str | None
    operator: Operator
    code: int
    lookback: int | None = FOREVER


class GlobalCondition(NamedTuple):
    """A global variable has a value that compares so."""

    name: str
    operator: Operator
    value: str


class CompoundCondition(NamedTuple):
    """Two conditions of which both, or either, must hold."""

    left: "Condition"
    join: Literal["&", "|"]
    right: "Condition"


Atom = StatusCondition | ExitCodeCondition | GlobalCondition
Condition = Atom | CompoundCondition


class JobState(NamedTuple):
    """How a job stands: its status now, when it ended last, in minutes, and with what code."""

    status: str
    ended: float | None = None
    code: int | None = None


@bounded_lru_cache(1 << 14)
def parse_condition(text: str) -> Condition:
    """Read a condition; raises BadCondition with the place."""
    try:
        # Read by methods while it is parsed, it may be as long as anybody wants.
        found = cast("Condition", _parser().parse(text))
    except UnexpectedInput as error:
        raise InvalidCondition(_message(error, text)) from error
    return found


def _message(error: UnexpectedInput, text: str) -> str:
    place: int | None = getattr(error, "pos_in_stream", None)
    token = getattr(error, "token", None)
    if place is None or place < 0 or (token is not None and token.type == "$END"):
        return "it ends too early"
    return f"character {place + 1}: {text[place : place + 20]!r} was not expected"


def atomic_conditions(condition: Condition) -> Iterator[Atom]:
    """Give what a condition is made of, from left to right."""
    waiting = [condition]
    while waiting:
        one = waiting.pop()
        if isinstance(one, CompoundCondition):
            waiting += [one.right, one.left]
        else:
            yield one


def evaluate(condition: Condition, true: Callable[[Atom], bool]) -> bool:
    """Tell whether a condition holds when its parts do as they are said to: from left to right, as it is written."""
    others: list[CompoundCondition] = []
    while isinstance(condition, CompoundCondition):
        others.append(condition)
        condition = condition.left
    found = true(condition)
    for one in reversed(others):
        also = evaluate(one.right, true)
        found = (found and also) if one.join == "&" else (found or also)
    return found


def is_satisfied(
    condition: Condition,
    jobs: Mapping[tuple[str, str | None], JobState],
    variables: Mapping[str, str],
    now: float,
    own_end: float | None = None,
) -> bool:
    """Tell whether a condition holds: a predicate over how jobs stand now, not over one run of each.

    A job that nobody defined makes its part false; one that is on ice makes it true, however long ago.
    """

    def true(atom: Atom) -> bool:
        if isinstance(atom, GlobalCondition):
            given = variables.get(atom.name)
            return given is not None and _compares(given, atom.operator, atom.value)
        state = jobs.get((atom.job, atom.instance))
        return state is not None and (state.status == "ON_ICE" or _stands(atom, state, now, own_end))

    return evaluate(condition, true)


def _stands(
    condition: StatusCondition | ExitCodeCondition, state: JobState, now: float, own_end: float | None
) -> bool:
    if not _recent(state, condition.lookback, now, own_end, condition):
        return False
    if isinstance(condition, ExitCodeCondition):
        return state.code is not None and _compares(str(state.code), condition.operator, str(condition.code))
    return _is(state.status, condition.kind)


def _is(status: str, kind: StatusPredicate) -> bool:
    if kind == "notrunning":
        return status not in {"RUNNING", "STARTING"}
    wanted = {
        "success": {"SUCCESS"}, "failure": {"FAILURE"}, "terminated": {"TERMINATED"},
        "done": {"SUCCESS", "FAILURE", "TERMINATED"},
    }  # fmt: skip
    return status in wanted[kind]


def _recent(
    state: JobState,
    lookback: int | None,
    now: float,
    own_end: float | None,
    condition: StatusCondition | ExitCodeCondition,
) -> bool:
    """Tell whether a job ended recently enough; a lookback of nothing counts from the last end of who waits."""
    if lookback is None or (
        isinstance(condition, StatusCondition) and condition.kind == "notrunning" and state.ended is None
    ):
        return True
    if lookback == 0:
        return own_end is None or (state.ended is not None and state.ended > own_end)
    return state.ended is not None and now - state.ended <= lookback


def _compares(given: str, operator: Operator, wanted: str) -> bool:
    """Compare as numbers where both are, else as texts."""
    try:
        order = _order(float(given), float(wanted))
    except ValueError:
        order = _order(given, wanted)
    return {
        "=": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0,
    }[operator]  # fmt: skip


def _order(left: T, right: T) -> int:
    return (left > right) - (left < right)


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", transformer=_ConditionBuilder())


@v_args(inline=True)
class _ConditionBuilder(Transformer[Token, Condition]):
    def start(self, found: Condition) -> Condition:
        return found

    def joined(self, left: Condition, join: Token, right: Condition) -> Condition:
        return CompoundCondition(left, "&" if join.lower() in {"&", "and"} else "|", right)

    def status(self, kind: Token, job: tuple[str, str | None], lookback: Token | None) -> Condition:
        return StatusCondition(*job, _KINDS[kind[0].lower()], _minutes(lookback))

    def exitcode(
        self, _: Token, job: tuple[str, str | None], lookback: Token | None, operator: Token, code: Token
    ) -> Condition:
        return ExitCodeCondition(*job, _operator(operator), int(code), _minutes(lookback))

    def job(self, name: Token, instance: Token | None) -> tuple[str, str | None]:
        return str(name).replace("\\:", ":"), None if instance is None else str(instance)

    def variable(self, _: Token, name: Token, operator: Token, value: Token) -> Condition:
        return GlobalCondition(str(name), _operator(operator), value.strip("\"'"))


def _operator(token: Token) -> Operator:
    operators: dict[str, Operator] = {"=": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
    return operators[str(token)]


def _minutes(lookback: Token | None) -> int | None:
    """Read `hhhh.mm`; a bare number is hours, and 9999 is for ever."""
    if lookback is None:
        return FOREVER
    hours, _, minutes = re.sub(r"[.:]", ".", str(lookback)).partition(".")
    if int(hours) == 9999:
        return FOREVER
    return int(hours) * 60 + int(minutes or 0)
