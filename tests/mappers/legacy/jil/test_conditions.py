"""Autosys conditions: parsed by their grammar, and evaluated as by the scheduler."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.legacy.jil.conditions import (
    CompoundCondition,
    Condition,
    ExitCodeCondition,
    GlobalCondition,
    InvalidCondition,
    JobState,
    StatusCondition,
    atomic_conditions,
    is_satisfied,
    parse_condition,
)
from mappers.legacy.jil.normalization import normalize_value


def s(job: str, lookback: int | None = None) -> StatusCondition:
    return StatusCondition(job, None, "success", lookback)


PARSED: dict[str, Condition] = {
    "s(A)": s("A"),
    "SUCCESS ( A )": s("A"),
    "failure(A)": StatusCondition("A", None, "failure"),
    "d(A)": StatusCondition("A", None, "done"),
    "t(A)": StatusCondition("A", None, "terminated"),
    "notrunning(A)": StatusCondition("A", None, "notrunning"),
    "s(A\\:B)": s("A:B"),
    "s(JOB.1-a#2)": s("JOB.1-a#2"),
    "s(s)": s("s"),
    "s(A^PRD)": StatusCondition("A", "PRD", "success"),
    "s(A,00.30)": s("A", 30),
    "s(A,00:30)": s("A", 30),
    "s(A, 30)": s("A", 1800),
    "s(A,0)": s("A", 0),
    "s(A,9999)": s("A"),
    "s(A^PRD, 01.15)": StatusCondition("A", "PRD", "success", 75),
    "e(A)=0": ExitCodeCondition("A", None, "=", 0),
    "exitcode(A) <= -1": ExitCodeCondition("A", None, "<=", -1),
    "e(A,12)!=4": ExitCodeCondition("A", None, "!=", 4, 720),
    "v(G)=ok": GlobalCondition("G", "=", "ok"),
    'value(G) = "x y"': GlobalCondition("G", "=", "x y"),
    "v(G)>=10": GlobalCondition("G", ">=", "10"),
    "s(a) | s(b) & s(c)": CompoundCondition(CompoundCondition(s("a"), "|", s("b")), "&", s("c")),
    "s(a) & s(b) | s(c)": CompoundCondition(CompoundCondition(s("a"), "&", s("b")), "|", s("c")),
    "s(a) | (s(b) & s(c))": CompoundCondition(s("a"), "|", CompoundCondition(s("b"), "&", s("c"))),
    "s(a) and s(b) OR s(c)": CompoundCondition(CompoundCondition(s("a"), "&", s("b")), "|", s("c")),
    "((s(a)))": s("a"),
}
INVALID = {
    "": "unexpected end of condition", "s(A": "unexpected end of condition", "A": "character 1", "s(A) s(B)": "character 6",
    "s(A,.30)": "character 5", "s(A) &": "unexpected end of condition", "v(G)": "unexpected end of condition", "x(A)": "character 1", "s()": "character 3",
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PARSED.items())
def test_conditions_are_parsed(text: str, expected: Condition) -> None:
    assert parse_condition(text) == expected


@pytest.mark.parametrize(("text", "message"), INVALID.items())
def test_invalid_conditions_are_rejected_with_a_position(text: str, message: str) -> None:
    with pytest.raises(InvalidCondition) as caught:
        parse_condition(text)
    assert str(caught.value).endswith(message)


PARTS = st.sampled_from(
    [
        "s(A)",
        "failure(B^PRD, 00.30)",
        "d(C,0)",
        "n(A,9999)",
        "e(A,5) >= 4",
        'v(G) != "a b"',
        "value(G)=x",
        "T(A:B,1440.01)",
    ]
)
CONDITIONS = st.recursive(
    PARTS, lambda inner: st.builds("({}) {} ({})".format, inner, st.sampled_from(["&", "|", "and", "OR"]), inner), max_leaves=8
)  # fmt: skip


@given(st.lists(CONDITIONS, min_size=1, max_size=4), st.sampled_from([" & ", " or "]))
def test_normalized_condition_is_equivalent(parts: list[str], join: str) -> None:
    text = join.join(parts)
    normalized = normalize_value("condition", text)
    assert (parse_condition(normalized), normalize_value("condition", normalized)) == (
        parse_condition(text),
        normalized,
    )


@given(st.text(alphabet='sdftnev()&|,. :0129AB^=<>!"\\', max_size=40))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    with suppress(InvalidCondition):
        assert list(atomic_conditions(parse_condition(text)))


NOW = 10_000.0
OK = JobState("SUCCESS", NOW - 60, 0)
BAD = JobState("FAILURE", NOW - 60, 8)
EVALUATED: list[tuple[str, dict[str, JobState], bool]] = [
    ("s(A)", {"A": OK}, True),
    ("s(A)", {"A": BAD}, False),
    ("f(A)", {"A": BAD}, True),
    ("d(A)", {"A": BAD}, True),
    ("d(A)", {"A": JobState("TERMINATED", NOW)}, True),
    ("d(A)", {"A": JobState("RUNNING", NOW - 60)}, False),
    ("t(A)", {"A": JobState("TERMINATED", NOW)}, True),
    # The current state counts, however long ago the job reached it.
    ("s(A)", {"A": JobState("SUCCESS", NOW - 9_000)}, True),
    ("s(A,00.30)", {"A": JobState("SUCCESS", NOW - 29)}, True),
    ("s(A,00.30)", {"A": JobState("SUCCESS", NOW - 31)}, False),
    ("s(A,1)", {"A": JobState("SUCCESS", NOW - 59)}, True),
    ("s(A,1)", {"A": JobState("INACTIVE")}, False),
    ("n(A)", {"A": JobState("INACTIVE")}, True),
    ("n(A)", {"A": JobState("RUNNING")}, False),
    ("n(A)", {"A": OK}, True),
    # A job on ice counts as done, a job on hold does not, and an undefined job never does.
    ("s(A)", {"A": JobState("ON_ICE")}, True),
    ("s(A,00.01)", {"A": JobState("ON_ICE", NOW - 9_000)}, True),
    ("s(A)", {"A": JobState("ON_HOLD", NOW - 60)}, False),
    ("s(A)", {}, False),
    ("n(A)", {}, False),
    ("s(A) | s(B)", {"B": OK}, True),
    ("e(A) > 4", {"A": BAD}, True),
    ("e(A) <= 4", {"A": BAD}, False),
    ("e(A) = 0", {"A": JobState("RUNNING")}, False),
    ("s(A) | s(B) & s(C)", {"A": OK, "B": OK, "C": BAD}, False),
    ("s(A) | (s(B) & s(C))", {"A": OK, "B": OK, "C": BAD}, True),
    ("s(A) & s(B) | s(C)", {"A": BAD, "B": OK, "C": OK}, True),
]


@pytest.mark.parametrize(("text", "states", "satisfied"), EVALUATED)
def test_conditions_are_evaluated_as_by_the_scheduler(
    text: str, states: dict[str, JobState], satisfied: bool
) -> None:
    jobs = {(name, None): state for name, state in states.items()}
    assert is_satisfied(parse_condition(text), jobs, {}, NOW) is satisfied


ZERO_LOOKBACK = [(None, True), (NOW - 61, True), (NOW - 60, False), (NOW - 59, False)]


@pytest.mark.parametrize(("own_end", "satisfied"), ZERO_LOOKBACK)
def test_zero_lookback_counts_from_the_last_end_of_the_waiting_job(own_end: float | None, satisfied: bool) -> None:
    assert is_satisfied(parse_condition("s(A,0)"), {("A", None): OK}, {}, NOW, own_end) is satisfied


VALUES = [("v(G)=ok", "ok", True), ("v(G)!=ok", "ok", False), ("v(G)>9", "10", True), ("v(G)>9", "b", True), ("v(G)<10", "9.5", True), ("v(G)=ok", None, False)]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "satisfied"), VALUES)
def test_globals_are_compared_as_numbers_if_both_values_are(text: str, value: str | None, satisfied: bool) -> None:
    assert is_satisfied(parse_condition(text), {}, {} if value is None else {"G": value}, NOW) is satisfied


def test_job_of_another_instance_is_another_job() -> None:
    jobs = {("A", "PRD"): OK}
    assert (
        is_satisfied(parse_condition("s(A^PRD)"), jobs, {}, NOW),
        is_satisfied(parse_condition("s(A)"), jobs, {}, NOW),
    ) == (
        True,
        False,
    )


def test_condition_of_thousands_of_parts() -> None:
    text = " & ".join(f"s(J{i})" for i in range(3000))
    assert len(list(atomic_conditions(parse_condition(text)))) == 3000
