"""Search expressions, rendered as FTS5, tsquery or LIKE."""

from collections.abc import Sequence
from typing import NamedTuple

from bridge.store.search.tokens import QueryToken, QueryWord


class SearchExpression(NamedTuple):
    """All words must match, and none of the excluded combinations may match as a whole."""

    words: tuple[QueryWord, ...]
    without: tuple[tuple[QueryWord, ...], ...] = ()


def to_fts5(expression: SearchExpression) -> str:
    """Render for FTS5; tokens contain letters and digits only, so quoting them is enough."""
    return _render(expression, " NOT ({0})", " AND ", " OR ", '"{0}"', '"{0}"*')


def to_tsquery(expression: SearchExpression) -> str:
    """Render for `to_tsquery` of PostgreSQL."""
    return _render(expression, " & !({0})", " & ", " | ", "'{0}'", "'{0}':*")


def _render(expression: SearchExpression, exclusion: str, and_: str, or_: str, exact: str, prefix: str) -> str:
    def token(query_token: QueryToken) -> str:
        return (prefix if query_token.prefix else exact).format(query_token.text)

    def word(alternatives: QueryWord) -> str:
        return "(" + or_.join("(" + and_.join(map(token, tokens)) + ")" for tokens in alternatives) + ")"

    def all_of(words: Sequence[QueryWord]) -> str:
        return and_.join(map(word, words))

    return f"({all_of(expression.words)})" + "".join(exclusion.format(all_of(words)) for words in expression.without)


def to_like(expression: SearchExpression, first: int) -> tuple[str, list[str]]:
    """Render as LIKE conditions on words surrounded by spaces; values are bound from `?first` on."""
    values: list[str] = []

    def token(query_token: QueryToken) -> str:
        values.append(f"% {query_token.text}%" if query_token.prefix else f"% {query_token.text} %")
        return f"words LIKE ?{first + len(values) - 1}"

    def all_of(words: Sequence[QueryWord]) -> str:
        return " AND ".join(
            "(" + " OR ".join("(" + " AND ".join(map(token, tokens)) + ")" for tokens in word) + ")" for word in words
        )

    condition = all_of(expression.words) + "".join(f" AND NOT ({all_of(words)})" for words in expression.without)
    return condition, values
