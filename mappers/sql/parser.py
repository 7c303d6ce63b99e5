"""Parses Spark SQL queries, and lists the views that they read."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from sqlglot import Token, TokenType
from sqlglot import expressions as exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

from mappers.errors import InvalidSql

_QUERY_STARTS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM, TokenType.L_PAREN})
_MAX_SHOWN_CHARACTERS = 40


class _ErrorsOnly(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.WARNING


@contextmanager
def without_parser_warnings() -> Iterator[None]:
    """Keep the parser's warnings out of the log: they quote statements, which may contain passwords."""
    logger = logging.getLogger("sqlglot")
    # One filter per call, so that threads that parse at the same time do not remove each other's filter.
    errors_only = _ErrorsOnly()
    logger.addFilter(errors_only)
    try:
        yield
    finally:
        logger.removeFilter(errors_only)


def parse_query(sql: str) -> exp.Expression:
    """Parse text as one query; raises InvalidSql with line and column if it is anything else."""
    try:
        return _parse_single_query(sql)
    except SqlglotError as error:
        raise _syntax_error(sql, error) from None
    except RecursionError:
        raise InvalidSql("line 1, column 1: the query is nested too deeply") from None


def source_position(sql: str, node: exp.Expression) -> str:
    """Return line and column of the first name in a node."""
    start = min(
        (identifier.meta["start"] for identifier in node.find_all(exp.Identifier) if "start" in identifier.meta),
        default=0,
    )
    line = sql.count("\n", 0, start) + 1
    column = start - sql.rfind("\n", 0, start)
    return f"line {line}, column {column}"


def printable(text: str) -> str:
    """Replace invisible characters and terminal control characters with question marks."""
    return "".join(character if character.isprintable() else "?" for character in text)


