"""Brings figures to OpenMetadata: a profile of a table each, never the same one twice.

The server adds a row for each profile that it is told, of a time that it knows, too. So a profile whose fate is not
known is looked for before it is told again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bridge.sync.item import Failed, Item, Outcome, Remote, Settled, as_it_was, fingerprint, is_known
from bridge.sync.openmetadata.ends import Ends
from bridge.sync.openmetadata.workbench import Workbench, is_said, missing
from bridge.sync.profiles import StoredProfile, read_profiles
from bridge.sync.target import Pushed
from connectors.openmetadata.calls import Entity
from mappers.errors import LineageBridgeError, TargetRefused
from mappers.openmetadata.profiles import Figures, profile

_TYPE = "tableProfile"


class _Wanted(NamedTuple):
    """Figures as they shall be told, the table that they are of, and from which time on nothing else is told."""

    item: Item
    dataset: bytes
    table: Remote
    figures: Figures
    columns: dict[str, str]
    mark: bytes
    timestamp: int
    #: Whether they may have been told before.
    perhaps_told: bool

    @property
    def body(self) -> Entity:
        """Say them."""
        return profile(self.figures, self.timestamp, self.columns)

    def settled(self) -> Settled:
        """Settle them as told."""
        remote = Remote(_TYPE, f"{self.table.id}/{self.timestamp}", self.table.name)
        return Settled(self.item, Outcome.PUSHED, None, self.mark, remote, ours=True)


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
        self._at.items.begin((one.item, {**one.item.detail, "telling": one.timestamp}) for one in wanted)
        done = self._at.workers.map(self._put, wanted, _failed)
        datasets = {one.item.key: one.dataset for one in wanted}
        gone = missing("dataset", done, datasets)
        return Pushed([*(one for one in found if isinstance(one, Settled)), *done], doubtful=gone)

    def said(self, items: Sequence[Item]) -> dict[bytes, Entity]:
        """Give what was told of tables, of those figures that would be told the same now."""
        found: dict[bytes, Entity] = {}
        marks = {item.key: item.fingerprint for item in items}
        for one in self._wanted([item._replace(fingerprint=None) for item in items if item.remote]):
            if isinstance(one, _Wanted) and one.mark == marks[one.item.key]:
                timestamp = int((one.item.remote or one.table).id.rpartition("/")[2])
                found[one.item.key] = _of_table(one._replace(timestamp=timestamp).body["tableProfile"])
        return found

    def _wanted(self, items: Sequence[Item]) -> list[_Wanted | Settled]:
        stored = read_profiles(self._at.db, self._at.org, [item.key for item in items])
        ends = Ends(self._at.db, self._at.org, self._at.items, {one.dataset for one in stored.values()}, ())
        taken: set[str] = set()
        found: list[_Wanted | Settled] = []
        for item in sorted(items, key=lambda one: (stored[one.key].at if one.key in stored else 0, one.key)):
            one = self._one(item, stored.get(item.key), ends, taken)
            if isinstance(one, _Wanted):
                taken.add(f"{one.table.id}/{one.timestamp}")
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
        mark = fingerprint([remote.id, figures._replace(column_count=0)])
        if is_known(item, mark):
            return as_it_was(item)
        time, perhaps = self._time(item, remote, stored.at // 1_000, taken)
        return _Wanted(item, stored.dataset, remote, figures, names, mark, time, perhaps)

    def _time(self, item: Item, table: Remote, at: int, taken: set[str]) -> tuple[int, bool]:
        """Find the time by which figures are known, and whether they may have been told of it."""
        if "telling" in item.detail:
            return item.detail["telling"], True
        if item.remote is not None and item.remote.id.startswith(f"{table.id}/"):
            return int(item.remote.id.rpartition("/")[2]), True
        while not self._is_free(f"{table.id}/{at}", taken):
            at += 1
        return at, item.remote is not None  # of a table that was made anew, or restored with what it was told

    def _is_free(self, id_: str, taken: set[str]) -> bool:
        """Tell whether no profile was told of this time."""
        return id_ not in taken and not self._at.items.of_remote(id_)

    def _put(self, wanted: _Wanted) -> Settled | Failed:
        """Tell figures, at the first time of which nothing else was told; what is there already is not told again."""
        try:
            if wanted.perhaps_told:
                while there := self._at.client.profiles(wanted.table.name, wanted.timestamp, wanted.timestamp):
                    if any(is_said(_of_table(wanted.body["tableProfile"]), one) for one in there):
                        return wanted.settled()
                    wanted = wanted._replace(timestamp=wanted.timestamp + 1)
            self._at.client.put_profile(wanted.table.id, wanted.body)
        except TargetRefused as error:
            raise self._at.failed(error) from error
        return wanted.settled()


def _of_table(said: Entity) -> Entity:
    """Give what is looked for of figures: how many columns the table had then is not ours to say again."""
    return {key: value for key, value in said.items() if key != "columnCount"}


def _failed(wanted: _Wanted, error: LineageBridgeError) -> Settled | Failed:
    return Failed(wanted.item, error, wanted.body, wanted.mark)
