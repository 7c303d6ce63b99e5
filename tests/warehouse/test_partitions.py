"""Days with separate partitions."""

from datetime import date

import pytest

from bridge.warehouse.partitions import DateRange, date_range
from connectors.errors import ConfigError

JANUARY = DateRange(date(2026, 1, 1), date(2026, 1, 31))


@pytest.mark.parametrize(
    ("today", "first", "last", "days"),
    [
        (date(2026, 1, 31), None, None, JANUARY),
        (date(2025, 12, 31), None, None, DateRange(date(2025, 12, 1), date(2025, 12, 31))),
        (date(2024, 2, 1), None, None, DateRange(date(2024, 2, 1), date(2024, 2, 29))),
        (date(1999, 1, 1), JANUARY.first, None, JANUARY),
        (date(1999, 1, 1), None, JANUARY.last, JANUARY),
        (date(1999, 1, 1), date(2026, 1, 1), date(2027, 1, 1), DateRange(date(2026, 1, 1), date(2027, 1, 1))),
    ],
)
def test_default_days_are_those_of_a_month(
    today: date, first: date | None, last: date | None, days: DateRange
) -> None:
    assert date_range(today, first, last) == days


def test_reversed_days_are_an_error() -> None:
    with pytest.raises(ConfigError, match="--from-day 2026-01-31 is after --to-day 2026-01-01"):
        date_range(date(2026, 1, 1), JANUARY.last, JANUARY.first)
