"""Law 3: an application that was only mentioned has the same status and times in any order of arrival."""

import itertools
from typing import Any

import pytest

from bridge.store.run_history import recent_runs
from tests.factories import Json, action, app
from tests.stores import Store

CASES: dict[str, list[Json]] = {
    "mentioned": [
        action("START", 1),
        action("FAIL", 3, "boom"),
        action("COMPLETE", 4, run=3),
        action("START", 2, run=3),
    ],
    "reported late": [action("START", 2), action("COMPLETE", 3), app("START", 1), app("COMPLETE", 4)],
    "action without parent first": [
        action("START", 1) | {"run": {"runId": action("START", 1)["run"]["runId"], "facets": {}}},
        action("COMPLETE", 3),
        action("FAIL", 4, run=3),
    ],
}


def _runs(store: Store) -> list[tuple[Any, ...]]:
    return [tuple(run) for run in recent_runs(store.db, store.org, 9)]


@pytest.mark.parametrize("events", CASES.values(), ids=CASES)
def test_3_mentioned_run_is_the_same_in_any_order(store: Store, events: list[Json]) -> None:
    store.apply_each(*reversed(events))
    expected = _runs(store)
    assert len(expected) == 1
    for order in itertools.permutations(events):
        with Store() as other:
            other.apply_each(*order)
            assert _runs(other) == expected
