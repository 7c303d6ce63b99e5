"""Context that all pushers of a target share."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, NamedTuple, TypeVar

from bridge.store.database import Database
from bridge.sync.item_store import SyncItemStore
from bridge.sync.request_pool import RequestPool
from bridge.sync.sync_item import Completed, DesiredItem, Failure, failed

ClientT = TypeVar("ClientT")
OptionsT = TypeVar("OptionsT")
DesiredT = TypeVar("DesiredT", bound=DesiredItem)


class TargetContext(NamedTuple, Generic[ClientT, OptionsT]):
    """Store, client, options, items and threads of a target."""

    db: Database
    org: str
    target: str
    client: ClientT
    options: OptionsT
    items: SyncItemStore
    requests: RequestPool
    pool: Executor

    def push_each(
        self,
        planned: Sequence[DesiredT | Completed | Failure],
        send: Callable[[DesiredT], Completed | Failure],
    ) -> list[Completed | Failure]:
        """Send the desired items in parallel; the returned list starts with the results that the plan contains."""
        results, desired = split_plan(planned)
        return results + self.requests.map(send, desired, failed)


def split_plan(
    planned: Sequence[DesiredT | Completed | Failure],
) -> tuple[list[Completed | Failure], list[DesiredT]]:
    """Split a plan into results that need no request, and desired items."""
    results: list[Completed | Failure] = []
    desired: list[DesiredT] = []
    for entry in planned:
        if isinstance(entry, Completed | Failure):
            results.append(entry)
        else:
            desired.append(entry)
    return results, desired
