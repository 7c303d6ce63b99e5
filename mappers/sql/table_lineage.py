"""Tables that each statement of an SQL script reads and writes."""

import logging
import re
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import Dialect, Token, TokenType
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

#: What rows go through; all others (of rights, indexes, comments, sessions) move none.
_MOVES = (
    exp.Query, exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.MultitableInserts, exp.Copy, exp.LoadData,
    exp.TruncateTable,
)  # fmt: skip
_MADE = frozenset({"TABLE", "VIEW"})
_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Copy, exp.LoadData, exp.Into)
#: What the parser gives when a text is no statement, such as a word alone.
_NO_STATEMENT = (exp.Alias, exp.Condition, exp.Tuple)
#: Statements that the parser leaves as they are, and that are known to move no rows.
_HARMLESS = frozenset({"ALTER", "GRANT", "REVOKE", "SET", "SHOW", "EXPLAIN", "COMMENT", "ANALYZE", "CREATE", "DROP"})
#: What stands behind the table of a TRUNCATE is every system's own.
_TRUNCATED = re.compile(r"\s*(?:TABLE\s+)?([\w.$#\"]+)", re.IGNORECASE)


class StatementTables(NamedTuple):
    """The tables that a statement reads, and those that it writes, each once."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


class ScriptTables(NamedTuple):
    """What the statements of a text move, and which of them, counted from 1, cannot be read."""

    moved: list[StatementTables]
    unread: list[int]


def _quotes_no_statement(record: logging.LogRecord) -> bool:
    """Keep back what the parser warns of: it quotes statements, passwords and all; what is unread is told by us."""
    return record.levelno > logging.WARNING


logging.getLogger("sqlglot").addFilter(_quotes_no_statement)


def script_tables(text: str) -> ScriptTables:
    """Name the tables of statements, one by one; one that cannot be read names none, and spoils no other."""
    found = ScriptTables([], [])
    for number, statement in enumerate(_statements(text), 1):
        if statement is None or isinstance(statement, _NO_STATEMENT):
            found.unread.append(number)
        elif isinstance(statement, exp.Command):
            word = statement.name.upper()
            if word == "TRUNCATE" and (table := _TRUNCATED.match(str(statement.expression))):
                found.moved.append(StatementTables((), (table[1].replace('"', ""),)))
            elif word not in _HARMLESS:
                found.unread.append(number)
        elif isinstance(statement, _MOVES) or (isinstance(statement, exp.Create) and statement.kind in _MADE):
            found.moved.append(_moved(statement))
    return found


def _statements(text: str) -> Iterator[exp.Expression | None]:
    """Parse statement by statement; None stands for one that cannot be read."""
    dialect = Dialect.get_or_raise(None)
    try:
        tokens = dialect.tokenize(text)
    except SqlglotError:
        yield None
        return
    for one in _divided(tokens):
        try:
            yield dialect.parser().parse(one, text)[0]
        except (SqlglotError, RecursionError):
            yield None


def _divided(tokens: list[Token]) -> Iterator[list[Token]]:
    """Divide tokens at semicolons."""
    begin = 0
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.SEMICOLON:
            if place > begin:
                yield tokens[begin:place]
            begin = place + 1
    if begin < len(tokens):
        yield tokens[begin:]


def _moved(statement: exp.Expression) -> StatementTables:
    tables = list(statement.find_all(exp.Table))
    # What is emptied and what is filled are changed, not read.
    written = [id(one) for one in _written(statement)]
    ctes = {one.alias_or_name for one in statement.find_all(exp.CTE)}
    aliases = {one.alias: _name(one) for one in tables if one.alias}
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    for table in tables:
        name = _name(table)
        if not name or (not table.db and table.name in ctes):
            continue
        if id(table) in written:
            writes[name if table.db else aliases.get(table.name, name)] = None
        else:
            reads[name] = None
    if isinstance(statement, exp.Update):
        # `UPDATE a … FROM t a` changes t, and names it among what it reads.
        reads = {name: None for name in reads if name not in writes}
    return StatementTables(tuple(reads), tuple(writes))


def _written(statement: exp.Expression) -> Iterator[exp.Expression]:
    """Give the tables that a statement writes."""
    if isinstance(statement, exp.TruncateTable):
        yield from statement.find_all(exp.Table)
    for one in statement.find_all(*_WRITES):
        target = one.this.find(exp.Table) if isinstance(one.this, exp.Expression) else None
        if target is not None:
            yield target


def _name(table: exp.Table) -> str:
    return ".".join(part for part in (table.catalog, table.db, table.name) if part)
