"""What became of things in a target, and why one is not there as it should be."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from bridge.catalogue.question import After, Limit, Page, Question, View, after, page
from bridge.catalogue.things import AboutDataset, AboutProcess, Thing, iso_or_none, thing
from bridge.store.graph import Named
from bridge.store.sync_tables import TROUBLED_SQL
from bridge.sync.item import REMOVAL, Outcome
from bridge.sync.status import read_status
from mappers.errors import BadQuestion

#: How many digits the key in an id has at most.
_DIGITS = 64
_COLUMNS = """
kind, key, CASE WHEN settled < marked THEN 1 ELSE 0 END AS pending, outcome, reason, settled_at, since, due_at,
attempts, remote_type, remote_name, ours, detail_json
"""
_WHICH = {
    "troubled": TROUBLED_SQL,
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
_OWN_MARK = "SELECT count(*) FROM dirty_mark WHERE org_id = ?1 AND target = ?2 AND key {among}"
_MEMBERS = "SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND class_id = ?2"

#: Which system is asked about.
OfTarget = Annotated[
    Literal["openmetadata", "marquez", "webhook"], msgspec.Meta(description="Which of the systems that are kept.")
]
Which = Literal[
    "troubled", "pending", "pushed", "unchanged", "waiting", "unresolved", "dead", "dropped", "unwanted", "off"
]


class Entity(msgspec.Struct, frozen=True):
    """What a thing is in the target, and whether it was made from here."""

    type: str
    name: str
    ours: bool


class SyncItem(msgspec.Struct, frozen=True):
    """A thing that the target shall have, or the lineage into it, and what became of it."""

    id: str
    kind: str
    about: Thing | None
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
    entity: Entity | None
    #: What the target refused.
    request: msgspec.Raw | None


class SyncEdge(msgspec.Struct, frozen=True):
    """An edge as it was last written: from what, by which job, how many of its columns."""

    source: Thing
    job: Thing | None
    columns: int
    #: Whether nobody else had written it.
    ours: bool
    #: Whether the server is known to have it like this.
    sure: bool


class SyncExplanation(msgspec.Struct, frozen=True):
    """All that is known of a thing in a target."""

    target: str
    about: Thing
    #: Why the target is left alone now, if it is.
    trouble: str | None
    #: Whether changes wait that nobody has looked at.
    marked: bool
    items: list[SyncItem]
    edges: list[SyncEdge]


class SyncItems(Question[Page[SyncItem]], frozen=True, kw_only=True):
    """What a target shall have, by what became of it: what a person must look at, unless another is asked for."""

    path = "/sync/items"
    answer = Page[SyncItem]
    which: Annotated[Which, msgspec.Meta(description="`troubled` is `dead` and `unresolved`.")] = "troubled"
    id: Annotated[str, msgspec.Meta(description="Only those whose ids begin so, whatever `which` is.")] | None = None
    target: OfTarget = "openmetadata"
    limit: Limit = 100
    after: After = None

    def answered(self, view: View) -> Page[SyncItem]:
        """List them."""
        kind, key = after(self.after, tuple[str, bytes]) or ("", b"")
        which, bound = (_WHICH[self.which], ()) if self.id is None else (_BEGINNING, _bounds(self.id))
        sql = _LISTED.format(which=which)
        rows = view.db.rows(sql, view.org, self.target, kind, key, self.limit + 1, *bound)
        shown, following = page(rows, self.limit, lambda row: (row[0], bytes(row[1])))
        return Page(_items(view, shown), following)


class DatasetSync(AboutDataset[SyncExplanation], frozen=True, kw_only=True):
    """What a dataset is in a target, or why it is not there."""

    path = "/sync"
    answer = SyncExplanation
    target: OfTarget = "openmetadata"

    def answered(self, view: View) -> SyncExplanation:
        """Look it up."""
        dataset = self.dataset(view)
        members = [member for (member,) in view.db.rows(_MEMBERS, view.org, dataset)]
        return _explained(view, self.target, dataset, view.graph().dataset(dataset), members)


class ProcessSync(AboutProcess[SyncExplanation], frozen=True, kw_only=True):
    """What a job is in a target, or why it is not there."""

    path = "/sync"
    answer = SyncExplanation
    target: OfTarget = "openmetadata"

    def answered(self, view: View) -> SyncExplanation:
        """Look it up."""
        job = self.job(view)
        return _explained(view, self.target, job, view.graph().job(job), [job])


def _bounds(beginning: str) -> tuple[str, bytes, bytes]:
    """Give the kind, and the least and the greatest key, of the items whose ids begin so."""
    kind, _, digits = beginning.lower().partition("-")
    try:
        return kind, bytes.fromhex(digits + "0" * (len(digits) % 2)), bytes.fromhex(digits.ljust(_DIGITS, "f"))
    except ValueError as error:
        raise BadQuestion("not the beginning of an id such as dataset-3f2a", "id") from error


def _explained(view: View, target: str, key: bytes, named: Named, members: Sequence[bytes]) -> SyncExplanation:
    graph = view.graph()
    rows = view.db.rows(_EDGES, view.org, target, key)
    ids = {one for source, job, *_ in rows for one in (source, job) if one}
    names = {**graph.jobs(ids), **graph.datasets(ids)}
    edges = [
        SyncEdge(
            thing(source, names[source]),
            thing(job, names[job]) if job else None,
            len(msgspec.json.decode(said)[0].get("columnsLineage", ())),
            bool(ours),
            bool(known),
        )
        for source, job, ours, said, known in rows
    ]
    ((marks,),) = view.db.among(_OWN_MARK, sorted(members), view.org, target)
    items = _items(view, view.db.rows(_OF, view.org, target, key))
    trouble = read_status(view.db, view.org, target).trouble
    return SyncExplanation(target, thing(key, named), trouble, bool(marks), items, edges)


def _items(view: View, rows: Sequence[tuple[Any, ...]]) -> list[SyncItem]:
    graph = view.graph()
    keys = {row[1] for row in rows if row[0] != REMOVAL}
    names = {**graph.datasets(keys), **graph.jobs(keys)}
    return [_item(row, names.get(row[1])) for row in rows]


def _item(row: tuple[Any, ...], named: Named | None) -> SyncItem:
    kind, key, pending, outcome, reason, settled_at, since, due_at, attempts, type_, name, ours, detail = row
    request = msgspec.json.decode(detail, type=dict[str, msgspec.Raw]).get("request") if detail else None
    return SyncItem(
        id=f"{kind}-{bytes(key).hex()}",
        kind=kind,
        about=thing(key, named) if named else None,
        pending=bool(pending),
        outcome=outcome,
        reason=reason,
        settled_at=iso_or_none(settled_at),
        since=iso_or_none(since),
        due_at=iso_or_none(due_at) if pending else None,
        attempts=attempts,
        entity=Entity(type_, name, bool(ours)) if name else None,
        request=request,
    )
