"""Results remembered by what they follow from, within a bound."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memory(dict[K, V]):
    """A dictionary that forgets everything when it is full: what it held can be computed again."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def keep(self, key: K, value: V) -> V:
        """Remember a value, and give it back."""
        if len(self) >= self._limit:
            self.clear()
        self[key] = value
        return value
