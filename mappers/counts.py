"""Counts in messages."""


def count_of(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun, such as `1 file` or `2,000 files`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
