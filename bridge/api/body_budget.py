"""Bounds the memory of all request bodies together."""

from typing import Self

from bridge.errors import Overloaded

#: Bytes that all bodies may occupy together, as sent and decompressed.
MAX_TOTAL_BYTES = 128 << 20
#: A body up to this size is always accepted, so that events get through while others send large bodies.
_SMALL_BYTES = 64 << 10


class BodyBudget:
    """The memory that the bodies of all current requests occupy."""

    def __init__(self) -> None:
        self.used_bytes = 0


class BodyMemory:
    """The memory that the body of one request occupies; it is free again at the end of the block."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.used_bytes -= self._bytes

    def add(self, size: int) -> None:
        """Count bytes. Raises Overloaded if all bodies together are too large; a single body is always accepted."""
        self._bytes += size
        self._budget.used_bytes += size
        if MAX_TOTAL_BYTES < self._budget.used_bytes > self._bytes > _SMALL_BYTES:
            raise Overloaded(f"the requests in progress have bodies of more than {MAX_TOTAL_BYTES >> 20} MB")
