"""Parses a Spark SQL query, and lists the views that it reads."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot import Token, TokenType
from sqlglot import expressions as exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError

from mappers.errors import InvalidSql

_OPENS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM, TokenType.L_PAREN})
_LONGEST_SHOWN = 40


def parse_query(sql: str) -> exp.Expression:
    """Read a text as one query; raises BadSql with line and column where it is none."""
    try:
        return _query(sql)
    except SqlglotError as error:
        raise _located(sql, error) from None
    except RecursionError:
        raise InvalidSql("line 1, column 1: the query is nested too deeply to be read") from None


def source_position(sql: str, node: exp.Expression) -> str:
    """Say where a name stands in its text."""
    start = min((one.meta["start"] for one in node.find_all(exp.Identifier) if "start" in one.meta), default=0)
    return f"line {sql.count(chr(10), 0, start) + 1}, column {start - sql.rfind(chr(10), 0, start)}"


def printable(text: str) -> str:
    """Put a question mark for every letter that does not show, or drives a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def child_nodes(node: exp.Expression) -> Iterator[exp.Expression]:
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
        raise InvalidSql(f"{_at(tokens[0])}: SELECT INTO writes: a step only reads")
    if not isinstance(statement, exp.Query | exp.Values):
        what = statement.key.upper() if statement else "this"
        raise InvalidSql(f"{_at(tokens[0])}: {what} is not a query: a step is one SELECT")
    if isinstance(statement, exp.Select) and not statement.expressions:
        raise InvalidSql(f"{_at(tokens[0])}: nothing is selected")
    return statement


def _parse(dialect: Dialect, tokens: list[Token], sql: str) -> list[exp.Expression | None]:
    try:
        return dialect.parser().parse(tokens, sql)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError) as error:
        # What is far from any SQL meets assumptions in the parser itself.
        raise InvalidSql(f"{_at(tokens[0])}: the query cannot be read") from error


def _refuse_others(tokens: Sequence[Token]) -> None:
    """Refuse what is not one query before it is read: what comes first says it."""
    if not tokens:
        raise InvalidSql("line 1, column 1: there is no query")
    if tokens[0].token_type not in _OPENS:
        raise InvalidSql(f"{_at(tokens[0])}: {_short(tokens[0].text)} does not begin a query: a step is one SELECT")
    for token, after in pairwise(tokens):
        if token.token_type is after.token_type is TokenType.L_BRACE:
            raise InvalidSql(f"{_at(token)}: braces are of a template, not of SQL: parameters are written as :name")
        if token.token_type is TokenType.SEMICOLON and after.token_type is not TokenType.SEMICOLON:
            raise InvalidSql(f"{_at(after)}: a second statement begins: a step is one SELECT")


def _at(token: Token) -> str:
    return f"line {token.line}, column {max(token.col - len(token.text) + 1, 1)}"


def _short(text: str) -> str:
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= _LONGEST_SHOWN else f"{flat[:_LONGEST_SHOWN]}..."


def _located(sql: str, error: SqlglotError) -> InvalidSql:
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        seen = str(first.get("highlight") or "")
        said = str(first.get("description") or "cannot be read").partition(" but got ")[0]
        what = f"unexpected {_short(seen)}" if "Unexpected token" in said else f"{said} near {_short(seen)}"
        column = max(int(first.get("col") or 1) - len(seen) + 1, 1)
        return InvalidSql(f"line {first.get('line') or 1}, column {column}: {what[0].lower()}{what[1:]}")
    # Texts that cannot even be cut into words: a quote or a comment that nobody closes.
    last = sql.rstrip()
    line, column = last.count("\n") + 1, len(last) - last.rfind("\n") - 1
    return InvalidSql(f"line {line}, column {max(column, 1)}: a quote, a name or a comment is not closed")


def referenced_views(sql: str) -> frozenset[str]:
    """List the views that a query reads, in lower case; raises BadSql where the text is not one query."""
    query = parse_query(sql)
    try:
        return views_in(query)
    except RecursionError:
        raise InvalidSql("line 1, column 1: the query is nested too deeply to be read") from None


def views_in(query: exp.Expression) -> frozenset[str]:
    """List the views that a query reads, in lower case, without what its WITH clauses name."""
    found: set[str] = set()
    waiting: list[tuple[exp.Expression, frozenset[str]]] = [(query, frozenset())]
    while waiting:
        node, named = waiting.pop()
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            for cte in clause.expressions:
                within = named | {cte.alias.lower()} if clause.recursive else named
                waiting.append((cte.this, within))
                named |= {cte.alias.lower()}
        if isinstance(node, exp.Table):
            name = view_name(node)
            if name and (node.db or name not in named):
                found.add(name)
            found |= _given_tables(node.this)
        waiting += [(child, named) for child in child_nodes(node) if child is not clause]
    return frozenset(found)


def view_name(table: exp.Table) -> str | None:
    """Name the view that is read, dotted where it is qualified; None for a function that gives rows."""
    if isinstance(table.this, exp.Func) and table.this.name.upper() == "IDENTIFIER":
        raise InvalidSql("line 1, column 1: IDENTIFIER() hides which view is read: name the view")
    if not isinstance(table.this, exp.Identifier):
        return None
    return ".".join(part.name for part in table.parts).lower()


def _given_tables(function: exp.Expression) -> set[str]:
    """List the views that a function of a FROM clause is given as TABLE(...)."""
    given = (one for one in function.args.get("expressions") or () if isinstance(one, exp.Anonymous))
    columns = (one.expressions[0] for one in given if one.name.upper() == "TABLE" and one.expressions)
    return {".".join(part.name for part in one.parts).lower() for one in columns if isinstance(one, exp.Column)}
