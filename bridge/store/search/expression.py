"""Search expressions, rendered as FTS5, tsquery or LIKE."""

from collections.abc import Sequence
from typing import NamedTuple

from bridge.store.search.tokens import QueryToken, QueryWord


class SearchExpression(NamedTuple):
    """All words must match, and none of the excluded combinations may match as a whole."""

    words: tuple[QueryWord, ...]
    without: tuple[tuple[QueryWord, ...], ...] = ()


def to_fts5(expression: SearchExpression) -> str:
    """Render for FTS5. Tokens contain only letters and digits, so quotes need no escaping."""
    return _render(expression, " NOT ({0})", " AND ", " OR ", '"{0}"', '"{0}"*')


def to_tsquery(expression: SearchExpression) -> str:
    """Render for `to_tsquery` of PostgreSQL."""
    return _render(expression, " & !({0})", " & ", " | ", "'{0}'", "'{0}':*")


def _render(
    expression: SearchExpression, exclusion_format: str, and_: str, or_: str, token_format: str, prefix_format: str
) -> str:
    """Render with the operators and format strings of a query language."""

    def render_token(token: QueryToken) -> str:
        return (prefix_format if token.prefix else token_format).format(token.text)

    def render_word(alternatives: QueryWord) -> str:
        return "(" + or_.join("(" + and_.join(map(render_token, tokens)) + ")" for tokens in alternatives) + ")"

    def render_words(words: Sequence[QueryWord]) -> str:
        return and_.join(map(render_word, words))

    exclusions = "".join(exclusion_format.format(render_words(words)) for words in expression.without)
    return f"({render_words(expression.words)}){exclusions}"


def to_like(expression: SearchExpression, first_parameter: int) -> tuple[str, list[str]]:
    """Render as LIKE conditions on the column `words`, which must begin and end with a space.

    Returns the SQL and the values to bind, whose placeholders are numbered from `first_parameter`.
    """
    values: list[str] = []

    def render_token(token: QueryToken) -> str:
        values.append(f"% {token.text}%" if token.prefix else f"% {token.text} %")
        return f"words LIKE ?{first_parameter + len(values) - 1}"

    def render_word(alternatives: QueryWord) -> str:
        return "(" + " OR ".join("(" + " AND ".join(map(render_token, tokens)) + ")" for tokens in alternatives) + ")"

    def render_words(words: Sequence[QueryWord]) -> str:
        return " AND ".join(map(render_word, words))

    condition = render_words(expression.words)
    condition += "".join(f" AND NOT ({render_words(words)})" for words in expression.without)
    return condition, values
