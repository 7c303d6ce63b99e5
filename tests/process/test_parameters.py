"""Values of parameters: read by their types, and put where files name them."""

from datetime import date, datetime

import pytest

from bridge.process.definition import Parameter
from bridge.process.parameters import ParameterValue, bind_parameters, substitute
from connectors.errors import ConfigError

READ: list[tuple[str, str, ParameterValue]] = [
    ("string", "a b", "a b"),
    ("integer", "42", 42),
    ("number", "0.5", 0.5),
    ("boolean", "True", True),
    ("boolean", "no", False),
    ("date", "2026-01-31", date(2026, 1, 31)),
    ("timestamp", "2026-01-31T06:00:00", datetime(2026, 1, 31, 6)),  # noqa: DTZ001 - as it was written
]


@pytest.mark.parametrize(("kind", "text", "value"), READ)
def test_a_value_is_read_as_its_type_says(kind: str, text: str, value: ParameterValue) -> None:
    assert bind_parameters({"p": Parameter.model_validate({"type": kind})}, {"p": text}) == {"p": value}


@pytest.mark.parametrize("kind", ["integer", "number", "boolean", "date", "timestamp"])
def test_what_is_of_another_type_is_told_with_an_example(kind: str) -> None:
    with pytest.raises(ConfigError, match=f"--param p: 'x' is not a valid {kind} \\(example"):
        bind_parameters({"p": Parameter.model_validate({"type": kind})}, {"p": "x"})


def test_defaults_fill_in_and_nothing_is_nothing() -> None:
    params = {"least": Parameter(type="integer", default=3), "day": Parameter(type="date")}
    assert bind_parameters(params, {}) == {"least": 3, "day": None}


def test_all_that_is_wrong_is_told_at_once() -> None:
    params = {"business_date": Parameter(type="date", required=True), "n": Parameter(type="integer")}
    with pytest.raises(ConfigError) as caught:
        bind_parameters(params, {"busines_date": "2026-01-31", "n": "many"})
    assert str(caught.value).splitlines() == [
        "--param busines_date: unknown parameter; did you mean business_date?",
        "--param business_date: is required, e.g. business_date=2026-01-31",
        "--param n: 'many' is not a valid integer (example: 42)",
    ]


def test_values_stand_where_braces_name_them() -> None:
    values: dict[str, ParameterValue] = {"day": date(2026, 1, 31), "full": True, "none": None}
    assert substitute("raw/{day}/{full}.csv", values, "inputs.a") == "raw/2026-01-31/true.csv"
    with pytest.raises(ConfigError, match=r"inputs.a: \{dya\} is not a parameter; known parameters: day, full, none"):
        substitute("raw/{dya}", values, "inputs.a")
    with pytest.raises(ConfigError, match=r"inputs.a: \{none\} has no value"):
        substitute("raw/{none}", values, "inputs.a")
