"""Brings figures to OpenMetadata: a profile of a table each, never the same one twice.

The server adds a row for each profile that it is told, of a time that it knows, too. So a profile whose fate is not
known is looked for before it is told again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bridge.sync.canonical.quality import CanonicalProfile, read_profiles
from bridge.sync.openmetadata.context import OpenMetadataContext, contains, items_to_verify
from bridge.sync.openmetadata.remote_entities import RemoteEntities
from bridge.sync.sync_item import (
    Completed,
    Failure,
    Outcome,
    RemoteReference,
    SyncItem,
    complete_unchanged,
    fingerprint,
    is_unchanged,
)
from bridge.sync.target import BatchResult
from connectors.errors import TargetRejected
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError
from mappers.openmetadata.profiles import TableMetrics, table_profile

_TYPE = "tableProfile"


class _DesiredProfile(NamedTuple):
    """Figures as they shall be told, the table that they are of, and from which time on nothing else is told."""

    item: SyncItem
    dataset: bytes
    table: RemoteReference
    figures: TableMetrics
    columns: dict[str, str]
    mark: bytes
    timestamp: int
    #: Whether they may have been told before.
    perhaps_told: bool

    @property
    def body(self) -> JsonObject:
        """Say them."""
        return table_profile(self.figures, self.timestamp, self.columns)

    def settled(self) -> Completed:
        """Settle them as told."""
        remote = RemoteReference(_TYPE, f"{self.table.id}/{self.timestamp}", self.table.name)
        return Completed(self.item, Outcome.PUSHED, None, self.mark, remote, created_by_us=True)


class ProfilePusher:
    """Pushes profiles. Not for several threads at once."""

    def __init__(self, at: OpenMetadataContext) -> None:
        self._at = at

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Make the server know figures."""
        if not self._at.rules.publish_profiling_metrics:
            off = "openmetadata.sync.publish_profiling_metrics is off"
            return BatchResult([item.complete(Outcome.OFF, off) for item in items])
        found = self._wanted(items)
        wanted = [one for one in found if isinstance(one, _DesiredProfile)]
        self._at.items.record_intent((one.item, {**one.item.record, "telling": one.timestamp}) for one in wanted)
        done = self._at.workers.map(self._put, wanted, _failed)
        datasets = {one.item.key: one.dataset for one in wanted}
        gone = items_to_verify("dataset", done, datasets)
        return BatchResult([*(one for one in found if isinstance(one, Completed)), *done], to_verify=gone)

    def expected_bodies(self, items: Sequence[SyncItem]) -> dict[bytes, JsonObject]:
        """Give what was told of tables, of those figures that would be told the same now."""
        found: dict[bytes, JsonObject] = {}
        marks = {item.key: item.fingerprint for item in items}
        for one in self._wanted([item._replace(fingerprint=None) for item in items if item.remote]):
            if isinstance(one, _DesiredProfile) and one.mark == marks[one.item.key]:
                timestamp = int((one.item.remote or one.table).id.rpartition("/")[2])
                found[one.item.key] = _of_table(one._replace(timestamp=timestamp).body["tableProfile"])
        return found

    def _wanted(self, items: Sequence[SyncItem]) -> list[_DesiredProfile | Completed]:
        stored = read_profiles(self._at.db, self._at.org, [item.key for item in items])
        ends = RemoteEntities(self._at.db, self._at.org, self._at.items, {one.dataset for one in stored.values()}, ())
        taken: set[str] = set()
        found: list[_DesiredProfile | Completed] = []
        for item in sorted(items, key=lambda one: (stored[one.key].at if one.key in stored else 0, one.key)):
            one = self._one(item, stored.get(item.key), ends, taken)
            if isinstance(one, _DesiredProfile):
                taken.add(f"{one.table.id}/{one.timestamp}")
            found.append(one)
        return found

    def _one(
        self, item: SyncItem, stored: CanonicalProfile | None, ends: RemoteEntities, taken: set[str]
    ) -> _DesiredProfile | Completed:
        """Say what profile figures shall be, or why they are none."""
        remote = ends.remote(stored.dataset) if stored else None
        if stored is None or not (stored.measured or stored.rows is not None or stored.bytes is not None):
            return item.complete(Outcome.UNWANTED, "no figures are known")
        if remote is None:
            return item.complete(Outcome.WAITING, "its dataset is not there")
        if remote.type != "table":
            return item.complete(
                Outcome.UNWANTED, f"OpenMetadata takes profiles of tables only, and this is a {remote.type}"
            )
        names = {name: ".".join(path) for name, path in ends.endpoint(stored.dataset).columns.items()}
        figures = TableMetrics(
            stored.rows, stored.bytes, stored.change, stored.wrote, stored.columns, stored.measured
        )
        mark = fingerprint([remote.id, figures._replace(column_count=0)])
        if is_unchanged(item, mark):
            return complete_unchanged(item)
        time, perhaps = self._time(item, remote, stored.at // 1_000, taken)
        return _DesiredProfile(item, stored.dataset, remote, figures, names, mark, time, perhaps)

    def _time(self, item: SyncItem, table: RemoteReference, at: int, taken: set[str]) -> tuple[int, bool]:
        """Find the time by which figures are known, and whether they may have been told of it."""
        if "telling" in item.record:
            return item.record["telling"], True
        if item.remote is not None and item.remote.id.startswith(f"{table.id}/"):
            return int(item.remote.id.rpartition("/")[2]), True
        while not self._is_free(f"{table.id}/{at}", taken):
            at += 1
        return at, item.remote is not None  # of a table that was made anew, or restored with what it was told

    def _is_free(self, id_: str, taken: set[str]) -> bool:
        """Tell whether no profile was told of this time."""
        return id_ not in taken and not self._at.items.find_by_remote_id(id_)

    def _put(self, wanted: _DesiredProfile) -> Completed | Failure:
        """Tell figures, at the first time of which nothing else was told; what is there already is not told again."""
        try:
            if wanted.perhaps_told:
                while there := self._at.client.profiles(wanted.table.name, wanted.timestamp, wanted.timestamp):
                    if any(contains(_of_table(wanted.body["tableProfile"]), one) for one in there):
                        return wanted.settled()
                    wanted = wanted._replace(timestamp=wanted.timestamp + 1)
            self._at.client.put_profile(wanted.table.id, wanted.body)
        except TargetRejected as error:
            raise self._at.failed(error) from error
        return wanted.settled()


def _of_table(said: JsonObject) -> JsonObject:
    """Give what is looked for of figures: how many columns the table had then is not ours to say again."""
    return {key: value for key, value in said.items() if key != "columnCount"}


def _failed(wanted: _DesiredProfile, error: LineageBridgeError) -> Completed | Failure:
    return Failure(wanted.item, error, wanted.body, wanted.mark)
