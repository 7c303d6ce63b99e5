"""Context that all pushers of a target share, and the pool that sends their requests."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from bridge.store.database import Database
from bridge.sync.item_store import SyncItemStore
from bridge.sync.sync_item import Completed, DesiredItem, Failure, failed
from connectors.errors import NoResponse, TargetMisconfigured, TargetRejected, TargetUnavailable, Unreachable
from mappers.errors import LineageBridgeError

T = TypeVar("T")
R = TypeVar("R")
ClientT = TypeVar("ClientT")
OptionsT = TypeVar("OptionsT")
DesiredT = TypeVar("DesiredT", bound=DesiredItem)

_UNAVAILABLE = frozenset({502, 503, 504})
_NOT_FOUND, _SERVER_ERROR = 404, 500
#: After this many requests without a response, the rest of a batch is postponed.
_MAX_UNANSWERED = 8


class RequestPool:
    """Sends the requests of a batch in parallel.

    If the server becomes unavailable, the remaining requests fail without being sent.
    """

    def __init__(
        self,
        pool: Executor,
        probe: Callable[[], None],
        translate: Callable[[LineageBridgeError], LineageBridgeError] = lambda error: error,
    ) -> None:
        self._pool = pool
        self._probe = probe
        #: Replaces errors that this target handles differently, before they are reported.
        self._translate = translate
        self._lock = Lock()
        self._unanswered = 0
        self._probed = False
        #: Error that stopped the current batch, if any.
        self.unavailable: LineageBridgeError | None = None

    def start_batch(self) -> None:
        """Reset the state of the previous batch."""
        self.unavailable, self._unanswered, self._probed = None, 0, False

    def record_failure(self, error: LineageBridgeError) -> LineageBridgeError:
        """Record a failure and return the error to report.

        A request without a response is reported as an outage if the server turns out to be unavailable.
        """
        error = self._translate(error)
        is_unavailable = isinstance(error, TargetUnavailable) and error.status in _UNAVAILABLE
        if isinstance(error, NoResponse):
            with self._lock:
                self.unavailable = self.unavailable or self._error_after_no_response(error)
            return self.unavailable or error
        if is_unavailable or isinstance(error, TargetMisconfigured | Unreachable):
            self.unavailable = self.unavailable or error
        return error

    def server_responds(self) -> bool:
        """Return whether a failure is due to the request, not the server; probes the server once per batch."""
        with self._lock:
            if self.unavailable is None and not self._probed:
                self._probed = True
                try:
                    self._probe()
                except LineageBridgeError as probe_error:
                    self.unavailable = probe_error
        return self.unavailable is None

    def _error_after_no_response(self, error: NoResponse) -> LineageBridgeError | None:
        """Count a request without a response. Return an error if the server now counts as unavailable."""
        self._unanswered += 1
        if self._unanswered == 1:
            try:
                self._probe()
            except LineageBridgeError as probe_error:
                return Unreachable(str(probe_error)) if isinstance(probe_error, NoResponse) else probe_error
        if self._unanswered >= _MAX_UNANSWERED:
            return TargetUnavailable(f"many requests got no response: {error}", 0)
        return None

    def map(
        self, send: Callable[[T], R], requests: Iterable[T], on_error: Callable[[T, LineageBridgeError], R]
    ) -> list[R]:
        """Send each request; `on_error` supplies the results of failed and unsent requests."""
        return list(self._pool.map(lambda request: self._send_one(send, request, on_error), requests))

    def send_in_order(
        self, send: Callable[[T], R], requests: Iterable[T], on_error: Callable[[T, LineageBridgeError], R]
    ) -> list[R]:
        """Send requests one after the other; a failed request does not block later ones."""
        return [self._send_one(send, request, on_error) for request in requests]

    def _send_one(self, send: Callable[[T], R], request: T, on_error: Callable[[T, LineageBridgeError], R]) -> R:
        if self.unavailable is not None:
            return on_error(request, self.unavailable)
        try:
            return send(request)
        except LineageBridgeError as error:
            return on_error(request, self.record_failure(error))

    def send_in_halves(
        self,
        batch: Sequence[T],
        send: Callable[[Sequence[T]], list[R]],
        on_error: Callable[[Sequence[T], LineageBridgeError], list[R]],
    ) -> list[R]:
        """Send a batch in one request; if the server rejects it as a whole, halve it until the cause is found."""
        try:
            return send(batch)
        except LineageBridgeError as error:
            if len(batch) == 1 or not self._is_caused_by_content(error):
                return on_error(batch, self.record_failure(error))
        half = len(batch) // 2
        return [
            *self.send_in_halves(batch[:half], send, on_error),
            *self.send_in_halves(batch[half:], send, on_error),
        ]

    def _is_caused_by_content(self, error: LineageBridgeError) -> bool:
        """True if a part of the request may be the cause; a missing parent fails every part."""
        if isinstance(error, TargetUnavailable):
            return error.status == _SERVER_ERROR and self.server_responds()
        return isinstance(error, TargetRejected) and error.status != _NOT_FOUND


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
        """Send the planned items that are not completed yet in parallel; return the results of all planned items."""
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
