"""Search expressions, rendered as FTS5, tsquery or LIKE."""

from collections.abc import Sequence
from typing import NamedTuple

from bridge.store.search.tokens import QueryToken, QueryWord


class SearchExpression(NamedTuple):
    """What entries are sought: all these words, but none that have all of one of the others as well."""

    words: tuple[QueryWord, ...]
    without: tuple[tuple[QueryWord, ...], ...] = ()


def to_fts5(sought: SearchExpression) -> str:
    """Write it for SQLite's full text search; tokens are letters and digits, so quoting them is enough."""
    return _written(sought, " NOT ({0})", " AND ", " OR ", '"{0}"', '"{0}"*')


def to_tsquery(sought: SearchExpression) -> str:
    """Write it for PostgreSQL's."""
    return _written(sought, " & !({0})", " & ", " | ", "'{0}'", "'{0}':*")


def _written(sought: SearchExpression, but: str, and_: str, or_: str, whole: str, beginning: str) -> str:
    def token(one: QueryToken) -> str:
        return (beginning if one.prefix else whole).format(one.text)

    def word(alternatives: QueryWord) -> str:
        return "(" + or_.join("(" + and_.join(map(token, tokens)) + ")" for tokens in alternatives) + ")"

    def all_of(words: Sequence[QueryWord]) -> str:
        return and_.join(map(word, words))

    return f"({all_of(sought.words)})" + "".join(but.format(all_of(words)) for words in sought.without)


def to_like(sought: SearchExpression, first: int) -> tuple[str, list[str]]:
    """Write it as a condition on a text of words with spaces around, whose values are bound from `?first` on."""
    values: list[str] = []

    def token(one: QueryToken) -> str:
        values.append(f"% {one.text}%" if one.prefix else f"% {one.text} %")
        return f"words LIKE ?{first + len(values) - 1}"

    def all_of(words: Sequence[QueryWord]) -> str:
        return " AND ".join(
            "(" + " OR ".join("(" + " AND ".join(map(token, tokens)) + ")" for tokens in word) + ")" for word in words
        )

    condition = all_of(sought.words) + "".join(f" AND NOT ({all_of(words)})" for words in sought.without)
    return condition, values
