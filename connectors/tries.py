"""Trying a call again: what passes by itself within moments need not come back later."""

import random
import time
from collections.abc import Callable

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from mappers.errors import NoAnswer, TargetBusy, Unreachable

_LEAST_SECONDS, _MOST_SECONDS = 0.1, 0.4
#: A server that wants to be left alone for longer is asked later, and not by the call that waits.
_PATIENCE_SECONDS = 2.0


def tries(attempts: int, sleep: Callable[[float], None] = time.sleep, *, again_unanswered: bool = True) -> Retrying:
    """Make what tries a call so often; one that nobody answered may be left alone, for its server may still work."""

    def passing(error: BaseException) -> bool:
        if isinstance(error, TargetBusy):
            return (error.wait_seconds or 0.0) <= _PATIENCE_SECONDS
        return again_unanswered if isinstance(error, NoAnswer) else isinstance(error, Unreachable)

    return Retrying(
        stop=stop_after_attempt(attempts),
        wait=_pause,
        retry=retry_if_exception(passing),
        sleep=sleep,
        reraise=True,
    )


def _pause(state: RetryCallState) -> float:
    """Give the time to the next try: as long as the server wants, else a moment, another one for each client."""
    error = state.outcome.exception() if state.outcome else None
    wanted = error.wait_seconds if isinstance(error, TargetBusy) else None
    return max(wanted or 0.0, random.uniform(_LEAST_SECONDS, _MOST_SECONDS))  # noqa: S311 - nobody guesses it
