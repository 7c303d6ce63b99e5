"""Creation races: of several PUTs of one new entity at the same time, the server lets one win and refuses others."""

from collections import Counter


class Races:
    """The PUTs that are under way, by their path and body."""

    def __init__(self) -> None:
        self._under_way: Counter[tuple[str, bytes]] = Counter()
        self._won: set[tuple[str, bytes]] = set()

    def enter(self, path: str, body: bytes) -> tuple[str, bytes]:
        key = (path, body)
        self._under_way[key] += 1
        return key

    def lost(self, key: tuple[str, bytes]) -> bool:
        """Tell whether another one has created the entity while this one was under way."""
        return key in self._won

    def leave(self, key: tuple[str, bytes], created: bool) -> None:
        self._under_way[key] -= 1
        if created and self._under_way[key]:
            self._won.add(key)
        elif not self._under_way[key]:
            del self._under_way[key]
            self._won.discard(key)
