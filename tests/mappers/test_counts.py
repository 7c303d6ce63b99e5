"""Counts in messages."""

import pytest

from mappers.counts import count_of


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [
        (0, ("run",), "0 runs"),
        (1, ("run",), "1 run"),
        (12_000, ("run",), "12,000 runs"),
        (1, ("process", "processes"), "1 process"),
        (2, ("process", "processes"), "2 processes"),
    ],
)
def test_noun_agrees_with_count(count: int, words: tuple[str, ...], text: str) -> None:
    assert count_of(count, *words) == text
