"""Compares expected columns with actual ones."""

from collections.abc import Mapping

from mappers.naming import suggest_name

#: Types that the OpenLineage listener and Spark name differently.
_SPARK_TYPE_NAMES = {"long": "bigint", "integer": "int", "byte": "tinyint", "short": "smallint"}


def column_problems(label: str, expected: Mapping[str, str], actual: Mapping[str, str]) -> list[str]:
    """Report missing columns, and columns with a different type."""
    types_by_name = {name.lower(): type_ for name, type_ in actual.items()}
    problems = []
    for name, expected_type in expected.items():
        actual_type = types_by_name.get(name.lower())
        if actual_type is None:
            problems.append(f"{label}: column {name} is missing; {suggest_name(name, actual, 'columns')}")
        elif normalize_type(actual_type) != normalize_type(expected_type):
            problems.append(f"{label}: column {name} has type {actual_type}, expected {expected_type}")
    return problems


def normalize_type(type_: str) -> str:
    """Return the Spark name of a type in lower case and without spaces."""
    compact_type = type_.lower().replace(" ", "")
    return _SPARK_TYPE_NAMES.get(compact_type, compact_type)