def child_nodes(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the child nodes except hints, which name views without reading them."""
    for key, value in node.args.items():
        if key != "hint":
            children = value if isinstance(value, list) else [value]
            yield from (child for child in children if isinstance(child, exp.Expression))


def _parse_single_query(sql: str) -> exp.Expression:
    """Parse one query; raises InvalidSql for another statement, and SqlglotError for invalid syntax."""
    dialect = Dialect.get_or_raise("spark")
    tokens = dialect.tokenize(sql)
    _reject_other_statements(tokens)
    (statement, *_) = _parse_statements(dialect, tokens, sql)
    position = _token_position(tokens[0])
    if isinstance(statement, exp.Select) and statement.args.get("into"):
        raise InvalidSql(f"{position}: SELECT INTO writes a table: a step can only read")
    if not isinstance(statement, exp.Query | exp.Values):
        keyword = statement.key.upper() if statement else "this"
        raise InvalidSql(f"{position}: {keyword} is not a query: a step must be a single SELECT")
    if isinstance(statement, exp.Select) and not statement.expressions:
        raise InvalidSql(f"{position}: the select list is empty")
    return statement


def _parse_statements(dialect: Dialect, tokens: list[Token], sql: str) -> list[exp.Expression | None]:
    try:
        with without_parser_warnings():
            return dialect.parser().parse(tokens, sql)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError) as error:
        # Text that hardly resembles SQL can violate assumptions of the parser.
        raise InvalidSql(f"{_token_position(tokens[0])}: the query cannot be parsed") from error


def _reject_other_statements(tokens: Sequence[Token]) -> None:
    """Reject tokens that are not a single query, before they are parsed."""
    if not tokens:
        raise InvalidSql("line 1, column 1: the query is empty")
    first_token = tokens[0]
    if first_token.token_type not in _QUERY_STARTS:
        keyword = _abbreviate(first_token.text)
        raise InvalidSql(
            f"{_token_position(first_token)}: {keyword} cannot start a query: a step must be a single SELECT"
        )
    for token, next_token in pairwise(tokens):
        if token.token_type is next_token.token_type is TokenType.L_BRACE:
            raise InvalidSql(
                f"{_token_position(token)}: double braces are template syntax, not SQL: write parameters as :name"
            )
        if token.token_type is TokenType.SEMICOLON and next_token.token_type is not TokenType.SEMICOLON:
            raise InvalidSql(
                f"{_token_position(next_token)}: this is a second statement: a step must be a single SELECT"
            )


def _token_position(token: Token) -> str:
    return f"line {token.line}, column {max(token.col - len(token.text) + 1, 1)}"


def _abbreviate(text: str) -> str:
    single_line = printable(" ".join(text.split()))
    if len(single_line) > _MAX_SHOWN_CHARACTERS:
        return f"{single_line[:_MAX_SHOWN_CHARACTERS]}..."
    return single_line


def _syntax_error(sql: str, error: SqlglotError) -> InvalidSql:
    """Translate an error of the parser to a position and a short reason."""
    if isinstance(error, ParseError) and error.errors:
        first_error = error.errors[0]
        token_text = str(first_error.get("highlight") or "")
        description = str(first_error.get("description") or "cannot be parsed").partition(" but got ")[0]
        if "Unexpected token" in description:
            problem = f"unexpected {_abbreviate(token_text)}"
        else:
            problem = f"{description} near {_abbreviate(token_text)}"
        column = max(int(first_error.get("col") or 1) - len(token_text) + 1, 1)
        return InvalidSql(f"line {first_error.get('line') or 1}, column {column}: {problem[0].lower()}{problem[1:]}")
    # The text cannot be tokenized: a quote or a comment is not closed.
    stripped_sql = sql.rstrip()
    line, column = stripped_sql.count("\n") + 1, len(stripped_sql) - stripped_sql.rfind("\n") - 1
    return InvalidSql(f"line {line}, column {max(column, 1)}: a quote, a name or a comment is not closed")


def referenced_views(sql: str) -> frozenset[str]:
    """List the views that a query reads, in lower case; raises InvalidSql if the text is not one query."""
    query = parse_query(sql)
    try:
        return views_in(query)
    except RecursionError:
        raise InvalidSql("line 1, column 1: the query is nested too deeply") from None


def referenced_parameters(sql: str) -> frozenset[str]:
    """List the named parameters of a query, such as `day` for `:day`; raises InvalidSql if it is not one query."""
    return frozenset(node.name for node in parse_query(sql).find_all(exp.Placeholder) if node.name)


def views_in(query: exp.Expression) -> frozenset[str]:
    """List the views that a query reads, in lower case; its common table expressions are not included."""
    views: set[str] = set()
    pending: list[tuple[exp.Expression, frozenset[str]]] = [(query, frozenset())]
    while pending:
        node, cte_names = pending.pop()
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            for cte in clause.expressions:
                next_cte_names = cte_names | {cte.alias.lower()}
                # A recursive expression can also refer to itself.
                pending.append((cte.this, next_cte_names if clause.recursive else cte_names))
                cte_names = next_cte_names
        if isinstance(node, exp.Table):
            name = view_name(node)
            if name and (node.db or name not in cte_names):
                views.add(name)
            views |= _views_in_arguments(node.this)
        pending += [(child, cte_names) for child in child_nodes(node) if child is not clause]
    return frozenset(views)


def view_name(table: exp.Table) -> str | None:
    """Return the qualified name of a view, or None for a table function."""
    if isinstance(table.this, exp.Func) and table.this.name.upper() == "IDENTIFIER":
        raise InvalidSql("line 1, column 1: IDENTIFIER() hides which view is read: name the view")
    if not isinstance(table.this, exp.Identifier):
        return None
    return ".".join(part.name for part in table.parts).lower()


def _views_in_arguments(function: exp.Expression) -> set[str]:
    """List the views passed to a table function as TABLE(...)."""
    views = set()
    for call in function.args.get("expressions") or ():
        if isinstance(call, exp.Anonymous) and call.name.upper() == "TABLE" and call.expressions:
            view, *_ = call.expressions
            if isinstance(view, exp.Column):
                views.add(".".join(part.name for part in view.parts).lower())
    return views
