"""Creation races: if several PUTs create the same entity concurrently, one succeeds and the server rejects the others."""

from collections import Counter


class Races:
    """PUTs in progress, by path and body."""

    def __init__(self) -> None:
        self._in_progress: Counter[tuple[str, bytes]] = Counter()
        self._won: set[tuple[str, bytes]] = set()

    def enter(self, path: str, body: bytes) -> tuple[str, bytes]:
        key = (path, body)
        self._in_progress[key] += 1
        return key

    def is_lost(self, key: tuple[str, bytes]) -> bool:
        """Whether another request created the entity in the meantime."""
        return key in self._won

    def leave(self, key: tuple[str, bytes], created: bool) -> None:
        self._in_progress[key] -= 1
        if created and self._in_progress[key]:
            self._won.add(key)
        elif not self._in_progress[key]:
            del self._in_progress[key]
            self._won.discard(key)
