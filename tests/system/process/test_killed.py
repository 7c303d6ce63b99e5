"""A run that is interrupted at any backend call publishes all of its outputs or none."""

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

from bridge.errors import StoreFull
from bridge.process.backend import ProcessBackend
from bridge.queries.query import Query
from bridge.queries.versions import VersionsQuery
from bridge.versions.command import Command
from connectors.errors import NoResponse, Unreachable
from tests.system.process.spark_harness import RAW_INPUT, SparkHarness

pytestmark = [
    pytest.mark.system("java", "spark"),
    pytest.mark.timeout(600),
    # Py4J leaves the sockets of its gateway to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

A = TypeVar("A")
TWO_OUTPUTS = f"""
{RAW_INPUT}
steps: [{{name: made, sql: "SELECT id, amount FROM raw"}}]
outputs: [{{dataset: first, from: made}}, {{dataset: second, from: made, mode: append}}]
quality: [{{on: first, check: unique, column: id}}]
"""


class SimulatedKill(BaseException):
    """Simulates kill -9: no handler catches it."""


class FailingBackend:
    """Backend that fails at one of its calls, before or after executing it."""

    def __init__(self, backend: ProcessBackend, call: int, error: BaseException, *, execute: bool) -> None:
        self._backend = backend
        self._calls_left = call
        self._error = error
        self._execute = execute

    def _call(self, method: Any, argument: Any) -> Any:
        self._calls_left -= 1
        if self._calls_left != 0:
            return method(argument)
        if self._execute:
            method(argument)
        raise self._error

    def query(self, query: Query[A]) -> A:
        result: A = self._call(self._backend.query, query)
        return result

    def execute(self, command: Command[A]) -> A:
        result: A = self._call(self._backend.execute, command)
        return result

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        errors: list[str] = self._call(self._backend.send_events, events)
        return errors

    def close(self) -> None:
        """Nothing to close."""


def count_backend_calls(harness: SparkHarness) -> int:
    """Number of backend calls of a run after planning."""
    backend = FailingBackend(harness.backend, 1 << 30, SimulatedKill(), execute=False)
    harness.runner(harness.plan(TWO_OUTPUTS), backend).run()
    return (1 << 30) - backend._calls_left


def published_versions(harness: SparkHarness) -> tuple[str | None, str | None]:
    return harness.published("first"), harness.published("second")


@pytest.mark.parametrize("execute", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "error",
    [SimulatedKill(), Unreachable("down"), NoResponse("down"), StoreFull("no room")],
    ids=lambda error: type(error).__name__,
)
def test_interrupted_run_publishes_all_outputs_or_none(
    harness: SparkHarness, error: BaseException, execute: bool
) -> None:
    call_count = count_backend_calls(harness)
    rows = [row[0] for row in harness.rows("second")]
    for call in range(1, call_count + 1):
        before = published_versions(harness)
        rows.append(100 + call)
        harness.write_raw(f"id,account,amount,day\n{100 + call},a,1,2026-01-31\n")
        plan = harness.plan(TWO_OUTPUTS)
        with pytest.raises(type(error)):
            harness.runner(plan, FailingBackend(harness.backend, call, error, execute=execute)).run()
        new = tuple(output.tag for output in plan.outputs)
        assert published_versions(harness) in (before, new), f"call {call}"
        if published_versions(harness) == before:
            assert [row[0] for row in harness.rows("second")] == rows[:-1], f"call {call}"
        result = harness.run(TWO_OUTPUTS)
        assert published_versions(harness) == tuple(output.version for output in result.outputs)
        assert ([row[0] for row in harness.rows("first")], [row[0] for row in harness.rows("second")]) == (
            [rows[-1]],
            rows,
        )
    for dataset in ("first", "second"):
        versions = harness.backend.query(
            VersionsQuery(namespace="file", name=harness.path(dataset), limit=1000)
        ).items
        keys = [version.idempotency_key for version in versions]
        assert len(keys) == len(set(keys)) == call_count + 1, "one version per plan"


def test_duplicate_completion_creates_one_version(harness: SparkHarness) -> None:
    sent: list[bytes] = []

    class DuplicatingBackend(FailingBackend):
        def send_events(self, events: Sequence[bytes]) -> list[str]:
            sent.extend(events)
            return self._backend.send_events([*events, *events])

    harness.runner(
        harness.plan(TWO_OUTPUTS), DuplicatingBackend(harness.backend, -1, SimulatedKill(), execute=False)
    ).run()
    harness.backend.send_events(sent)
    for dataset in ("first", "second"):
        assert len(harness.backend.query(VersionsQuery(namespace="file", name=harness.path(dataset))).items) == 1
