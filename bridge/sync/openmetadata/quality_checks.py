"""Pushes quality checks as test cases."""

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from bridge.sync.canonical.quality import CanonicalCheck, read_checks, results_of
from bridge.sync.openmetadata.context import OpenMetadataContext, items_to_verify
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
from mappers.openmetadata.quality import (
    CASES,
    DEFINITIONS,
    CaseRequests,
    CheckDefinition,
    CheckSubject,
    case_requests,
)

OFF = "openmetadata.sync.publish_quality_results is off"


class _DesiredTestCase(NamedTuple):
    """A test case as it shall be, and the dataset that it is of."""

    item: SyncItem
    dataset: bytes
    case: CaseRequests
    mark: bytes


class TestCasePusher:
    """Pushes test cases. Not for several threads at once."""

    def __init__(self, at: OpenMetadataContext) -> None:
        self._at = at
        self._defined: set[str] = set()
        self._defining = Lock()

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Make the server know checks."""
        if not self._at.rules.publish_quality_results:
            return BatchResult([item.complete(Outcome.OFF, OFF) for item in items])
        found = self._wanted(items)
        wanted = [one for one in found if isinstance(one, _DesiredTestCase)]
        done = self._at.workers.map(self._put, wanted, _failed)
        datasets = {one.item.key: one.dataset for one in wanted}
        gone = items_to_verify("dataset", done, datasets)
        moved = {one.item.key for one in done if isinstance(one, Completed) and one.remote != one.item.remote}
        results = self._at.items.get("result", results_of(self._at.db, self._at.org, moved))
        return BatchResult(
            [*(one for one in found if isinstance(one, Completed)), *done],
            affected={("result", key) for key in results},
            to_verify=gone,
        )

    def _wanted(self, items: Sequence[SyncItem]) -> list[_DesiredTestCase | Completed]:
        stored = read_checks(self._at.db, self._at.org, [item.key for item in items])
        ends = RemoteEntities(
            self._at.db, self._at.org, self._at.items, {one.dataset for one in stored.values() if one.dataset}, ()
        )
        return [self._one(item, stored.get(item.key), ends) for item in items]

    def _one(
        self, item: SyncItem, stored: CanonicalCheck | None, ends: RemoteEntities
    ) -> _DesiredTestCase | Completed:
        """Say what test case a check shall be, or why it is none."""
        if stored is None or stored.dataset is None:
            return item.complete(Outcome.UNWANTED, "a test of a job, which does not write one dataset only")
        remote = ends.remote(stored.dataset)
        if remote is None:
            # no result is told of a case whose table is gone
            return item.complete(Outcome.WAITING, "its dataset is not there", remote=None, fingerprint=None)
        if remote.type != "table":
            return item.complete(
                Outcome.UNWANTED, f"OpenMetadata takes tests of tables only, and this is a {remote.type}"
            )
        column = ends.endpoint(stored.dataset).columns.get(stored.column) if stored.column else None
        told = case_requests(
            CheckDefinition(stored.name, stored.assertion, stored.column, stored.expected),
            CheckSubject(remote.name, column),
        )
        mark = fingerprint([remote.id, told])
        if is_unchanged(item, mark):
            return complete_unchanged(item)
        return _DesiredTestCase(item, stored.dataset, told, mark)

    def _put(self, wanted: _DesiredTestCase) -> Completed | Failure:
        self._define(wanted.case.definition)
        try:
            made = self._at.client.put(CASES, wanted.case.body).entity
        except TargetRejected as error:
            self._defined.clear()  # perhaps its definition is gone
            raise self._at.failed(error) from error
        remote = RemoteReference("testCase", str(made["id"]), str(made["fullyQualifiedName"]))
        return Completed(wanted.item, Outcome.PUSHED, None, wanted.mark, remote, created_by_us=True)

    def clear_cache(self) -> None:
        """Make every definition known anew."""
        with self._defining:
            self._defined.clear()

    def _define(self, definition: JsonObject) -> None:
        """Make the definition of a check known, once."""
        with self._defining:
            if definition["name"] not in self._defined:
                self._at.client.put(DEFINITIONS, definition)
                self._defined.add(definition["name"])


def _failed(wanted: _DesiredTestCase, error: LineageBridgeError) -> Completed | Failure:
    return Failure(wanted.item, error, wanted.case.body, wanted.mark)
