"""What those who push have at hand."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bridge.store.database import Database
from bridge.sync.item import Failed, Settled
from bridge.sync.items import Items
from bridge.sync.openmetadata.rules import Rules
from bridge.sync.openmetadata.workers import Workers
from connectors.openmetadata.client import OpenMetadata
from mappers.errors import LineageBridgeError, TargetBusy, TargetRefused

NOT_FOUND = 404


class Workbench(NamedTuple):
    """The store, the server, and what is to be done."""

    db: Database
    org: str
    client: OpenMetadata
    rules: Rules
    items: Items
    workers: Workers

    def failed(self, error: LineageBridgeError) -> LineageBridgeError:
        """Take note of a failure; what something lies in that is gone may be made again, and so it is no refusal."""
        if isinstance(error, TargetRefused) and error.status == NOT_FOUND:
            return TargetBusy(str(error), NOT_FOUND)
        return self.workers.failed(error)


def missing(kind: str, results: Iterable[Settled | Failed], of: Mapping[bytes, bytes]) -> set[tuple[str, bytes]]:
    """Find what things need that the server was found not to have: given by the keys of the things."""
    return {
        (kind, of[one.item.key])
        for one in results
        if isinstance(one, Failed) and isinstance(one.error, TargetBusy) and one.error.status == NOT_FOUND
    }
