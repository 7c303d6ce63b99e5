"""Queries: sync items of a target, and sync state of one dataset or job."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from bridge.errors import InvalidParameter
from bridge.queries.query import Cursor, Limit, Page, Query, QueryContext, paginate, parse_cursor
from bridge.queries.subject import DatasetSubjectQuery, JobSubjectQuery
from bridge.store.identity_groups import member_ids
from bridge.store.lineage.graph import QualifiedName
from bridge.store.references import NodeReference, iso_or_none, node_reference
from bridge.store.tables.sync import NEEDS_ATTENTION_SQL
from bridge.sync.status import ItemSubject, read_status, read_subjects
from bridge.sync.sync_item import Outcome

#: Maximum number of hexadecimal digits of the key in an id.
_DIGITS = 64
_COLUMNS = """
kind, key, CASE WHEN settled < marked THEN 1 ELSE 0 END AS pending, outcome, reason, settled_at, since, due_at,
attempts, remote_type, remote_name,
CASE WHEN kind = 'governance' THEN (
  SELECT d.ours FROM sync_item d
  WHERE d.org_id = sync_item.org_id AND d.target = sync_item.target AND d.kind = 'dataset' AND d.key = sync_item.key
) ELSE ours END, detail_json
"""
_FILTERS = {
    "troubled": NEEDS_ATTENTION_SQL,
    "pending": "settled < marked",
    **{outcome.value: f"outcome = '{outcome}'" for outcome in Outcome},
}
_BY_KEY_RANGE = "kind = ?6 AND key >= ?7 AND key <= ?8"
_LISTED = f"""
SELECT {_COLUMNS} FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND {{condition}} AND (kind > ?3 OR kind = ?3 AND key > ?4)
ORDER BY kind, key LIMIT ?5
"""
_ITEMS_OF_KEY = f"SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND key = ?3 ORDER BY kind"
_EDGES = """
SELECT e.from_key, e.job_key, e.ours, e.said_json, length(e.fingerprint) FROM sync_edge e
WHERE e.org_id = ?1 AND e.target = ?2 AND e.into_key = ?3 ORDER BY e.from_key
"""
_MARKS_OF_KEYS = "SELECT count(*) FROM dirty_mark WHERE org_id = ?1 AND target = ?2 AND key {ids}"

#: The sync target that a query is about.
TargetField = Annotated[Literal["openmetadata", "marquez", "webhook"], msgspec.Meta(description="Sync target.")]
ItemFilter = Literal[
    "troubled", "pending", "pushed", "unchanged", "waiting", "unresolved", "dead", "dropped", "unwanted", "off"
]


class RemoteEntityResult(msgspec.Struct, frozen=True):
    """An entity of the target, and whether lineage-bridge created it."""

    type: str
    name: str
    ours: bool


class SyncItemResult(msgspec.Struct, frozen=True):
    """A desired entity, or the lineage into it, and the outcome of its sync."""

    id: str
    kind: str
    about: NodeReference | None
    #: True if the item is pending; `outcome` then refers to the last attempt.
    pending: bool
    outcome: str | None
    reason: str | None
    settled_at: str | None
    #: Since when the item is or was pending, and when it is tried next.
    since: str | None
    due_at: str | None
    #: Number of consecutive failures.
    attempts: int
    entity: RemoteEntityResult | None
    #: The request that the target rejected.
    request: msgspec.Raw | None


class SyncEdgeResult(msgspec.Struct, frozen=True):
    """An edge as it was last written: source, job and number of columns."""

    source: NodeReference
    job: NodeReference | None
    columns: int
    #: True if no other producer has written the edge.
    ours: bool
    #: True if the server is known to have this state.
    sure: bool


class SyncExplanation(msgspec.Struct, frozen=True):
    """How a dataset or job is synced to a target."""

    target: str
    about: NodeReference
    #: Why sync of the target is paused; null if sync is not paused.
    trouble: str | None
    #: True if there are dirty marks that were not consumed yet.
    marked: bool
    items: list[SyncItemResult]
    edges: list[SyncEdgeResult]


class SyncItemsQuery(Query[Page[SyncItemResult]], frozen=True, kw_only=True):
    """Sync items of a target by outcome; by default, the items that need attention."""

    path = "/sync/items"
    result_type = Page[SyncItemResult]
    which: Annotated[ItemFilter, msgspec.Meta(description="`troubled` is `dead` and `unresolved`.")] = "troubled"
    id: (
        Annotated[str, msgspec.Meta(description="Only items whose ids have this prefix, regardless of `which`.")]
        | None
    ) = None
    target: TargetField = "openmetadata"
    limit: Limit = 100
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[SyncItemResult]:
        kind, key = parse_cursor(self.after, tuple[str, bytes]) or ("", b"")
        condition = _FILTERS[self.which]
        key_range: tuple[Any, ...] = ()
        if self.id is not None:
            condition = _BY_KEY_RANGE
            key_range = _key_range(self.id)
        sql = _LISTED.format(condition=condition)
        rows = ctx.db.fetch_all(sql, ctx.org, self.target, kind, key, self.limit + 1, *key_range)
        page, next_cursor = paginate(rows, self.limit, _kind_and_key)
        return Page(_item_results(ctx, page), next_cursor)


class DatasetSyncQuery(DatasetSubjectQuery[SyncExplanation], frozen=True, kw_only=True):
    """Sync state of a dataset in a target, and the reason if it is missing there."""

    path = "/sync"
    result_type = SyncExplanation
    target: TargetField = "openmetadata"

    def run(self, ctx: QueryContext) -> SyncExplanation:
        dataset = self.group_id(ctx)
        members = sorted(member_ids(ctx.db, ctx.org, [dataset]))
        return _sync_explanation(ctx, self.target, dataset, ctx.graph().dataset_name(dataset), members)


class JobSyncQuery(JobSubjectQuery[SyncExplanation], frozen=True, kw_only=True):
    """Sync state of a job in a target, and the reason if it is missing there."""

    path = "/sync"
    result_type = SyncExplanation
    target: TargetField = "openmetadata"

    def run(self, ctx: QueryContext) -> SyncExplanation:
        job = self.job_id(ctx)
        return _sync_explanation(ctx, self.target, job, ctx.graph().job_name(job), [job])


def _kind_and_key(row: tuple[Any, ...]) -> tuple[str, bytes]:
    kind, key, *_ = row
    return kind, bytes(key)


def _key_range(prefix: str) -> tuple[str, bytes, bytes]:
    """Return the kind and the smallest and largest key that match an id prefix."""
    kind, _, digits = prefix.lower().partition("-")
    try:
        smallest = bytes.fromhex(digits + "0" * (len(digits) % 2))
        largest = bytes.fromhex(digits.ljust(_DIGITS, "f"))
    except ValueError as error:
        raise InvalidParameter("not a prefix of an id such as dataset-3f2a", "id") from error
    return kind, smallest, largest


def _sync_explanation(
    ctx: QueryContext, target: str, key: bytes, node_name: QualifiedName, members: Sequence[bytes]
) -> SyncExplanation:
    """Explain the sync of the dataset or job with this key. `members` are all ids whose changes affect the node."""
    graph = ctx.graph()
    rows = ctx.db.fetch_all(_EDGES, ctx.org, target, key)
    ids = {source for source, *_ in rows} | {job for _, job, *_ in rows if job}
    names = {**graph.job_names(ids), **graph.dataset_names(ids)}
    edges = [
        SyncEdgeResult(
            node_reference(source, names[source]),
            node_reference(job, names[job]) if job else None,
            _column_count(content),
            bool(ours),
            bool(fingerprint_length),
        )
        for source, job, ours, content, fingerprint_length in rows
    ]
    ((marks,),) = ctx.db.fetch_for_ids(_MARKS_OF_KEYS, sorted(members), ctx.org, target)
    items = _item_results(ctx, ctx.db.fetch_all(_ITEMS_OF_KEY, ctx.org, target, key))
    trouble = read_status(ctx.db, ctx.org, target).trouble
    return SyncExplanation(target, node_reference(key, node_name), trouble, bool(marks), items, edges)


def _column_count(content: str) -> int:
    """Return the number of columns in the stored content of an edge, whose first element holds the details."""
    details, *_ = msgspec.json.decode(content)
    return len(details.get("columnsLineage", ()))


def _item_results(ctx: QueryContext, rows: Sequence[tuple[Any, ...]]) -> list[SyncItemResult]:
    keys = [_kind_and_key(row) for row in rows]
    subjects = read_subjects(ctx.db, ctx.org, keys)
    return [_item_result(row, subjects.get(key)) for row, key in zip(rows, keys, strict=True)]


def _item_result(row: tuple[Any, ...], subject: ItemSubject | None) -> SyncItemResult:
    """Convert a row of `_COLUMNS`."""
    kind, key, pending, outcome, reason, settled_at, since, due_at, attempts, type_, name, ours, detail = row
    request = msgspec.json.decode(detail, type=dict[str, msgspec.Raw]).get("request") if detail else None
    return SyncItemResult(
        id=f"{kind}-{bytes(key).hex()}",
        kind=kind,
        about=node_reference(*subject) if subject else None,
        pending=bool(pending),
        outcome=outcome,
        reason=reason,
        settled_at=iso_or_none(settled_at),
        since=iso_or_none(since),
        due_at=iso_or_none(due_at) if pending else None,
        attempts=attempts,
        entity=RemoteEntityResult(type_, name, bool(ours)) if name else None,
        request=request,
    )
