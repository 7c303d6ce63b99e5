"""Failures that may be caused by the item or by the target."""

import pytest

from bridge.sync.kind_health import failure_class
from connectors.errors import NoResponse, TargetMisconfigured, TargetRejected, TargetUnavailable
from mappers.errors import LineageBridgeError


@pytest.mark.parametrize(
    "error",
    [
        TargetRejected("send: 422 eventType must not be null", 422),
        TargetRejected("send: 500 Unable to process JSON", 500),  # Marquez, with code 400 in the body
        TargetUnavailable("send: 503", 503),
        TargetMisconfigured("send: 401"),
    ],
)
def test_cause_of_the_failure_is_known(error: LineageBridgeError) -> None:
    assert failure_class(error) is None


@pytest.mark.parametrize(
    ("error", "other"),
    [
        (NoResponse("reset"), NoResponse("timed out")),
        (TargetUnavailable("send: 500 a", 500), TargetUnavailable("send: 500 b", 500)),
        (TargetRejected("send: 404 HTTP 404 Not Found", 404), TargetRejected("send: 404 HTTP 404 Not Found", 404)),
    ],
)
def test_failures_may_have_the_same_cause(error: LineageBridgeError, other: LineageBridgeError) -> None:
    assert failure_class(error) == failure_class(other) is not None


def test_missing_objects_are_different_failures() -> None:
    assert failure_class(TargetRejected("404 table a", 404)) != failure_class(TargetRejected("404 table b", 404))
