"""Runs functions in a child process, whose load and memory do not affect the service.

The processes exchange pickled tuples over pipes. The child process ends when its standard input is closed, so it does
not outlive the service.
"""

import gc
import os
import pickle
import resource
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from bridge.log import configure_log
from bridge.settings.model import LogSettings
from mappers.errors import PermanentError, TransientError

T = TypeVar("T")

#: The process ends if it was idle for this long, and after a request of this size, which returns its memory.
_IDLE_SECONDS, _LAST_REQUEST_BYTES = 30.0, 4 << 20
#: Limit of the address space. A call that needs more fails.
_MAX_ADDRESS_SPACE = 1 << 30
_PIPE_ERRORS = (EOFError, BrokenPipeError, ConnectionResetError, pickle.UnpicklingError)


class CallFailed(PermanentError):
    """The function failed in the child process, usually because it needs too much memory."""


class ChildProcess:
    """Runs one call at a time; starts the process when it is needed. Thread-safe."""

    def __init__(self, log: LogSettings) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Return the result of a module-level function or of a method of a picklable object.

        Raises CallFailed if the function fails, and TransientError if the process is closed.
        """
        request = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        with self._lock:
            try:
                result, error = _exchange(self._running_process(), request)
            except _PIPE_ERRORS as pipe_error:
                exit_code = self._end()
                if self._is_closed:
                    raise _stopped() from None
                raise CallFailed(f"the process that parses large events ended ({exit_code})") from pipe_error
            if len(request) > _LAST_REQUEST_BYTES:
                self._end()
        if error is not None:
            raise CallFailed(error)
        return cast("T", result)

    def close(self) -> None:
        """End the process, even during a call."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.kill()  # a call in progress ends, and releases the lock
        with self._lock:
            self._end()

    def _end(self) -> int | None:
        """End the process, and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        with suppress(BrokenPipeError):  # closing sends what a failed call has left in the buffer
            process.communicate()
        return process.returncode

    def _running_process(self) -> "subprocess.Popen[bytes]":
        if self._is_closed:
            raise _stopped()
        if self._process is not None:
            # It may be about to end. An empty request is answered at once, unless it has ended.
            try:
                _exchange(self._process, pickle.dumps((tuple, ())))
            except _PIPE_ERRORS:
                self._end()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bridge.intake.child_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the service, which then ends the process
            )
            _exchange(self._process, pickle.dumps((configure_log, (self._log,))))
        return self._process


def _stopped() -> TransientError:
    return TransientError("the service is stopping")


def _exchange(process: "subprocess.Popen[bytes]", request: bytes) -> tuple[object, str | None]:
    """Send a call, and return its result and error."""
    assert process.stdin is not None  # noqa: S101 - opened as pipes, which the types cannot show
    assert process.stdout is not None  # noqa: S101
    process.stdin.write(request)
    process.stdin.flush()
    result, error = pickle.load(process.stdout)  # noqa: S301 - written by our own child process
    return result, error


def _serve() -> None:
    """Answer calls until the parent closes the pipe or the process is idle."""
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_ADDRESS_SPACE, _MAX_ADDRESS_SPACE))
    gc.disable()  # parsed events have no reference cycles
    requests, responses = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not write into the pipe
    while select.select([requests], [], [], _IDLE_SECONDS)[0]:
        try:
            function, arguments = pickle.load(requests)  # noqa: S301 - written by our own parent process
        except EOFError:
            return
        result, error = None, None
        try:
            result = function(*arguments)
        except Exception as failure:  # noqa: BLE001 - the parent raises it again
            error = f"{type(failure).__name__}: {failure}".rstrip(": ")
        pickle.dump((result, error), responses, pickle.HIGHEST_PROTOCOL)
        responses.flush()
        del function, arguments, result


if __name__ == "__main__":
    _serve()
