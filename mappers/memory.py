"""Results remembered by what they follow from, within a bound."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

K = TypeVar("K")
V = TypeVar("V")
P = ParamSpec("P")

#: Names are shorter; what is longer is somebody's mistake or attack, and would fill the memory.
_LONGEST = 512


class Memory(dict[K, V]):
    """A dictionary that forgets everything when it is full: what it held can be computed again."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self._held = 0

    def keep(self, key: K, value: V, size: int = 1) -> V:
        """Remember a value, and give it back; one that would push too much else out is not remembered."""
        if self._held + size > self._limit:
            self.clear()
            self._held = 0
        if size * 4 <= self._limit:
            self[key] = value
            self._held += size
        return value


def remembered(most: int) -> Callable[[Callable[P, V]], Callable[P, V]]:
    """Remember the results of a function of texts, as long as the texts are short."""

    def decorate(function: Callable[P, V]) -> Callable[P, V]:
        cached: Any = lru_cache(maxsize=most)(function)

        @wraps(function)
        def call(*texts: Any) -> Any:
            for text in texts:
                if len(text) > _LONGEST:
                    return function(*texts)  # type: ignore[call-arg]
            return cached(*texts)

        return call  # type: ignore[return-value]

    return decorate
