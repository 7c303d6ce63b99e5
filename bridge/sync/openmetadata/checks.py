"""Brings checks to OpenMetadata: a test case each, of a table or of a column of it."""

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from bridge.sync.checks import StoredCheck, read_checks, results_of
from bridge.sync.item import Failed, Item, Outcome, Remote, Settled, as_it_was, fingerprint, is_known
from bridge.sync.openmetadata.ends import Ends
from bridge.sync.openmetadata.workbench import Workbench, missing
from bridge.sync.target import Pushed
from connectors.openmetadata.calls import Entity
from mappers.errors import LineageBridgeError, TargetRefused
from mappers.openmetadata.quality import CASES, DEFINITIONS, Case, Check, Checked, case

OFF = "openmetadata.sync.publish_quality_results is off"


class _Wanted(NamedTuple):
    """A test case as it shall be, and the dataset that it is of."""

    item: Item
    dataset: bytes
    case: Case
    mark: bytes


class Checks:
    """Pushes test cases. Not for several threads at once."""

    def __init__(self, at: Workbench) -> None:
        self._at = at
        self._defined: set[str] = set()
        self._defining = Lock()

    def push(self, items: Sequence[Item]) -> Pushed:
        """Make the server know checks."""
        if not self._at.rules.publish_quality_results:
            return Pushed([item.linked(Outcome.OFF, OFF) for item in items])
        found = self._wanted(items)
        wanted = [one for one in found if isinstance(one, _Wanted)]
        done = self._at.workers.map(self._put, wanted, _failed)
        datasets = {one.item.key: one.dataset for one in wanted}
        gone = missing("dataset", done, datasets)
        moved = {one.item.key for one in done if isinstance(one, Settled) and one.remote != one.item.remote}
        results = self._at.items.of("result", results_of(self._at.db, self._at.org, moved))
        return Pushed(
            [*(one for one in found if isinstance(one, Settled)), *done],
            marked={("result", key) for key in results},
            doubtful=gone,
        )

    def _wanted(self, items: Sequence[Item]) -> list[_Wanted | Settled]:
        stored = read_checks(self._at.db, self._at.org, [item.key for item in items])
        ends = Ends(
            self._at.db, self._at.org, self._at.items, {one.dataset for one in stored.values() if one.dataset}, ()
        )
        return [self._one(item, stored.get(item.key), ends) for item in items]

    def _one(self, item: Item, stored: StoredCheck | None, ends: Ends) -> _Wanted | Settled:
        """Say what test case a check shall be, or why it is none."""
        if stored is None or stored.dataset is None:
            return item.linked(Outcome.UNWANTED, "a test of a job, which does not write one dataset only")
        remote = ends.remote(stored.dataset)
        if remote is None:
            # no result is told of a case whose table is gone
            return item.linked(Outcome.WAITING, "its dataset is not there", remote=None, fingerprint=None)
        if remote.type != "table":
            return item.linked(
                Outcome.UNWANTED, f"OpenMetadata takes tests of tables only, and this is a {remote.type}"
            )
        column = ends.end(stored.dataset).columns.get(stored.column) if stored.column else None
        told = case(
            Check(stored.name, stored.assertion, stored.column, stored.expected), Checked(remote.name, column)
        )
        mark = fingerprint([remote.id, told])
        if is_known(item, mark):
            return as_it_was(item)
        return _Wanted(item, stored.dataset, told, mark)

    def _put(self, wanted: _Wanted) -> Settled | Failed:
        self._define(wanted.case.definition)
        try:
            made = self._at.client.put(CASES, wanted.case.body).entity
        except TargetRefused as error:
            self._defined.clear()  # perhaps its definition is gone
            raise self._at.failed(error) from error
        remote = Remote("testCase", str(made["id"]), str(made["fullyQualifiedName"]))
        return Settled(wanted.item, Outcome.PUSHED, None, wanted.mark, remote, ours=True)

    def forget(self) -> None:
        """Make every definition known anew."""
        with self._defining:
            self._defined.clear()

    def _define(self, definition: Entity) -> None:
        """Make the definition of a check known, once."""
        with self._defining:
            if definition["name"] not in self._defined:
                self._at.client.put(DEFINITIONS, definition)
                self._defined.add(definition["name"])


def _failed(wanted: _Wanted, error: LineageBridgeError) -> Settled | Failed:
    return Failed(wanted.item, error, wanted.case.body, wanted.mark)
