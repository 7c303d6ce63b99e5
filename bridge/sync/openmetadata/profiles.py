"""Brings figures to OpenMetadata: a profile of a table each, never the same one twice.

The server adds a row for each profile that it is told, of a time that it knows, too. So a profile whose fate is not
known is looked for before it is told again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bridge.sync.item import GIVEN_UP, Failed, Item, Outcome, Remote, Settled
from bridge.sync.openmetadata.ends import Ends
from bridge.sync.openmetadata.wanted import fingerprint
from bridge.sync.openmetadata.workbench import Workbench, missing
from bridge.sync.profiles import StoredProfile, read_profiles
from bridge.sync.target import Pushed
from connectors.openmetadata.calls import Entity
from mappers.errors import LineageBridgeError, TargetRefused
from mappers.openmetadata.profiles import Figures, profile

_TYPE = "tableProfile"


class _Wanted(NamedTuple):
    """A profile as it shall be told, and the table that it is of."""

    item: Item
    dataset: bytes
    table: Remote
    body: Entity
    mark: bytes

    @property
    def remote(self) -> Remote:
        """Name it."""
        return Remote(_TYPE, f"{self.table.id}/{self.body['tableProfile']['timestamp']}", self.table.name)

    @property
    def telling(self) -> list[str | int]:
        """Give what is written down before it is told: which figures, of which time."""
        return [self.mark.hex(), self.body["tableProfile"]["timestamp"]]


class Profiles:
    """Pushes profiles. Not for several threads at once."""

    def __init__(self, at: Workbench) -> None:
        self._at = at

    def push(self, items: Sequence[Item]) -> Pushed:
        """Make the server know figures."""
        if not self._at.rules.publish_profiling_metrics:
            off = "openmetadata.sync.publish_profiling_metrics is off"
            return Pushed([item.linked(Outcome.OFF, off) for item in items])
        found = self._wanted(items)
        wanted = [one for one in found if isinstance(one, _Wanted)]
        self._at.items.begin((one.item, {**one.item.detail, "telling": one.telling}) for one in wanted)
        done = self._at.workers.map(self._put, wanted, _failed)
        datasets = {one.item.key: one.dataset for one in wanted}
        gone = missing("dataset", done, datasets)
        return Pushed([*(one for one in found if isinstance(one, Settled)), *done], doubtful=gone)

    def _wanted(self, items: Sequence[Item]) -> list[_Wanted | Settled]:
        stored = read_profiles(self._at.db, self._at.org, [item.key for item in items])
        ends = Ends(self._at.db, self._at.org, self._at.items, {one.dataset for one in stored.values()}, ())
        taken: set[str] = set()
        found: list[_Wanted | Settled] = []
        for item in sorted(items, key=lambda one: (stored[one.key].at if one.key in stored else 0, one.key)):
            one = self._one(item, stored.get(item.key), ends, taken)
            if isinstance(one, _Wanted):
                taken.add(one.remote.id)
            found.append(one)
        return found

    def _one(self, item: Item, stored: StoredProfile | None, ends: Ends, taken: set[str]) -> _Wanted | Settled:
        """Say what profile figures shall be, or why they are none."""
        remote = ends.remote(stored.dataset) if stored else None
        if stored is None or not (stored.measured or stored.rows is not None or stored.bytes is not None):
            return item.linked(Outcome.UNWANTED, "no figures are known")
        if remote is None:
            return item.linked(Outcome.WAITING, "its dataset is not there")
        if remote.type != "table":
            return item.linked(
                Outcome.UNWANTED, f"OpenMetadata takes profiles of tables only, and this is a {remote.type}"
            )
        names = {name: ".".join(path) for name, path in ends.end(stored.dataset).columns.items()}
        figures = Figures(stored.rows, stored.bytes, stored.change, stored.wrote, stored.columns, stored.measured)
        mark = fingerprint([remote.id, profile(figures, 0, names)])
        if item.fingerprint == mark and (item.remote or item.outcome in GIVEN_UP):
            return item.linked(Outcome.UNCHANGED if item.remote else Outcome(item.outcome or ""), item.reason)
        begun, time = item.detail.get("telling") or (None, 0)
        if begun != mark.hex():
            time = stored.at // 1_000
            while not self._is_free(f"{remote.id}/{time}", taken):
                time += 1
        return _Wanted(item, stored.dataset, remote, profile(figures, time, names), mark)

    def _is_free(self, id_: str, taken: set[str]) -> bool:
        """Tell whether no profile was told of this time."""
        return id_ not in taken and not self._at.items.of_remote(id_)

    def _put(self, wanted: _Wanted) -> Settled | Failed:
        try:
            begun = wanted.item.detail.get("telling") == wanted.telling
            if not (begun and self._is_there(wanted)):
                self._at.client.put_profile(wanted.table.id, wanted.body)
        except TargetRefused as error:
            raise self._at.failed(error) from error
        return Settled(wanted.item, Outcome.PUSHED, None, wanted.mark, wanted.remote, ours=True)

    def _is_there(self, wanted: _Wanted) -> bool:
        said = wanted.body["tableProfile"]
        there = self._at.client.profiles(wanted.table.name, said["timestamp"])
        return any(all(one.get(key) == value for key, value in said.items()) for one in there)


def _failed(wanted: _Wanted, error: LineageBridgeError) -> Settled | Failed:
    return Failed(wanted.item, error, wanted.body, wanted.mark)
