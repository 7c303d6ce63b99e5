"""Takes from a source again and again, until it is told to stop."""

import threading
from collections.abc import Callable

from bridge.intake.source import Report, Source
from mappers.errors import TransientError


def follow(
    source: Source,
    every_seconds: float,
    told: Callable[[Report], None],
    failed: Callable[[TransientError], None],
    stopped: threading.Event,
) -> None:
    """Take what is new, and what does not answer later; each time it is told what came of it."""
    while not stopped.is_set():
        try:
            told(source.once())
        except TransientError as error:
            failed(error)
        stopped.wait(every_seconds)
