"""A text of Spark's dialect as one query that only reads, or what is wrong with it, and where."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot import Token, TokenType
from sqlglot import expressions as exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

from mappers.errors import BadSql

_OPENS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM, TokenType.L_PAREN})
_LONGEST_SHOWN = 40


def read_query(sql: str) -> exp.Expression:
    """Read a text as one query; raises BadSql with line and column where it is none."""
    try:
        return _query(sql)
    except SqlglotError as error:
        raise _located(sql, error) from None
    except RecursionError:
        raise BadSql("line 1, column 1: the query is nested too deeply to be read") from None


def place(sql: str, node: exp.Expression) -> str:
    """Say where a name stands in its text."""
    start = min((one.meta["start"] for one in node.find_all(exp.Identifier) if "start" in one.meta), default=0)
    return f"line {sql.count(chr(10), 0, start) + 1}, column {start - sql.rfind(chr(10), 0, start)}"


def printable(text: str) -> str:
    """Put a question mark for every letter that does not show, or drives a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def own_children(node: exp.Expression) -> Iterator[exp.Expression]:
    """List what a node is made of, but for hints: they name views without reading them."""
    for key, value in node.args.items():
        if key != "hint":
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, exp.Expression):
                    yield one


def _query(sql: str) -> exp.Expression:
    dialect = Dialect.get_or_raise("spark")
    tokens = dialect.tokenize(sql)
    _refuse_others(tokens)
    (statement, *_) = _parse(dialect, tokens, sql)
    if isinstance(statement, exp.Select) and statement.args.get("into"):
        raise BadSql(f"{_at(tokens[0])}: SELECT INTO writes: a step only reads")
    if not isinstance(statement, exp.Query | exp.Values):
        what = statement.key.upper() if statement else "this"
        raise BadSql(f"{_at(tokens[0])}: {what} is not a query: a step is one SELECT")
    if isinstance(statement, exp.Select) and not statement.expressions:
        raise BadSql(f"{_at(tokens[0])}: nothing is selected")
    return statement


def _parse(dialect: Dialect, tokens: list[Token], sql: str) -> list[exp.Expression | None]:
    try:
        return dialect.parser().parse(tokens, sql)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError) as error:
        # What is far from any SQL meets assumptions in the parser itself.
        raise BadSql(f"{_at(tokens[0])}: the query cannot be read") from error


def _refuse_others(tokens: Sequence[Token]) -> None:
    """Refuse what is not one query before it is read: what comes first says it."""
    if not tokens:
        raise BadSql("line 1, column 1: there is no query")
    if tokens[0].token_type not in _OPENS:
        raise BadSql(f"{_at(tokens[0])}: {_short(tokens[0].text)} does not begin a query: a step is one SELECT")
    for token, after in pairwise(tokens):
        if token.token_type is after.token_type is TokenType.L_BRACE:
            raise BadSql(f"{_at(token)}: braces are of a template, not of SQL: parameters are written as :name")
        if token.token_type is TokenType.SEMICOLON and after.token_type is not TokenType.SEMICOLON:
            raise BadSql(f"{_at(after)}: a second statement begins: a step is one SELECT")


def _at(token: Token) -> str:
    return f"line {token.line}, column {max(token.col - len(token.text) + 1, 1)}"


def _short(text: str) -> str:
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= _LONGEST_SHOWN else f"{flat[:_LONGEST_SHOWN]}..."


def _located(sql: str, error: SqlglotError) -> BadSql:
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        seen = str(first.get("highlight") or "")
        said = str(first.get("description") or "cannot be read").partition(" but got ")[0]
        what = f"unexpected {_short(seen)}" if "Unexpected token" in said else f"{said} near {_short(seen)}"
        column = max(int(first.get("col") or 1) - len(seen) + 1, 1)
        return BadSql(f"line {first.get('line') or 1}, column {column}: {what[0].lower()}{what[1:]}")
    # Texts that cannot even be cut into words: a quote or a comment that nobody closes.
    last = sql.rstrip()
    line, column = last.count("\n") + 1, len(last) - last.rfind("\n") - 1
    return BadSql(f"line {line}, column {max(column, 1)}: a quote, a name or a comment is not closed")
