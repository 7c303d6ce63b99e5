"""Compares pushed observations with those the server returns."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from itertools import groupby
from typing import NamedTuple

from bridge.sync.item_queries import PushedObservation, items_with_history, pushed_observations
from bridge.sync.openmetadata.context import ObservationLocation, OpenMetadataContext, contains, of, stale_locations
from bridge.sync.openmetadata.restored_entities import AGAIN
from bridge.sync.sync_item import Outcome, SyncItem
from bridge.sync.target import ComparedBatch, Difference
from mappers.canonical.identity import run_id
from mappers.canonical_json import JsonObject

#: How many things of a moment are compared at a time, and so the most that are asked for in one call.
_AT_ONCE = 500


class ObservationKind(NamedTuple):
    """A kind of things that are told of moments: how they are asked for, and what was told."""

    kind: str
    #: Gives what an entity has from one time to another; None when it is not there itself.
    ask: Callable[[str, int, int], list[JsonObject] | None]
    #: Gives what was told of items, of those that would be told the same now.
    expected_bodies: Callable[[Sequence[SyncItem]], dict[bytes, JsonObject]]


class ObservationComparison:
    """Says what is not told as it was; calls run in the threads of a pool. Not for several threads at once.

    Of an entity no more is asked for than the times that are known: the server gives all of a time at once.
    """

    def __init__(self, at: OpenMetadataContext, target: str, pool: Executor) -> None:
        self._at = at
        self._target = target
        self._pool = pool

    def compare(self, moments: ObservationKind) -> Iterator[ComparedBatch]:
        """Compare all that was told of one kind."""
        for page in pushed_observations(self._at.db, self._at.org, self._target, moments.kind, _AT_ONCE):
            windows = [list(window) for _, window in groupby(page, lambda one: one.remote.id.rpartition("/")[0])]
            items = self._at.items.get(moments.kind, [one.key for one in page])
            said = moments.expected_bodies(list(items.values()))
            asked = self._pool.map(lambda window: _ask(moments, window), windows)
            found = [
                Difference(moments.kind, one.key, _named(one), what)
                for window, there in zip(windows, asked, strict=True)
                if there is not None  # else the entity is told of by itself
                for one in window
                if (what := self._what(said.get(one.key), there.get(one.timestamp, ())))
            ]
            yield ComparedBatch(moments.kind, len(page), found)

    def _what(self, said: JsonObject | None, there: Sequence[JsonObject]) -> str | None:
        """Say what is wrong at the time of which something was told."""
        if not there:
            return "is not there"
        if said is None or any(contains(said, row) for row in there):
            return None
        return None if all(map(self._is_theirs, there)) else "says otherwise"

    def _is_theirs(self, row: JsonObject) -> bool:
        """Tell whether a status is of a run that others know: theirs stays, though it took the place of ours."""
        if "executionStatus" not in row:
            return False
        try:
            run = run_id(self._at.org, str(row.get("executionId")))
        except ValueError:
            return True
        return run not in self._at.items.get("run", [run])

    def taken_back(self, moments: ObservationKind) -> Iterator[ComparedBatch]:
        """Look whether anything is told where it once was and is no more."""
        for keys in items_with_history(self._at.db, self._at.org, self._target, moments.kind, _AT_ONCE):
            items = self._at.items.get(moments.kind, keys).values()
            places = [(item, place) for item in items for place in self._places(item)]
            asked = self._pool.map(lambda one: moments.ask(one[1].of, one[1].timestamp, one[1].timestamp), places)
            found = [
                Difference(moments.kind, item.key, f"{place.of} at {place.timestamp}", AGAIN)
                for (item, place), there in zip(places, asked, strict=True)
                if any(self._is_of(item, row) for row in there or ())
            ]
            yield ComparedBatch(moments.kind, len(places), found)

    def _places(self, item: SyncItem) -> list[ObservationLocation]:
        """Give the places where an item may be told beside the one where it is."""
        if item.remote is not None and item.outcome not in (Outcome.PUSHED, Outcome.UNCHANGED):
            return []  # it was left as it was told
        return stale_locations(self._at.items, item._replace(fingerprint=None), item.remote and of(item.remote))

    def _is_of(self, item: SyncItem, row: JsonObject) -> bool:
        """Tell whether a status is of this run; of a test case of ours nobody else tells results."""
        if item.kind != "run":
            return True
        try:
            return run_id(self._at.org, str(row.get("executionId"))) == item.key
        except ValueError:
            return False


def _ask(moments: ObservationKind, window: Sequence[PushedObservation]) -> dict[int, list[JsonObject]] | None:
    """Ask for the times of a window, in which all is of one entity."""
    times = [one.timestamp for one in window]
    rows = moments.ask(window[0].remote.name, min(times), max(times))
    if rows is None:
        return None
    there: dict[int, list[JsonObject]] = {}
    for row in rows:
        there.setdefault(int(row["timestamp"]), []).append(row)
    return there


def _named(one: PushedObservation) -> str:
    return f"{one.remote.name} at {one.timestamp}"
