"""Queries: sync items of a target, and sync state of one dataset or job."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from bridge.errors import InvalidParameter
from bridge.queries.query import Cursor, Limit, Page, Query, QueryContext, paginate, read_cursor
from bridge.queries.subject import DatasetSubjectQuery, JobSubjectQuery
from bridge.store.identity_groups import member_ids
from bridge.store.lineage.graph import QualifiedName
from bridge.store.references import NodeReference, iso_or_none, node_reference
from bridge.store.tables.sync import NEEDS_ATTENTION_SQL
from bridge.sync.status import read_status
from bridge.sync.sync_item import DELETION, Outcome

#: How many digits the key in an id has at most.
_DIGITS = 64
_COLUMNS = """
kind, key, CASE WHEN settled < marked THEN 1 ELSE 0 END AS pending, outcome, reason, settled_at, since, due_at,
attempts, remote_type, remote_name, ours, detail_json
"""
_WHICH = {
    "troubled": NEEDS_ATTENTION_SQL,
    "pending": "settled < marked",
    **{outcome.value: f"outcome = '{outcome}'" for outcome in Outcome},
}
_BEGINNING = "kind = ?6 AND key >= ?7 AND key <= ?8"
_LISTED = f"""
SELECT {_COLUMNS} FROM sync_item
WHERE org_id = ?1 AND target = ?2 AND {{which}} AND (kind > ?3 OR kind = ?3 AND key > ?4)
ORDER BY kind, key LIMIT ?5
"""
_OF = f"SELECT {_COLUMNS} FROM sync_item WHERE org_id = ?1 AND target = ?2 AND key = ?3 ORDER BY kind"
_EDGES = """
SELECT e.from_key, e.job_key, e.ours, e.said_json, length(e.fingerprint) FROM sync_edge e
WHERE e.org_id = ?1 AND e.target = ?2 AND e.into_key = ?3 ORDER BY e.from_key
"""
_OWN_MARK = "SELECT count(*) FROM dirty_mark WHERE org_id = ?1 AND target = ?2 AND key {ids}"

#: Which system is asked about.
TargetField = Annotated[
    Literal["openmetadata", "marquez", "webhook"], msgspec.Meta(description="Which of the systems that are kept.")
]
ItemFilter = Literal[
    "troubled", "pending", "pushed", "unchanged", "waiting", "unresolved", "dead", "dropped", "unwanted", "off"
]


class RemoteEntityResult(msgspec.Struct, frozen=True):
    """What a thing is in the target, and whether it was made from here."""

    type: str
    name: str
    ours: bool


class SyncItemResult(msgspec.Struct, frozen=True):
    """A thing that the target shall have, or the lineage into it, and what became of it."""

    id: str
    kind: str
    about: NodeReference | None
    #: Whether it waits for its turn; what is said below is then of the last time.
    pending: bool
    outcome: str | None
    reason: str | None
    settled_at: str | None
    #: Since when it waits, or waited, and when it is tried next.
    since: str | None
    due_at: str | None
    #: How often it failed in a row.
    attempts: int
    entity: RemoteEntityResult | None
    #: What the target refused.
    request: msgspec.Raw | None


class SyncEdgeResult(msgspec.Struct, frozen=True):
    """An edge as it was last written: from what, by which job, how many of its columns."""

    source: NodeReference
    job: NodeReference | None
    columns: int
    #: Whether nobody else had written it.
    ours: bool
    #: Whether the server is known to have it like this.
    sure: bool


class SyncExplanation(msgspec.Struct, frozen=True):
    """All that is known of a thing in a target."""

    target: str
    about: NodeReference
    #: Why the target is left alone now, if it is.
    trouble: str | None
    #: Whether changes wait that nobody has looked at.
    marked: bool
    items: list[SyncItemResult]
    edges: list[SyncEdgeResult]


class SyncItemsQuery(Query[Page[SyncItemResult]], frozen=True, kw_only=True):
    """What a target shall have, by what became of it: what a person must look at, unless another is asked for."""

    path = "/sync/items"
    result_type = Page[SyncItemResult]
    which: Annotated[ItemFilter, msgspec.Meta(description="`troubled` is `dead` and `unresolved`.")] = "troubled"
    id: Annotated[str, msgspec.Meta(description="Only those whose ids begin so, whatever `which` is.")] | None = None
    target: TargetField = "openmetadata"
    limit: Limit = 100
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[SyncItemResult]:
        """List them."""
        kind, key = read_cursor(self.after, tuple[str, bytes]) or ("", b"")
        which, bound = (_WHICH[self.which], ()) if self.id is None else (_BEGINNING, _key_range(self.id))
        sql = _LISTED.format(which=which)
        rows = view.db.fetch_all(sql, view.org, self.target, kind, key, self.limit + 1, *bound)
        shown, following = paginate(rows, self.limit, lambda row: (row[0], bytes(row[1])))
        return Page(_items(view, shown), following)


class DatasetSyncQuery(DatasetSubjectQuery[SyncExplanation], frozen=True, kw_only=True):
    """What a dataset is in a target, or why it is not there."""

    path = "/sync"
    result_type = SyncExplanation
    target: TargetField = "openmetadata"

    def run(self, view: QueryContext) -> SyncExplanation:
        """Look it up."""
        dataset = self.group_id(view)
        members = sorted(member_ids(view.db, view.org, [dataset]))
        return _explanation(view, self.target, dataset, view.graph().dataset_name(dataset), members)


class JobSyncQuery(JobSubjectQuery[SyncExplanation], frozen=True, kw_only=True):
    """What a job is in a target, or why it is not there."""

    path = "/sync"
    result_type = SyncExplanation
    target: TargetField = "openmetadata"

    def run(self, view: QueryContext) -> SyncExplanation:
        """Look it up."""
        job = self.job_id(view)
        return _explanation(view, self.target, job, view.graph().job_name(job), [job])


def _key_range(beginning: str) -> tuple[str, bytes, bytes]:
    """Give the kind, and the least and the greatest key, of the items whose ids begin so."""
    kind, _, digits = beginning.lower().partition("-")
    try:
        return kind, bytes.fromhex(digits + "0" * (len(digits) % 2)), bytes.fromhex(digits.ljust(_DIGITS, "f"))
    except ValueError as error:
        raise InvalidParameter("not the beginning of an id such as dataset-3f2a", "id") from error


def _explanation(
    view: QueryContext, target: str, key: bytes, named: QualifiedName, members: Sequence[bytes]
) -> SyncExplanation:
    graph = view.graph()
    rows = view.db.fetch_all(_EDGES, view.org, target, key)
    ids = {one for source, job, *_ in rows for one in (source, job) if one}
    names = {**graph.job_names(ids), **graph.dataset_names(ids)}
    edges = [
        SyncEdgeResult(
            node_reference(source, names[source]),
            node_reference(job, names[job]) if job else None,
            len(msgspec.json.decode(said)[0].get("columnsLineage", ())),
            bool(ours),
            bool(known),
        )
        for source, job, ours, said, known in rows
    ]
    ((marks,),) = view.db.fetch_for_ids(_OWN_MARK, sorted(members), view.org, target)
    items = _items(view, view.db.fetch_all(_OF, view.org, target, key))
    trouble = read_status(view.db, view.org, target).trouble
    return SyncExplanation(target, node_reference(key, named), trouble, bool(marks), items, edges)


def _items(view: QueryContext, rows: Sequence[tuple[Any, ...]]) -> list[SyncItemResult]:
    graph = view.graph()
    keys = {row[1] for row in rows if row[0] != DELETION}
    names = {**graph.dataset_names(keys), **graph.job_names(keys)}
    return [_item(row, names.get(row[1])) for row in rows]


def _item(row: tuple[Any, ...], named: QualifiedName | None) -> SyncItemResult:
    kind, key, pending, outcome, reason, settled_at, since, due_at, attempts, type_, name, ours, detail = row
    request = msgspec.json.decode(detail, type=dict[str, msgspec.Raw]).get("request") if detail else None
    return SyncItemResult(
        id=f"{kind}-{bytes(key).hex()}",
        kind=kind,
        about=node_reference(key, named) if named else None,
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
