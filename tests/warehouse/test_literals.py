"""Values as the houses read them: those that do not run here are read by their manuals' rules."""

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
def test_a_value_is_spelled_for_each_house(
    value: Value, sqlite: str, postgresql: str, db2: str, teradata: str
) -> None:
    assert [literal(house, value) for house in WarehouseDialect] == [sqlite, postgresql, db2, teradata]


_PIECE = r"'((?:[^']|'')*)'"
#: How a piece of a text is spelled, and a character on its own; what a piece may be at most.
READ: dict[WarehouseDialect, tuple[str, Callable[[str], int]]] = {
    WarehouseDialect.db2: (rf"(?:CLOB\({_PIECE}\)|CHR\((\d+)\)|{_PIECE})", int),
    WarehouseDialect.teradata: (
        rf"(?:CAST\({_PIECE} AS CLOB CHARACTER SET UNICODE\)|_UNICODE '([0-9A-F]{{4}})'XC|{_PIECE})",
        lambda digits: int(digits, 16),
    ),
}


@pytest.mark.parametrize("house", READ)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_is_put_together_as_it_was(house: WarehouseDialect, text: str) -> None:
    piece, number = READ[house]
    spelled = literal(house, text)
    assert re.fullmatch(rf"{piece}(?: \|\| {piece})*", spelled)
    assert not re.search(r"[\x00-\x1f\x7f]", spelled)
    read = ""
    for first, control, other in re.findall(piece, spelled):
        assert len((first or other).encode()) <= 32_672
        read += chr(number(control)) if control else (first or other).replace("''", "'")
    assert read == text


@pytest.mark.system("teradatasqlalchemy")
def test_teradata_gets_one_row_a_statement(sqlite_store: Store) -> None:
    sqlite_store.apply(run_event(outputs=[dataset("a"), dataset("b")]))
    statements = list(
        insert_statements(sqlite_store.db, sqlite_store.org, WarehouseDialect.teradata, select_tables())
    )
    assert sum(statement.startswith("INSERT INTO DATASET (") for statement in statements) == 2
    assert all(statement.count("\n") == 2 for statement in statements)


@pytest.mark.parametrize(
    "house",
    [
        pytest.param(WarehouseDialect.db2, marks=pytest.mark.system("ibm_db_sa")),
        pytest.param(WarehouseDialect.teradata, marks=pytest.mark.system("teradatasqlalchemy")),
    ],
)
def test_a_text_too_long_for_a_statement_is_added_piece_by_piece(
    sqlite_store: Store, house: WarehouseDialect
) -> None:
    text = "it's 𝕬 " * 80_000
    sqlite_store.apply(run_event(outputs=[dataset("a", documentation=facet(description=text))]))
    statements = list(insert_statements(sqlite_store.db, sqlite_store.org, house, select_tables()))
    assert max(len(statement.encode()) for statement in statements) < 1_000_000
    [(place, inserted)] = [
        (place, statement)
        for place, statement in enumerate(statements)
        if statement.startswith("INSERT INTO DATASET (")
    ]
    updates = [statement for statement in statements if statement.startswith("UPDATE DATASET SET DESCRIPTION")]
    assert statements[place + 1 : place + 1 + len(updates)] == updates
    piece = READ[house][0]
    parts = [inserted, *(update.partition(" || ")[2].partition(" WHERE DATASET_ID = ")[0] for update in updates)]
    read = "".join(
        first or other for part in parts for first, _, other in re.findall(piece, part) if "𝕬" in (first or other)
    )
    assert read.replace("''", "'") == text


def test_statements_stay_short(sqlite_store: Store) -> None:
    for run in range(60):
        sqlite_store.apply(run_event(run=run, outputs=[dataset(f"{run} {'x' * 20_000}")]))
    statements = list(insert_statements(sqlite_store.db, sqlite_store.org, WarehouseDialect.sqlite, select_tables()))
    events = [statement for statement in statements if statement.startswith("INSERT INTO RUN_EVENT")]
    assert len(events) > 4
    assert max(map(len, events)) < 300_000
