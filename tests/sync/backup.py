"""Backup and restore of the OpenMetadata stand-in."""

import copy
from typing import Any

from tests.standins.openmetadata import OpenMetadata as StandIn


class Backup:
    """State of the stand-in when the backup was created."""

    def __init__(self, standin: StandIn) -> None:
        self._state = vars(standin.store)
        with standin.store.lock:
            self._copied = self._copy({name: value for name, value in self._state.items() if name != "lock"})

    def restore(self) -> None:
        """Replace the current state with the backup."""
        with self._state["lock"]:
            self._state.update(self._copy(self._copied))

    def _copy(self, state: dict[str, Any]) -> dict[str, Any]:
        kinds = {id(entity.kind): entity.kind for entity in state["by_id"].values()}
        return copy.deepcopy(state, kinds)
