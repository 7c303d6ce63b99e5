"""How good data is, in one number."""

from collections.abc import Mapping


def score_of(counts: Mapping[str, int]) -> float | None:
    """Give the quality score, 0 to 100, of how the newest results ended; one that was left out counts nothing.

    It is the part of the checks that passed, one that warned counting half; None where none passed or failed.
    """
    passed, warned, failed = (counts.get(status, 0) for status in ("PASS", "WARN", "FAIL"))
    ended = passed + warned + failed
    return round(100 * (passed + warned / 2) / ended, 1) if ended else None
