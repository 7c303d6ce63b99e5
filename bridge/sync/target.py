"""The interface of a sync target."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple, Protocol

from bridge.sync.edge_store import EdgeRecord
from bridge.sync.sync_item import Completed, Failure, RemoteReference, SyncItem

#: An item by its kind and key.
ItemKey = tuple[str, bytes]


class BatchResult(NamedTuple):
    """Results of a batch: item results, written and deleted edges, and follow-up work."""

    results: list[Completed | Failure]
    affected: AbstractSet[ItemKey] = frozenset()
    edges_written: Sequence[EdgeRecord] = ()
    edges_deleted: Sequence[EdgeRecord] = ()
    #: Items whose entity is missing or differs from the record.
    to_verify: AbstractSet[ItemKey] = frozenset()
    #: Entities created by this bridge that no item refers to any longer.
    orphaned: Sequence[RemoteReference] = ()

    def extended_by(self, other: "BatchResult") -> "BatchResult":
        """Return the results of both batches."""
        return BatchResult(
            [*self.results, *other.results],
            self.affected | other.affected,
            [*self.edges_written, *other.edges_written],
            [*self.edges_deleted, *other.edges_deleted],
            self.to_verify | other.to_verify,
            [*self.orphaned, *other.orphaned],
        )


class PlanStep(NamedTuple):
    """One step of a plan (`sync --dry-run`)."""

    action: str
    kind: str
    name: str
    reason: str | None = None


class Difference(NamedTuple):
    """Drift: an item whose remote entity, or an edge into it, differs from the last push."""

    kind: str
    key: bytes
    name: str
    description: str


class ComparedBatch(NamedTuple):
    """Part of a comparison: number of items compared, and their differences."""

    kind: str
    checked: int
    differences: Sequence[Difference]
    #: Entities created by this bridge that no item refers to.
    orphaned: Sequence[RemoteReference] = ()


class ExpectedCount(NamedTuple):
    """One batch's contribution to the counts of a kind: expected items, and those not pushed yet."""

    kind: str
    expected: int
    outdated: int


class TargetIdentity(NamedTuple):
    """URL and options of a target; a change to either triggers a full sync."""

    url: str
    options_hash: str


class Affected(NamedTuple):
    """Affected items, and the current family hash of each changed job."""

    items: set[ItemKey]
    job_family_hashes: Mapping[bytes, bytes] = MappingProxyType({})


class AffectedItems(Protocol):
    """Determines which items a change affects."""

    def of_marks(self, marks: Mapping[str, set[bytes]]) -> Affected:
        """Return items that dirty marks affect; `marks` are keys by kind."""


class SyncTarget(Protocol):
    """A system that is kept in sync with the store."""

    name: str
    identity: TargetIdentity
    #: Batch size per kind, in dependency order.
    batch_sizes: dict[str, int]
    #: Kinds with expensive requests: one batch per step, so that newer changes of other kinds are not delayed.
    slow_kinds: AbstractSet[str]
    #: Seconds between two pushes of the same item, by kind.
    min_intervals: Mapping[str, int]
    #: Kinds that a comparison covers.
    compared_kinds: AbstractSet[str]

    @property
    def affected(self) -> AffectedItems:
        """Translates dirty marks into items."""

    def prepare(self) -> None:
        """Prepare the store for pushes, for example by creating indexes."""

    def probe(self) -> None:
        """Check that the target responds; raises TransientError otherwise."""

    def push(self, kind: str, items: Sequence[SyncItem]) -> BatchResult:
        """Bring the target to the desired state of the items; failures are reported per item."""

    def plan(self, items: Sequence[SyncItem]) -> list[PlanStep]:
        """List the steps of a push without executing them."""

    def count_expected(self) -> Iterator[ExpectedCount]:
        """Count expected items in batches, without requests to the target."""

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare the target with the last push, in batches; changes nothing."""

    def cancel(self) -> None:
        """End the calls in flight with errors, from any thread, and send no more."""

    def close(self) -> None: ...
