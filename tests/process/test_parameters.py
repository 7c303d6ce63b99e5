"""Parameter values: parsing and substitution."""

from datetime import date, datetime

import pytest

from bridge.process.definition import Parameter
from bridge.process.parameters import ParameterValue, bind_parameters, substitute
from connectors.errors import ConfigError

PARSED: list[tuple[str, str, ParameterValue]] = [
    ("string", "a b", "a b"),
    ("integer", "42", 42),
    ("number", "0.5", 0.5),
    ("boolean", "True", True),
    ("boolean", "no", False),
    ("date", "2026-01-31", date(2026, 1, 31)),
    ("timestamp", "2026-01-31T06:00:00", datetime(2026, 1, 31, 6)),  # noqa: DTZ001 - no time zone in the text
]


@pytest.mark.parametrize(("kind", "text", "value"), PARSED)
def test_values_are_parsed_by_type(kind: str, text: str, value: ParameterValue) -> None:
    assert bind_parameters({"p": Parameter.model_validate({"type": kind})}, {"p": text}) == {"p": value}


@pytest.mark.parametrize("kind", ["integer", "number", "boolean", "date", "timestamp"])
def test_invalid_value_error_has_example(kind: str) -> None:
    with pytest.raises(ConfigError, match=f"--param p: 'x' is not a valid {kind} \\(example"):
        bind_parameters({"p": Parameter.model_validate({"type": kind})}, {"p": "x"})


def test_missing_values_use_defaults() -> None:
    params = {"least": Parameter(type="integer", default=3), "day": Parameter(type="date")}
    assert bind_parameters(params, {}) == {"least": 3, "day": None}


def test_all_errors_are_reported_together() -> None:
    params = {"business_date": Parameter(type="date", required=True), "n": Parameter(type="integer")}
    with pytest.raises(ConfigError) as error:
        bind_parameters(params, {"busines_date": "2026-01-31", "n": "many"})
    assert str(error.value).splitlines() == [
        "--param busines_date: unknown parameter; did you mean business_date?",
        "--param business_date: is required, e.g. business_date=2026-01-31",
        "--param n: 'many' is not a valid integer (example: 42)",
    ]


def test_substitute() -> None:
    values: dict[str, ParameterValue] = {"day": date(2026, 1, 31), "full": True, "none": None}
    assert substitute("raw/{day}/{full}.csv", values, "inputs.a") == "raw/2026-01-31/true.csv"
    with pytest.raises(ConfigError, match=r"inputs.a: \{dya\} is not a parameter; known parameters: day, full, none"):
        substitute("raw/{dya}", values, "inputs.a")
    with pytest.raises(ConfigError, match=r"inputs.a: \{none\} has no value"):
        substitute("raw/{none}", values, "inputs.a")
