"""Pushes quality checks as test cases."""

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from bridge.sync.canonical.quality import CanonicalCheck, read_checks
from bridge.sync.context import split_plan
from bridge.sync.openmetadata.context import OpenMetadataContext, parents_to_verify
from bridge.sync.openmetadata.remote_entities import RemoteEntities
from bridge.sync.sync_item import (
    Completed,
    Failure,
    ItemRecord,
    Outcome,
    RemoteReference,
    SyncItem,
    fingerprint,
    pushed,
)
from bridge.sync.target import BatchResult
from connectors.errors import TargetRejected
from mappers.canonical_json import JsonObject
from mappers.openmetadata.quality import (
    CASES,
    DEFINITIONS,
    CaseRequests,
    CheckDefinition,
    CheckSubject,
    case_requests,
)

_WITHDRAWN = "no asset file requires it any more"


class CheckRecord(ItemRecord, frozen=True):
    """Last push of a check."""

    #: Whether the test case uses a definition of OpenMetadata.
    stock: bool = False


class _DesiredTestCase(NamedTuple):
    """A desired test case and its dataset."""

    item: SyncItem
    dataset: bytes
    case: CaseRequests
    fingerprint: bytes

    @property
    def request(self) -> JsonObject:
        return self.case.body


class QualityCheckPusher:
    """Pushes quality checks as test cases. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx
        self._definition_names: set[str] = set()
        self._definition_lock = Lock()

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        planned = self._plan(items)
        results = self._ctx.push_each(planned, self._put)
        moved = [
            result for result in results if isinstance(result, Completed) and result.remote != result.item.remote
        ]
        # test cases of a deleted table need no deletion: the server deletes them with the table
        replaced = [result.item for result in moved if result.remote or result.reason == _WITHDRAWN]
        _, desired_cases = split_plan(planned)
        datasets = {case.item.key: case.dataset for case in desired_cases}
        return BatchResult(
            results,
            to_verify=parents_to_verify("dataset", results, datasets),
            orphaned=[item.remote for item in replaced if item.remote and item.created_by_us],
        )

    def _plan(self, items: Sequence[SyncItem]) -> list[_DesiredTestCase | Completed]:
        checks = read_checks(self._ctx.db, self._ctx.org, [item.key for item in items])
        entities = RemoteEntities(
            self._ctx.db,
            self._ctx.org,
            self._ctx.items,
            {check.dataset for check in checks.values() if check.dataset},
            (),
        )
        return [self._plan_item(item, checks.get(item.key), entities) for item in items]

    def _plan_item(
        self, item: SyncItem, check: CanonicalCheck | None, entities: RemoteEntities
    ) -> _DesiredTestCase | Completed:
        """Return the desired test case, or a completed item with the reason for its absence."""
        if check is None or check.dataset is None:
            return item.complete(Outcome.UNWANTED, "a test of a job that does not write exactly one dataset")
        remote = entities.remote(check.dataset)
        if remote is None or check.withdrawn or remote.type != "table":
            return _complete_without_test_case(item, check, remote, is_excluded=entities.is_excluded(check.dataset))
        column = entities.endpoint(check.dataset).columns.get(check.column) if check.column else None
        requests = case_requests(
            CheckDefinition(check.name, check.assertion, check.column, check.expected),
            CheckSubject(remote.name, column),
        )
        # existing test cases keep their definition
        if item.remote is not None and not item.read_record(CheckRecord).stock:
            requests = requests._replace(stock_body=None)
        content_fingerprint = fingerprint([remote.id, (requests.definition, requests.body, requests.fqn)])
        desired = _DesiredTestCase(item, check.dataset, requests, content_fingerprint)
        return item.complete_if_unchanged(content_fingerprint) or desired

    def _put(self, desired: _DesiredTestCase) -> Completed | Failure:
        entity = self._put_with_stock_definition(desired.case)
        record = CheckRecord(stock=entity is not None)
        if entity is None:
            self._ensure_definition(desired.case.definition)
            try:
                entity = self._ctx.client.put(CASES, desired.case.body).entity
            except TargetRejected:
                self._definition_names.clear()  # its definition may have been deleted
                raise
        remote = RemoteReference("testCase", str(entity["id"]), str(entity["fullyQualifiedName"]))
        return pushed(desired, remote, record=record)

    def _put_with_stock_definition(self, case: CaseRequests) -> JsonObject | None:
        """Put a test case with a stock definition; None if there is none or the server rejects it for this column."""
        if case.stock_body is None:
            return None
        try:
            return self._ctx.client.put(CASES, case.stock_body).entity
        except TargetRejected:
            return None

    def clear_cache(self) -> None:
        """Reset the cache of test definitions."""
        with self._definition_lock:
            self._definition_names.clear()

    def _ensure_definition(self, definition: JsonObject) -> None:
        """Create the test definition of a check unless it was created before."""
        with self._definition_lock:
            if definition["name"] not in self._definition_names:
                self._ctx.client.put(DEFINITIONS, definition)
                self._definition_names.add(definition["name"])


def _complete_without_test_case(
    item: SyncItem, check: CanonicalCheck, remote: RemoteReference | None, *, is_excluded: bool
) -> Completed:
    """Complete a check that has no test case."""
    if remote is not None and not check.withdrawn:
        return item.complete(Outcome.UNWANTED, f"OpenMetadata supports tests of tables only; this is a {remote.type}")
    # results need the test case, which is gone with its table
    if check.withdrawn:
        outcome, reason = Outcome.UNWANTED, _WITHDRAWN
    elif is_excluded:
        outcome, reason = Outcome.UNWANTED, "its dataset was dropped or is not synced"
    else:
        outcome, reason = Outcome.WAITING, "its dataset is not in OpenMetadata yet"
    return item.complete(outcome, reason, remote=None, fingerprint=None)
