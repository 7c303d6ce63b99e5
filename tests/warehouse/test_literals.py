"""Literals by dialect; Db2 and Teradata literals are parsed here according to their manuals."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from bridge.warehouse.dialect import WarehouseDialect
from bridge.warehouse.inserts import insert_statements
from bridge.warehouse.literals import Value, literal
from bridge.warehouse.table_sets import select_tables
from tests.factories import dataset, facet, run_event
from tests.fuzz.hostile_names import HOSTILE
from tests.stores import Store

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "sqlite", "postgresql", "db2", "teradata"),
    [
        (None, "NULL", "NULL", "NULL", "NULL"),
        (True, "1", "TRUE", "1", "1"),
        (False, "0", "FALSE", "0", "0"),
        (-7, "-7", "-7", "-7", "-7"),
        (0.5, "0.5", "0.5", "0.5", "0.5"),
        (NOON, *("'2026-01-01 12:00:00.000000'", *["TIMESTAMP '2026-01-01 12:00:00.000000'"] * 3)),
        ("", *["''"] * 4),
        ("it's", *["'it''s'"] * 4),
        ("a\\b", "'a\\b'", "E'a\\\\b'", "'a\\b'", "'a\\b'"),
        ("a\nb", "CAST(X'610a62' AS TEXT)", "E'a\\x0ab'", "'a' || CHR(10) || 'b'", "'a' || _UNICODE '000A'XC || 'b'"),
    ],
)  # fmt: skip
def test_literals(value: Value, sqlite: str, postgresql: str, db2: str, teradata: str) -> None:
    assert [literal(dialect, value) for dialect in WarehouseDialect] == [sqlite, postgresql, db2, teradata]


_PIECE = r"'((?:[^']|'')*)'"
#: Pattern of string pieces and control characters, and parser of the character code.
PIECES: dict[WarehouseDialect, tuple[str, Callable[[str], int]]] = {
    WarehouseDialect.db2: (rf"(?:CLOB\({_PIECE}\)|CHR\((\d+)\)|{_PIECE})", int),
    WarehouseDialect.teradata: (
        rf"(?:CAST\({_PIECE} AS CLOB CHARACTER SET UNICODE\)|_UNICODE '([0-9A-F]{{4}})'XC|{_PIECE})",
        lambda digits: int(digits, 16),
    ),
}


@pytest.mark.parametrize("dialect", PIECES)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_pieces_of_string_literals_equal_text(dialect: WarehouseDialect, text: str) -> None:
    piece, number = PIECES[dialect]
    expression = literal(dialect, text)
    assert re.fullmatch(rf"{piece}(?: \|\| {piece})*", expression)
    assert not re.search(r"[\x00-\x1f\x7f]", expression)
    parsed = ""
    for clob, control, plain in re.findall(piece, expression):
        assert len((clob or plain).encode()) <= 32_672
        parsed += chr(number(control)) if control else (clob or plain).replace("''", "'")
    assert parsed == text


@pytest.mark.system("teradatasqlalchemy")
def test_teradata_inserts_one_row_per_statement(sqlite_store: Store) -> None:
    sqlite_store.apply(run_event(outputs=[dataset("a"), dataset("b")]))
    statements = list(
        insert_statements(sqlite_store.db, sqlite_store.org, WarehouseDialect.teradata, select_tables())
    )
    assert sum(statement.startswith("INSERT INTO DATASET (") for statement in statements) == 2
    assert all(statement.count("\n") == 2 for statement in statements)


@pytest.mark.parametrize(
    "dialect",
    [
        pytest.param(WarehouseDialect.db2, marks=pytest.mark.system("ibm_db_sa")),
        pytest.param(WarehouseDialect.teradata, marks=pytest.mark.system("teradatasqlalchemy")),
    ],
)
def test_long_text_is_split_into_updates(sqlite_store: Store, dialect: WarehouseDialect) -> None:
    text = "it's 𝕬 " * 80_000
    sqlite_store.apply(run_event(outputs=[dataset("a", documentation=facet(description=text))]))
    statements = list(insert_statements(sqlite_store.db, sqlite_store.org, dialect, select_tables()))
    assert max(len(statement.encode()) for statement in statements) < 1_000_000
    [(index, inserted)] = [
        (index, statement)
        for index, statement in enumerate(statements)
        if statement.startswith("INSERT INTO DATASET (")
    ]
    updates = [statement for statement in statements if statement.startswith("UPDATE DATASET SET DESCRIPTION")]
    assert statements[index + 1 : index + 1 + len(updates)] == updates
    piece = PIECES[dialect][0]
    parts = [inserted, *(update.partition(" || ")[2].partition(" WHERE DATASET_ID = ")[0] for update in updates)]
    parsed = "".join(
        clob or plain for part in parts for clob, _, plain in re.findall(piece, part) if "𝕬" in (clob or plain)
    )
    assert parsed.replace("''", "'") == text


def test_statement_size_is_limited(sqlite_store: Store) -> None:
    for run in range(60):
        sqlite_store.apply(run_event(run=run, outputs=[dataset(f"{run} {'x' * 20_000}")]))
    statements = list(insert_statements(sqlite_store.db, sqlite_store.org, WarehouseDialect.sqlite, select_tables()))
    events = [statement for statement in statements if statement.startswith("INSERT INTO RUN_EVENT")]
    assert len(events) > 4
    assert max(map(len, events)) < 300_000
