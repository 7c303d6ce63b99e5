"""A run that ends in the middle, wherever that is: what was published stays, or what is new is, and never a mixture."""

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

from bridge.errors import StoreFull
from bridge.process.backend import ProcessBackend
from bridge.queries.query import Query
from bridge.queries.versions import VersionsQuery
from bridge.versions.command import Command
from connectors.errors import NoResponse, Unreachable
from tests.system.process.works import READ, Works

pytestmark = [
    pytest.mark.system("java", "spark"),
    pytest.mark.timeout(600),
    # Py4J leaves the sockets of its gateway to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

A = TypeVar("A")
TWO = f"""
{READ}
steps: [{{name: made, sql: "SELECT id, amount FROM raw"}}]
outputs: [{{dataset: first, from: made}}, {{dataset: second, from: made, mode: append}}]
quality: [{{on: first, check: unique, column: id}}]
"""


class Killed(BaseException):
    """What nobody in the process hears of, as kill -9."""


class Severed:
    """A link that breaks at one of its calls: before it is done, or after it is and before anybody knows."""

    def __init__(self, link: ProcessBackend, call: int, error: BaseException, *, done: bool) -> None:
        self._link = link
        self._left = call
        self._error = error
        self._done = done

    def _call(self, what: Any, given: Any) -> Any:
        self._left -= 1
        if self._left != 0:
            return what(given)
        if self._done:
            what(given)
        raise self._error

    def query(self, question: Query[A]) -> A:
        found: A = self._call(self._link.query, question)
        return found

    def execute(self, order: Command[A]) -> A:
        found: A = self._call(self._link.execute, order)
        return found

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        refused: list[str] = self._call(self._link.send_events, events)
        return refused

    def close(self) -> None:
        """Nothing is held."""


def calls_of_a_run(works: Works) -> int:
    """Count what a run tells and asks once its plan is made."""
    severed = Severed(works.backend, 1 << 30, Killed(), done=False)
    works.runner(works.plan(TWO), severed).run()
    return (1 << 30) - severed._left


def pair(works: Works) -> tuple[str | None, str | None]:
    return works.published("first"), works.published("second")


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "error",
    [Killed(), Unreachable("down"), NoResponse("down"), StoreFull("no room")],
    ids=lambda one: type(one).__name__,
)
def test_wherever_a_run_ends_it_is_published_whole_or_not_at_all_and_rerun_clean(
    works: Works, error: BaseException, done: bool
) -> None:
    most = calls_of_a_run(works)
    rows = [one[0] for one in works.rows("second")]
    for call in range(1, most + 1):
        before = pair(works)
        rows.append(100 + call)
        works.raw(f"id,account,amount,day\n{100 + call},a,1,2026-01-31\n")
        plan = works.plan(TWO)
        with pytest.raises(type(error)):
            works.runner(plan, Severed(works.backend, call, error, done=done)).run()
        new = tuple(one.tag for one in plan.outputs)
        assert pair(works) in (before, new), f"call {call}"
        if pair(works) == before:
            assert [one[0] for one in works.rows("second")] == rows[:-1], f"call {call}"
        ran = works.run(TWO)
        assert pair(works) == tuple(one.version for one in ran.outputs)
        assert ([one[0] for one in works.rows("first")], [one[0] for one in works.rows("second")]) == (
            [rows[-1]],
            rows,
        )
    for dataset in ("first", "second"):
        versions = works.backend.query(VersionsQuery(namespace="file", name=works.path(dataset), limit=1000)).items
        keys = [one.idempotency_key for one in versions]
        assert len(keys) == len(set(keys)) == most + 1, "one version for each that was wanted"


def test_a_completion_that_is_told_twice_is_one_version(works: Works) -> None:
    told: list[bytes] = []

    class Twice(Severed):
        def send_events(self, events: Sequence[bytes]) -> list[str]:
            told.extend(events)
            return self._link.send_events([*events, *events])

    works.runner(works.plan(TWO), Twice(works.backend, -1, Killed(), done=False)).run()
    works.backend.send_events(told)
    for dataset in ("first", "second"):
        assert len(works.backend.query(VersionsQuery(namespace="file", name=works.path(dataset))).items) == 1
