"""Size-bounded caches for results derived from content."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

K = TypeVar("K")
V = TypeVar("V")
P = ParamSpec("P")

#: Longer strings are not cached: real names are shorter, and hostile input could fill the memory.
_MAX_CHARACTERS = 512


class BoundedCache(dict[K, V]):
    """A cache that is cleared when the total size of its values would exceed `limit`."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self._size = 0

    def put(self, key: K, value: V, size: int = 1) -> V:
        """Cache a value and return it; a value larger than a quarter of the limit is not cached."""
        if self._size + size > self._limit:
            self.clear()
            self._size = 0
        if size * 4 <= self._limit:
            self[key] = value
            self._size += size
        return value


def bounded_lru_cache(maxsize: int) -> Callable[[Callable[P, V]], Callable[P, V]]:
    """Cache the results of a function of strings; calls with a string of more than 512 characters are not cached."""

    def decorate(function: Callable[P, V]) -> Callable[P, V]:
        cached_function: Any = lru_cache(maxsize=maxsize)(function)

        @wraps(function)
        def call(*arguments: Any) -> Any:
            for argument in arguments:
                if len(argument) > _MAX_CHARACTERS:
                    return function(*arguments)  # type: ignore[call-arg]
            return cached_function(*arguments)

        return call  # type: ignore[return-value]

    return decorate
