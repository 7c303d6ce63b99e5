"""Searches datasets and jobs: matches of the exact name first, then matches in the name, then all other matches."""

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

#: Number of first characters that a mistyped word must share with the intended word, and its minimum length.
_SHARED_PREFIX, _MIN_LENGTH = 2, 4
_MIN_SIMILARITY = 0.75
MAX_SUGGESTIONS = 3
#: Maximum number of names with the same first characters that are compared.
MAX_COMPARED = 50


def similar_names_expression(query: str, filters: tuple[QueryWord, ...]) -> SearchExpression | None:
    """Build the expression for names similar to a one-word query, or return None for any other query."""
    word = _only_word(query)
    if word is None:
        return None
    return SearchExpression((word_of(tokens.NAME + word[:_SHARED_PREFIX], prefix=True), *filters))


def word_of(token: str, *, prefix: bool = False) -> QueryWord:
    """Return a query word that matches a single token, or all tokens with a prefix."""
    return ((QueryToken(token, prefix),),)


def closest_words(query: str, names: list[str]) -> list[str]:
    """Return the words in these names that best match a one-word query, or none if the query is one of the words."""
    word = _only_word(query) or ""
    candidates = sorted(token for token in tokenize(names) if token.startswith(word[:_SHARED_PREFIX]))
    if word in candidates:
        return []
    return get_close_matches(word, candidates, MAX_SUGGESTIONS, _MIN_SIMILARITY)


def _only_word(query: str) -> str | None:
    """Return the word of a one-word query, if it is long enough. In a longer query, any word could be mistyped."""
    words = parse_query(query)
    if len(words) != 1:
        return None
    (alternatives,) = words
    first_alternative, *_ = alternatives
    first_token, *_ = first_alternative
    return first_token.text if len(first_token.text) >= _MIN_LENGTH else None


_ROW = "sort_key, kind, id, hit_json"
#: Common words are found among the first entries, without reading all entries that contain them.
_AMONG_FIRST = f"""
SELECT {_ROW} FROM (
  SELECT {_ROW}, ' ' || words || ' ' AS words FROM search_entry WHERE org_id = ?1 AND sort_key > ?2
  ORDER BY sort_key LIMIT ?3
) first WHERE {{condition}} ORDER BY sort_key LIMIT ?4
"""
_BY_INDEX = f"""
SELECT {_ROW} FROM search_entry WHERE entry IN (
  SELECT m.entry FROM {{matches}} m WHERE m.org_id = ?1 AND m.sort_key > ?2 ORDER BY m.sort_key LIMIT ?3
) ORDER BY sort_key
"""
_PENDING = "SELECT count(DISTINCT id) FROM (SELECT id FROM search_stale WHERE org_id = ?1 LIMIT ?2) waiting"
#: How many entries are scanned per requested hit, and at least, before the full-text index is used.
_SCANNED_PER_HIT, _MIN_SCANNED = 8, 400
#: The first bytes of a search cursor.
_CURSOR_MAGIC = b"search"
#: Pending changes are counted up to this number.
MAX_PENDING = 10_000


class SearchCriteria(NamedTuple):
    """Search words and filters. A namespace that ends in `*` is a prefix."""

    q: str = ""
    type: str | None = None
    namespace: str | None = None
    owner: str | None = None
    tag: str | None = None
    category: str | None = None
    format: str | None = None

    @property
    def is_empty(self) -> bool:
        """True if there are neither words nor filters."""
        _, *filters = self
        return not self.q.strip() and all(value is None for value in filters)


class SearchHit(msgspec.Struct, frozen=True):
    """A dataset or job that matches; `active` is false for a dataset that was dropped or renamed."""

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
    """The hits, the number of datasets and jobs still to be indexed, and the cursor of the next page, if any.

    If there are no hits, `near` lists words in names that are spelled similarly to the query.
    """

    items: list[SearchHit]
    pending: int
    next: str | None
    near: list[str] = []


class _SearchCursor(NamedTuple):
    """The position after a hit: the round of the hit and its entry."""

    round: int = 0
    sort_key: bytes = b""


