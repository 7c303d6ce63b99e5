"""Searches datasets and jobs; exact names first, then names, then any word."""

from base64 import b64decode, urlsafe_b64encode
from difflib import get_close_matches
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from bridge.errors import InvalidParameter
from bridge.store.database import Database
from bridge.store.search import tokens
from bridge.store.search.documents import HitContent
from bridge.store.search.expression import SearchExpression, to_like
from bridge.store.search.tokens import QueryToken, QueryWord, parse_query, tokenize

#: How many characters a mistyped word shares with the beginning of the one that was meant, and how long it is.
_SHARED, _LEAST = 2, 4
_CLOSE = 0.75
MAX_NEAR = 3
#: How many names that begin alike are compared.
MAX_COMPARED = 50


def similar_names_expression(query: str, filters: tuple[QueryWord, ...]) -> SearchExpression | None:
    """Say which entries may have names near to a query of one word."""
    word = _only_word(query)
    if word is None:
        return None
    return SearchExpression((((QueryToken(tokens.NAME + word[:_SHARED], prefix=True),),), *filters))


def closest_names(query: str, names: list[str]) -> list[str]:
    """Pick the words of these names that are nearest to a query of one word."""
    word = _only_word(query) or ""
    alike = sorted(token for token in tokenize(names) if token.startswith(word[:_SHARED]))
    return get_close_matches(word, alike, MAX_NEAR, _CLOSE) if word not in alike else []


def _only_word(query: str) -> str | None:
    """Give the word of a query of one word: of several, who knows which is mistyped."""
    words = parse_query(query)
    if len(words) != 1:
        return None
    text = words[0][0][0].text
    return text if len(text) >= _LEAST else None


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
  SELECT m.entry FROM {{matches}} m WHERE m.org_id = ?1 AND m.sort_key > ?2 ORDER BY m.sort_key LIMIT ?3
) ORDER BY sort_key
"""
_PENDING = "SELECT count(DISTINCT id) FROM (SELECT id FROM search_stale WHERE org_id = ?1 LIMIT ?2) waiting"
#: How many entries are looked at for each hit that is wanted, and at least, before the index of words is asked.
_LOOKED_AT, _AT_LEAST = 8, 400
#: What a cursor of a search begins with.
_MARK = b"search"
#: As many changes that wait are counted; more are told as this many.
MAX_PENDING = 10_000


class SearchCriteria(NamedTuple):
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


class SearchHit(msgspec.Struct, frozen=True):
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


class SearchResult(msgspec.Struct, frozen=True):
    """What was found; how many datasets and jobs are still to be indexed; and the cursor of the next page, if any.

    Where nothing was found, `near` are words of names that are spelled nearly like one that was asked for.
    """

    items: list[SearchHit]
    pending: int
    next: str | None
    near: list[str] = []


class _SearchCursor(NamedTuple):
    """How far a search got: in which round, behind which entry."""

    round: int = 0
    sort_key: bytes = b""


def search(db: Database, org: str, wanted: SearchCriteria, limit: int = 20, after: str | None = None) -> SearchResult:
    """Find what is wanted, best first; `after` is the `next` of the page before."""
    place = _read_cursor(after) if after else _SearchCursor()
    found: list[tuple[_SearchCursor, SearchHit]] = []
    with db.snapshot():
        ((pending,),) = db.fetch_all(_PENDING, org, MAX_PENDING)
        for number, sought in enumerate(_rounds(wanted)):
            if number < place.round or len(found) > limit:
                continue
            behind = place.sort_key if number == place.round else b""
            rows = _find(db, org, sought, behind, limit + 1 - len(found))
            found.extend((_SearchCursor(number, sort_key), _hit(*row)) for sort_key, *row in rows)
        near = [] if found or after else _near(db, org, wanted)
    more = _cursor(found[limit - 1][0]) if len(found) > limit else None
    return SearchResult([hit for _, hit in found[:limit]], pending, more, near)


def _rounds(wanted: SearchCriteria) -> list[SearchExpression]:
    """Say what is sought, best first: the exact name, all words in the name, all words anywhere.

    Each leaves out what was found before.
    """
    filters = _filters(wanted)
    if not wanted.q.strip():
        return [SearchExpression(filters)]
    exact: tuple[QueryWord, ...] = (((QueryToken(tokens.value(tokens.EXACT, wanted.q)),),),)
    in_name = tokens.query_words(tokens.NAME, wanted.q)
    rounds = [SearchExpression((*exact, *filters))]
    if in_name:
        anywhere = tokens.query_words(tokens.ANY, wanted.q)
        rounds.append(SearchExpression((*in_name, *filters), (exact,)))
        rounds.append(SearchExpression((*anywhere, *filters), (exact, in_name)))
    return rounds


def _filters(wanted: SearchCriteria) -> tuple[QueryWord, ...]:
    exact = ((tokens.OWNER, wanted.owner), (tokens.TAG, wanted.tag), (tokens.CATEGORY, wanted.category))
    given = [(letter, value) for letter, value in (*exact, (tokens.FORMAT, wanted.format)) if value is not None]
    words: list[QueryWord] = [((QueryToken(tokens.value(letter, value)),),) for letter, value in given]
    if wanted.namespace is not None:
        words.append(tokens.namespace_filter(wanted.namespace))
    if wanted.type is not None:
        words.append(((QueryToken(tokens.value(tokens.KIND, wanted.type)),),))
    return tuple(words)


def _find(db: Database, org: str, sought: SearchExpression, behind: bytes, max_edges: int) -> list[tuple[Any, ...]]:
    if not sought.words:
        return []
    condition, values = to_like(sought, first=5)
    rows = db.fetch_all(
        _FIRST.format(condition=condition), org, behind, max(_AT_LEAST, max_edges * _LOOKED_AT), max_edges, *values
    )
    return rows if len(rows) == max_edges else db.fetch_matches(_MATCHING, sought, org, behind, max_edges)


def _near(db: Database, org: str, wanted: SearchCriteria) -> list[str]:
    sought = similar_names_expression(wanted.q, _filters(wanted))
    if sought is None:
        return []
    rows = _find(db, org, sought, b"", MAX_COMPARED)
    return closest_names(wanted.q, [_hit(*row).name for _, *row in rows])


def _hit(kind: str, id_: bytes, hit_json: str) -> SearchHit:
    shown = msgspec.json.decode(hit_json, type=HitContent)
    return SearchHit(kind, str(UUID(bytes=bytes(id_))), **msgspec.structs.asdict(shown))


def _cursor(place: _SearchCursor) -> str:
    return urlsafe_b64encode(_MARK + bytes([place.round]) + place.sort_key).decode().rstrip("=")


def _read_cursor(text: str) -> _SearchCursor:
    try:
        read = b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    except ValueError:
        read = b""
    round_, sort_key = read[len(_MARK) : len(_MARK) + 1], read[len(_MARK) + 1 :]
    if not read.startswith(_MARK) or not round_:
        raise InvalidParameter("not a cursor that was given as `next`", "after")
    return _SearchCursor(round_[0], sort_key)
