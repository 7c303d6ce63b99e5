"""Faults that tests inject into any stand-in: stalls, resets, errors and HTML pages."""

import random
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

HTML = "<html><head><title>Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"


@dataclass(frozen=True)
class Fault:
    """Misbehaviour for one request; the parts can be combined."""

    #: Wait this long before processing.
    seconds: float = 0.0
    #: Wait until this event is set.
    until: threading.Event | None = None
    #: Close the connection without a response.
    reset: bool = False
    #: Process the request before the reset or error, so the client does not learn that it was applied.
    applied: bool = False
    #: Respond with this status instead.
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    #: OpenMetadata only: names of bulk rows that fail -> message.
    rows: dict[str, str] = field(default_factory=dict)
    #: OpenMetadata only: expire the token of this request.
    expire: bool = False
    #: Marquez only: write the event to the log, but not to the model.
    log_only: bool = False


def stall(seconds: float = 0.0, until: threading.Event | None = None) -> Fault:
    """Delay the response, as a slow server does."""
    return Fault(seconds=seconds, until=until)


def reset(applied: bool = False) -> Fault:
    """Close the connection without a response, before or after the request is applied."""
    return Fault(reset=True, applied=applied)


def error(status: int, message: str = "", applied: bool = False, retry_after: int | None = None) -> Fault:
    """Respond with a JSON error; 429 comes with Retry-After."""
    if retry_after is None and status == 429:
        retry_after = 1
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    body = {"code": status, "message": message or f"HTTP {status}"}
    return Fault(status=status, headers=headers, body=body, applied=applied)


def html(status: int = 200, applied: bool = False) -> Fault:
    """Respond with the HTML page of a proxy instead of JSON."""
    return Fault(status=status, body=HTML, applied=applied)


#: Chooses the fault by number of the request (from 1), method and path.
Plan = Callable[[int, str, str], Fault | None]
_SLOW_SECONDS = 1.0


def random_faults(share: float, seed: int = 1) -> Plan:
    """Plan in which a share of all requests fails in various ways, reproducible by seed."""
    rng = random.Random(seed)
    faults = (error(503), error(500), reset(), reset(applied=True), stall(_SLOW_SECONDS))

    def plan(number: int, method: str, path: str) -> Fault | None:
        return rng.choice(faults) if rng.random() < share else None

    return plan


@dataclass
class _Rule:
    fault: Fault
    method: str | None
    path: str
    times: int


class Faults:
    """Faults of coming requests: one-time rules, and a plan for the other requests."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()

    def next(self, fault: Fault, *, method: str | None = None, path: str = "", times: int = 1) -> None:
        """Inject a fault into the next `times` requests with this method whose path contains this text."""
        with self._lock:
            self._rules.append(_Rule(fault, method, path, times))

    def script(self, faults: Iterable[Fault | None]) -> None:
        """Inject these faults into the coming requests, in order; None means no fault."""
        for fault in faults:
            self.next(fault or Fault())

    @property
    def pending(self) -> bool:
        """Whether any fault is left."""
        with self._lock:
            return bool(self._rules) or self.plan is not None

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()
            self.plan = None

    def fault_for(self, number: int, method: str, path: str) -> Fault:
        """Return the fault of a request and use up its rule."""
        with self._lock:
            for rule in self._rules:
                if rule.method in (None, method) and rule.path in path:
                    rule.times -= 1
                    if rule.times == 0:
                        self._rules.remove(rule)
                    return rule.fault
        return (self.plan(number, method, path) if self.plan else None) or Fault()
