"""A backup of a stand-in for OpenMetadata: all that it knew at a time, and may know again."""

import copy
from typing import Any

from tests.standins.openmetadata import OpenMetadata as StandIn


class Backup:
    """All that a server knew when this was made."""

    def __init__(self, standin: StandIn) -> None:
        self._held = vars(standin.store)
        with standin.store.lock:
            self._kept = self._copy({name: value for name, value in self._held.items() if name != "lock"})

    def restore(self) -> None:
        """Let the server know that again, and nothing of what came since."""
        with self._held["lock"]:
            self._held.update(self._copy(self._kept))

    def _copy(self, of: dict[str, Any]) -> dict[str, Any]:
        kinds = {id(entity.kind): entity.kind for entity in of["by_id"].values()}
        return copy.deepcopy(of, kinds)
