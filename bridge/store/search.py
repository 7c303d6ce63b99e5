"""Finds datasets and jobs by words of their names, descriptions and columns, and by what is known of them.

Both kinds of store give the same hits in the same order for the same events: names that are exactly what is asked
for, then names that have all the words, then the rest; within each, shorter names first, then by namespace and name.
"""

from base64 import b64decode, urlsafe_b64encode
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from bridge.store import search_tokens as tokens
from bridge.store.database import Database
from bridge.store.search_documents import Shown
from bridge.store.search_expression import Sought, as_condition
from bridge.store.search_near import MOST_COMPARED, begins_alike, nearest
from mappers.errors import BadQuestion
from mappers.tokens import Token, Word

_ROW = "sort_key, kind, id, hit_json"
#: What is common is found among the first entries there are, without looking at all that have it.
_FIRST = f"""
SELECT {_ROW} FROM (
  SELECT {_ROW}, ' ' || words || ' ' AS words FROM search_entry WHERE org_id = ?1 AND sort_key > ?2
  ORDER BY sort_key LIMIT ?3
) first WHERE {{condition}} ORDER BY sort_key LIMIT ?4
"""
_MATCHING = f"""
SELECT {_ROW} FROM search_entry WHERE entry IN (
  SELECT m.entry FROM {{matching}} m WHERE m.org_id = ?1 AND m.sort_key > ?2 ORDER BY m.sort_key LIMIT ?3
) ORDER BY sort_key
"""
_PENDING = "SELECT count(DISTINCT id) FROM (SELECT id FROM search_stale WHERE org_id = ?1 LIMIT ?2) waiting"
#: How many entries are looked at for each hit that is wanted, and at least, before the index of words is asked.
_LOOKED_AT, _AT_LEAST = 8, 400
#: What a cursor of a search begins with.
_MARK = b"search"
#: As many changes that wait are counted; more are told as this many.
MOST_PENDING = 10_000


class SearchFor(NamedTuple):
    """What is searched for: words, and what else must hold. A namespace that ends in `*` is a beginning."""

    q: str = ""
    type: str | None = None
    namespace: str | None = None
    owner: str | None = None
    tag: str | None = None
    category: str | None = None
    format: str | None = None

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is asked for."""
        return not self.q.strip() and all(value is None for value in self[1:])


class Hit(msgspec.Struct, frozen=True):
    """A dataset or job that was found; `active` is false for a dataset that was dropped or renamed away."""

    type: str
    id: str
    namespace: str
    name: str
    description: str | None
    owners: list[str]
    tags: list[str]
    format: str | None
    category: str | None
    active: bool


class SearchAnswer(msgspec.Struct, frozen=True):
    """What was found; how many datasets and jobs are still to be indexed; and the cursor of the next page, if any.

    Where nothing was found, `near` are words of names that are spelled nearly like one that was asked for.
    """

    items: list[Hit]
    pending: int
    next: str | None
    near: list[str] = []


class _Place(NamedTuple):
    """How far a search got: in which round, behind which entry."""

    round: int = 0
    sort_key: bytes = b""


def search(db: Database, org: str, wanted: SearchFor, limit: int = 20, after: str | None = None) -> SearchAnswer:
    """Find what is wanted, best first; `after` is the `next` of the page before."""
    place = _read_cursor(after) if after else _Place()
    found: list[tuple[_Place, Hit]] = []
    with db.snapshot():
        ((pending,),) = db.rows(_PENDING, org, MOST_PENDING)
        for number, sought in enumerate(_rounds(wanted)):
            if number < place.round or len(found) > limit:
                continue
            behind = place.sort_key if number == place.round else b""
            rows = _find(db, org, sought, behind, limit + 1 - len(found))
            found.extend((_Place(number, sort_key), _hit(*row)) for sort_key, *row in rows)
        near = [] if found or after else _near(db, org, wanted)
    more = _cursor(found[limit - 1][0]) if len(found) > limit else None
    return SearchAnswer([hit for _, hit in found[:limit]], pending, more, near)


def _rounds(wanted: SearchFor) -> list[Sought]:
    """Say what is sought, best first: the exact name, all words in the name, all words anywhere.

    Each leaves out what was found before.
    """
    filters = _filters(wanted)
    if not wanted.q.strip():
        return [Sought(filters)]
    exact: tuple[Word, ...] = (((Token(tokens.value(tokens.EXACT, wanted.q)),),),)
    in_name = tokens.sought_words(tokens.NAME, wanted.q)
    rounds = [Sought((*exact, *filters))]
    if in_name:
        anywhere = tokens.sought_words(tokens.ANY, wanted.q)
        rounds.append(Sought((*in_name, *filters), (exact,)))
        rounds.append(Sought((*anywhere, *filters), (exact, in_name)))
    return rounds


def _filters(wanted: SearchFor) -> tuple[Word, ...]:
    exact = ((tokens.OWNER, wanted.owner), (tokens.TAG, wanted.tag), (tokens.CATEGORY, wanted.category))
    given = [(letter, value) for letter, value in (*exact, (tokens.FORMAT, wanted.format)) if value is not None]
    words: list[Word] = [((Token(tokens.value(letter, value)),),) for letter, value in given]
    if wanted.namespace is not None:
        words.append(tokens.sought_namespace(wanted.namespace))
    if wanted.type is not None:
        words.append(((Token(tokens.value(tokens.KIND, wanted.type)),),))
    return tuple(words)


def _find(db: Database, org: str, sought: Sought, behind: bytes, most: int) -> list[tuple[Any, ...]]:
    if not sought.words:
        return []
    condition, values = as_condition(sought, first=5)
    rows = db.rows(_FIRST.format(condition=condition), org, behind, max(_AT_LEAST, most * _LOOKED_AT), most, *values)
    return rows if len(rows) == most else db.matching(_MATCHING, sought, org, behind, most)


def _near(db: Database, org: str, wanted: SearchFor) -> list[str]:
    sought = begins_alike(wanted.q, _filters(wanted))
    if sought is None:
        return []
    rows = _find(db, org, sought, b"", MOST_COMPARED)
    return nearest(wanted.q, [_hit(*row).name for _, *row in rows])


def _hit(kind: str, id_: bytes, hit_json: str) -> Hit:
    shown = msgspec.json.decode(hit_json, type=Shown)
    return Hit(kind, str(UUID(bytes=bytes(id_))), **msgspec.structs.asdict(shown))


def _cursor(place: _Place) -> str:
    return urlsafe_b64encode(_MARK + bytes([place.round]) + place.sort_key).decode().rstrip("=")


def _read_cursor(text: str) -> _Place:
    try:
        read = b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    except ValueError:
        read = b""
    round_, sort_key = read[len(_MARK) : len(_MARK) + 1], read[len(_MARK) + 1 :]
    if not read.startswith(_MARK) or not round_:
        raise BadQuestion("not a cursor that was given as `next`", "after")
    return _Place(round_[0], sort_key)
