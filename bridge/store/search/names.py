"""Finds datasets by part of their name, and names similar to a mistyped one, through the search index."""

from difflib import SequenceMatcher

from bridge.store.database import Database
from bridge.store.search import tokens
from bridge.store.search.expression import SearchExpression
from bridge.store.search.search import (
    MAX_COMPARED,
    SearchCriteria,
    SearchHit,
    build_filters,
    build_rounds,
    find_entries,
    to_hit,
    word_of,
)
from bridge.store.search.tokens import parse_query
from mappers.naming import last_part

#: Maximum number of candidates for an ambiguous name, and of similar names.
MAX_CANDIDATES, MAX_SIMILAR = 10, 5
#: Number of first characters that each word must share with a similar name.
_SHARED_PREFIX = 2
_MIN_SIMILARITY = 0.6


def find_by_part(db: Database, org: str, name: str) -> list[SearchHit]:
    """Find datasets by their whole name or its last parts, regardless of case.

    Dropped datasets are returned only if no other dataset matches.
    """
    exact_name, *_ = build_rounds(SearchCriteria(name, "dataset"))
    hits = _find(db, org, exact_name, MAX_CANDIDATES)
    return [hit for hit in hits if hit.active] or hits


def find_similar(db: Database, org: str, name: str, namespace: str | None = None) -> list[SearchHit]:
    """Find datasets whose names contain the last part of this name, or are spelled similarly, most similar first."""
    part = last_part(name)
    criteria = SearchCriteria(part, "dataset", namespace)
    prefixes = (
        word_of(tokens.NAME + first_token.text[:_SHARED_PREFIX], prefix=True)
        for ((first_token, *_), *_) in parse_query(part)
    )
    same_prefixes = SearchExpression((*prefixes, *build_filters(criteria)))
    hits = {
        hit.id: hit
        for expression in (*build_rounds(criteria)[:2], same_prefixes)
        for hit in _find(db, org, expression, MAX_COMPARED)
    }
    similarity = {hit.id: _similarity(name, hit.name) for hit in hits.values()}
    similar = [hit for hit in hits.values() if similarity[hit.id] >= (_MIN_SIMILARITY,)]
    return sorted(similar, key=lambda hit: similarity[hit.id], reverse=True)[:MAX_SIMILAR]


def _find(db: Database, org: str, expression: SearchExpression, limit: int) -> list[SearchHit]:
    return [to_hit(*row) for _, *row in find_entries(db, org, expression, b"", limit)]


def _similarity(name: str, other_name: str) -> tuple[float, float]:
    """Return the similarity of two names or of their last parts, whichever is greater, and that of the names."""
    names = _ratio(name, other_name)
    return max(names, _ratio(last_part(name), last_part(other_name))), names


def _ratio(text: str, other_text: str) -> float:
    """Return 1 if either text contains the other, and 0 if they have nothing in common."""
    text, other_text = tokens.normalize(text), tokens.normalize(other_text)
    if text in other_text or other_text in text:
        return 1.0
    return SequenceMatcher(None, text, other_text).ratio()
