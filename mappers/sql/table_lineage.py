"""Finds the tables that each statement of an SQL script reads and writes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import Dialect, Token, TokenType
from sqlglot import expressions as exp
from sqlglot.errors import ErrorLevel, SqlglotError

from mappers.sql.parser import without_parser_warnings

#: Statements that read or write rows, unlike statements about permissions, indexes, comments or sessions.
_ROW_STATEMENTS = (
    exp.Query, exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.MultitableInserts, exp.Copy, exp.LoadData,
    exp.TruncateTable,
)  # fmt: skip
_CREATED_KINDS = frozenset({"TABLE", "VIEW"})
_WRITING_NODES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Copy, exp.LoadData, exp.Into)
#: What the parser returns for text that is not a statement, such as a single word.
_NO_STATEMENT = (exp.Alias, exp.Condition, exp.Tuple)
#: Statements without rows that the parser does not analyze.
_ROWLESS_COMMANDS = frozenset(
    {"ALTER", "GRANT", "REVOKE", "SET", "SHOW", "EXPLAIN", "COMMENT", "ANALYZE", "CREATE", "DROP"}
)
#: The table of a TRUNCATE; the syntax after it differs between systems.
_TRUNCATED_TABLE = re.compile(r"\s*(?:TABLE\s+)?([\w.$#\"]+)", re.IGNORECASE)


class StatementTables(NamedTuple):
    """The tables that a statement reads and writes, each once."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


class ScriptTables(NamedTuple):
    """Statements that read or write rows, and the numbers (from 1) of statements that cannot be parsed."""

    statements: list[StatementTables]
    unparsed_numbers: list[int]


def script_tables(script: str) -> ScriptTables:
    """List the tables of each statement; a statement that cannot be parsed does not affect the rest."""
    result = ScriptTables([], [])
    for number, statement in enumerate(_parsed_statements(script), 1):
        if statement is None or isinstance(statement, _NO_STATEMENT):
            result.unparsed_numbers.append(number)
        elif isinstance(statement, exp.Command):
            command = statement.name.upper()
            if command == "TRUNCATE" and (match := _TRUNCATED_TABLE.match(str(statement.expression))):
                truncated_table = match[1].replace('"', "")
                result.statements.append(StatementTables(reads=(), writes=(truncated_table,)))
            elif command not in _ROWLESS_COMMANDS:
                result.unparsed_numbers.append(number)
        elif isinstance(statement, _ROW_STATEMENTS) or (
            isinstance(statement, exp.Create) and statement.kind in _CREATED_KINDS
        ):
            result.statements.append(_statement_tables(statement))
    return result


def _parsed_statements(script: str) -> Iterator[exp.Expression | None]:
    """Parse the statements one by one; yields None for a statement that cannot be parsed."""
    dialect = Dialect.get_or_raise(None)
    try:
        tokens = dialect.tokenize(script)
    except SqlglotError:
        yield None
        return
    for statement_tokens in _split_statements(tokens):
        try:
            with without_parser_warnings():
                (statement, *_) = dialect.parser(error_level=ErrorLevel.IMMEDIATE).parse(statement_tokens, script)
        except (SqlglotError, RecursionError):
            statement = None
        yield statement


def _split_statements(tokens: list[Token]) -> Iterator[list[Token]]:
    start = 0
    for index, token in enumerate(tokens):
        if token.token_type == TokenType.SEMICOLON:
            if index > start:
                yield tokens[start:index]
            start = index + 1
    if start < len(tokens):
        yield tokens[start:]


def _statement_tables(statement: exp.Expression) -> StatementTables:
    """List the tables of a statement; a table that is read and written is in both lists."""
    tables = list(statement.find_all(exp.Table))
    # Equal nodes of the same table may be read and written, so nodes are distinguished by identity.
    written_ids = {id(table) for table in _written_tables(statement)}
    ctes = {cte.alias_or_name for cte in statement.find_all(exp.CTE)}
    aliases = {table.alias: _table_name(table) for table in tables if table.alias}
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    for table in tables:
        name = _table_name(table)
        if not name or (not table.db and table.name in ctes):
            continue
        if id(table) in written_ids:
            written_name = name if table.db else aliases.get(table.name, name)
            writes[written_name] = None
        else:
            reads[name] = None
    if isinstance(statement, exp.Update):
        # `UPDATE a … FROM t a` updates t, but also lists it as a source.
        reads = {name: None for name in reads if name not in writes}
    return StatementTables(tuple(reads), tuple(writes))


def _written_tables(statement: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the nodes of tables that are truncated or written to."""
    if isinstance(statement, exp.TruncateTable):
        yield from statement.find_all(exp.Table)
    for node in statement.find_all(*_WRITING_NODES):
        target = node.this.find(exp.Table) if isinstance(node.this, exp.Expression) else None
        if target is not None:
            yield target


def _table_name(table: exp.Table) -> str:
    return ".".join(part for part in (table.catalog, table.db, table.name) if part)
