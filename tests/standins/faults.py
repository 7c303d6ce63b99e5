"""What a test lets go wrong with any stand-in: stalls, resets, errors, pages."""

import random
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

HTML = "<html><head><title>Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong with one request; the parts can be combined."""

    #: Wait this long before anything else happens.
    seconds: float = 0.0
    #: Wait until this is set; whoever sets it goes on.
    until: threading.Event | None = None
    #: Close the connection without an answer.
    reset: bool = False
    #: Do what was asked for before the reset or the error: the client does not learn that it was done.
    applied: bool = False
    #: Answer this instead.
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    #: Of OpenMetadata: names of rows of a bulk that fail, with the message.
    rows: dict[str, str] = field(default_factory=dict)
    #: Of OpenMetadata: let the token of this request be expired from now on.
    expire: bool = False
    #: Of Marquez: write the event to the log, and nothing else.
    log_only: bool = False


def stall(seconds: float = 0.0, until: threading.Event | None = None) -> Fault:
    """Wait, then answer as usual: a slow server."""
    return Fault(seconds=seconds, until=until)


def reset(applied: bool = False) -> Fault:
    """Close the connection without an answer, before or after the request is applied."""
    return Fault(reset=True, applied=applied)


def error(status: int, message: str = "", applied: bool = False, retry_after: int | None = None) -> Fault:
    """Answer an error as a server or a proxy does; 429 comes with Retry-After."""
    if retry_after is None and status == 429:
        retry_after = 1
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    body = {"code": status, "message": message or f"HTTP {status}"}
    return Fault(status=status, headers=headers, body=body, applied=applied)


def html(status: int = 200, applied: bool = False) -> Fault:
    """Answer a page of a proxy instead of JSON."""
    return Fault(status=status, body=HTML, applied=applied)


#: Decides what goes wrong, by the number of the request (from 1), its method and its path.
Plan = Callable[[int, str, str], Fault | None]
_SLOW_SECONDS = 1.0


def failing(share: float, seed: int = 1) -> Plan:
    """Let a share of all requests go wrong, each in another way; the same ones for the same seed."""
    chance = random.Random(seed)
    ways = (error(503), error(500), reset(), reset(applied=True), stall(_SLOW_SECONDS))

    def plan(number: int, method: str, path: str) -> Fault | None:
        return chance.choice(ways) if chance.random() < share else None

    return plan


@dataclass
class _Rule:
    fault: Fault
    method: str | None
    path: str
    times: int


class Faults:
    """The faults to come: a plan of one's own, and rules that are used up."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()

    def next(self, fault: Fault, *, method: str | None = None, path: str = "", times: int = 1) -> None:
        """Let the next requests meet a fault: those of this method whose path contains this text."""
        with self._lock:
            self._rules.append(_Rule(fault, method, path, times))

    def script(self, faults: Iterable[Fault | None]) -> None:
        """Let the coming requests meet these faults, one after the other; None is none."""
        for fault in faults:
            self.next(fault or Fault())

    @property
    def pending(self) -> bool:
        """Whether any request is still to meet a fault."""
        with self._lock:
            return bool(self._rules) or self.plan is not None

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()
            self.plan = None

    def of(self, number: int, method: str, path: str) -> Fault:
        """Give what goes wrong with this request."""
        with self._lock:
            for rule in self._rules:
                if rule.method in (None, method) and rule.path in path:
                    rule.times -= 1
                    if rule.times == 0:
                        self._rules.remove(rule)
                    return rule.fault
        return (self.plan(number, method, path) if self.plan else None) or Fault()
