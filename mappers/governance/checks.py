"""Names of quality checks."""

from typing import Literal, get_args

#: Checks that the process framework runs.
CheckKind = Literal["not_null", "unique", "accepted_values", "range", "row_count", "freshness", "referential", "sql"]
CHECK_KINDS: tuple[str, ...] = get_args(CheckKind)
#: The generic test of dbt that has another name here.
_DBT_TESTS = frozenset({"relationships"})
#: Checks of Great Expectations.
_EXPECTATION_PREFIX = "expect_"


def is_standard_check(name: str) -> bool:
    """Return True for the checks of the process framework, of dbt and of Great Expectations."""
    return name in CHECK_KINDS or name in _DBT_TESTS or name.startswith(_EXPECTATION_PREFIX)
