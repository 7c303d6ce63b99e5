"""Distinguishes failures that concern one item from failures of the target, separately for each kind of item."""

from collections.abc import Callable, Collection, Sequence

from bridge.sync.circuit_breaker import CircuitBreaker
from bridge.sync.sync_item import Completed, Failure, Outcome
from connectors.errors import NoResponse, TargetRejected, TargetUnavailable
from mappers.errors import LineageBridgeError

_SERVER_ERROR = 500
#: Statuses of a missing path or a missing object.
_NOT_FOUND_STATUSES = frozenset({404, 405, 410})
#: After the same failure of this many items without a success in between, the target is at fault.
_MAX_FAILING_ITEMS = 3

#: Failures with the same class may have the same cause.
FailureClass = tuple[str, ...]


def failure_class(error: LineageBridgeError) -> FailureClass | None:
    """Return the class of a failure that the item or the target may have caused; None if the cause is known.

    A message about a missing object names the object. If the message is the same for several items, the path is
    missing.
    """
    if isinstance(error, NoResponse):
        return ("no response",)
    if isinstance(error, TargetUnavailable) and error.status == _SERVER_ERROR:
        return (str(_SERVER_ERROR),)
    if isinstance(error, TargetRejected | TargetUnavailable) and error.status in _NOT_FOUND_STATUSES:
        return (str(error.status), str(error))
    return None


class KindHealth:
    """Failures of the items of one kind since the last item that was pushed."""

    def __init__(self, first_seconds: float, clock: Callable[[], int]) -> None:
        self.breaker = CircuitBreaker(first_seconds, clock)
        self._failing: dict[FailureClass, set[bytes]] = {}
        #: Items that failed before the circuit opened.
        self._affected: set[bytes] = set()
        self._pushes = 0
        #: Number of pushes before the first failure of each failing item.
        self._pushes_before: dict[bytes, int] = {}

    def record(self, results: Sequence[Completed | Failure]) -> Collection[bytes]:
        """Record the results of a batch. Return the items to push again, because the target works again."""
        failures = [result for result in results if isinstance(result, Failure) and failure_class(result.error)]
        for failure in failures:
            self._pushes_before.setdefault(failure.item.key, self._pushes)
        completed = {result.item.key for result in results if isinstance(result, Completed)}
        for key in completed:
            self._pushes_before.pop(key, None)
        if any(isinstance(result, Completed) and result.outcome is Outcome.PUSHED for result in results):
            affected, self._affected = self._affected - completed, set()
            self._pushes += 1
            self._failing.clear()
            self.breaker.record_success()
            return affected
        for failure in failures:
            class_ = failure_class(failure.error) or ()
            failing = self._failing.setdefault(class_, set())
            failing.add(failure.item.key)
            if self.breaker.half_open or (len(failing) >= _MAX_FAILING_ITEMS and not self.breaker.open):
                self.breaker.record_failure(str(failure.error))
            if self.breaker.open:
                self._affected |= failing
        return ()

    def is_caused_by_item(self, key: bytes) -> bool:
        """Return whether other items have been pushed since this one failed first."""
        return self._pushes > self._pushes_before.get(key, self._pushes)