def search(
    db: Database, org: str, criteria: SearchCriteria, limit: int = 20, after: str | None = None
) -> SearchResult:
    """Find datasets and jobs, best matches first. `after` is the `next` of the previous page."""
    cursor = _parse_cursor(after) if after else _SearchCursor()
    hits: list[tuple[_SearchCursor, SearchHit]] = []
    with db.snapshot():
        ((pending,),) = db.fetch_all(_PENDING, org, MAX_PENDING)
        for round_, expression in enumerate(build_rounds(criteria)):
            if round_ < cursor.round or len(hits) > limit:
                continue
            after_key = cursor.sort_key if round_ == cursor.round else b""
            rows = find_entries(db, org, expression, after_key, limit + 1 - len(hits))
            hits.extend((_SearchCursor(round_, sort_key), to_hit(*row)) for sort_key, *row in rows)
        suggestions = [] if hits or after else _find_suggestions(db, org, criteria)
    page = hits[:limit]
    next_cursor = None
    if len(hits) > limit:
        last_cursor, _ = page[-1]
        next_cursor = _format_cursor(last_cursor)
    return SearchResult([hit for _, hit in page], pending, next_cursor, suggestions)


def build_rounds(criteria: SearchCriteria) -> list[SearchExpression]:
    """Build one expression per round, best first: the exact name, all words in the name, all words anywhere.

    Each round excludes the matches of the previous rounds.
    """
    filters = build_filters(criteria)
    if not criteria.q.strip():
        return [SearchExpression(filters)]
    exact_name = (word_of(tokens.value_token(tokens.EXACT, criteria.q)),)
    words_in_name = tokens.query_words(tokens.NAME, criteria.q)
    rounds = [SearchExpression((*exact_name, *filters))]
    if words_in_name:
        words_anywhere = tokens.query_words(tokens.ANY, criteria.q)
        rounds.append(SearchExpression((*words_in_name, *filters), without=(exact_name,)))
        rounds.append(SearchExpression((*words_anywhere, *filters), without=(exact_name, words_in_name)))
    return rounds


def build_filters(criteria: SearchCriteria) -> tuple[QueryWord, ...]:
    """Build one word per filter, because words of a query must all match."""
    filters = (
        (tokens.KIND, criteria.type),
        (tokens.OWNER, criteria.owner),
        (tokens.TAG, criteria.tag),
        (tokens.CATEGORY, criteria.category),
        (tokens.FORMAT, criteria.format),
    )
    words = [word_of(tokens.value_token(first_letter, value)) for first_letter, value in filters if value is not None]
    if criteria.namespace is not None:
        words.append(tokens.namespace_filter(criteria.namespace))
    return tuple(words)


def find_entries(
    db: Database, org: str, expression: SearchExpression, after_key: bytes, limit: int
) -> list[tuple[Any, ...]]:
    """Find entries by scanning the first ones or, if too few of them match, by the full-text index."""
    if not expression.words:
        return []
    condition, values = to_like(expression, first_parameter=5)
    scan_size = max(_MIN_SCANNED, limit * _SCANNED_PER_HIT)
    rows = db.fetch_all(_AMONG_FIRST.format(condition=condition), org, after_key, scan_size, limit, *values)
    if len(rows) == limit:
        return rows
    return db.fetch_matches(_BY_INDEX, expression, org, after_key, limit)


def _find_suggestions(db: Database, org: str, criteria: SearchCriteria) -> list[str]:
    """Suggest words in names that are similar to a mistyped one-word query."""
    expression = similar_names_expression(criteria.q, build_filters(criteria))
    if expression is None:
        return []
    rows = find_entries(db, org, expression, b"", MAX_COMPARED)
    return closest_words(criteria.q, [to_hit(*row).name for _, *row in rows])


def to_hit(kind: str, id_: bytes, hit_json: str) -> SearchHit:
    content = msgspec.json.decode(hit_json, type=HitContent)
    return SearchHit(kind, str(UUID(bytes=bytes(id_))), **msgspec.structs.asdict(content))


def _format_cursor(cursor: _SearchCursor) -> str:
    return urlsafe_b64encode(_CURSOR_MAGIC + bytes([cursor.round]) + cursor.sort_key).decode().rstrip("=")


def _parse_cursor(text: str) -> _SearchCursor:
    """Parse a cursor. Raises InvalidParameter if no search can have returned the cursor."""
    try:
        decoded = b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    except ValueError:
        decoded = b""
    content = decoded.removeprefix(_CURSOR_MAGIC)
    if not decoded.startswith(_CURSOR_MAGIC) or not content:
        raise InvalidParameter("not a cursor that was returned as `next`", "after")
    round_, *sort_key = content
    return _SearchCursor(round_, bytes(sort_key))
