"""The DDL of every house says what the one definition says; two houses really make it."""

import re
import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from bridge.warehouse import ddl
from bridge.warehouse.columns import Flag, Hash, Id, Long, Moment, Name, Word
from bridge.warehouse.days import Days, chosen_days
from bridge.warehouse.dialects import dialect_of
from bridge.warehouse.grants import ROLES
from bridge.warehouse.house import House
from bridge.warehouse.openlineage import OPENLINEAGE
from bridge.warehouse.parts import part_of
from mappers.errors import ConfigError, MissingPart
from tests.stores import Store
from tests.warehouse.houses import DAYS, EVERY, RUNNING, Warehouse, warehouse

GOLDEN = Path(__file__).parents[1] / "data" / "ddl"
BOTH = part_of(openlineage=True)
TABLES = pytest.mark.parametrize("table", BOTH.tables, ids=lambda table: table.name)

#: Type, as each house spells it; a name is longer than the name of an organisation.
SPELLED: dict[House, dict[type, str]] = {
    House.sqlite: {
        Id: "VARCHAR(36)", Hash: "VARCHAR(32)", Word: "VARCHAR(64)", Name: "VARCHAR({0})", Long: "TEXT",
        Moment: "TIMESTAMP(6)", Flag: "BOOLEAN", sa.BigInteger: "BIGINT", sa.Float: "FLOAT",
    },
    House.postgresql: {
        Id: "VARCHAR(36)", Hash: "VARCHAR(32)", Word: "VARCHAR(64)", Name: "VARCHAR({0})", Long: "TEXT",
        Moment: "TIMESTAMP(6)", Flag: "BOOLEAN", sa.BigInteger: "BIGINT", sa.Float: "FLOAT",
    },
    House.db2: {
        Id: "VARCHAR(36)", Hash: "VARCHAR(32)", Word: "VARCHAR(64)", Name: "VARCHAR({0} CODEUNITS32)",
        Long: "CLOB(64M)", Moment: "TIMESTAMP(6)", Flag: "SMALLINT", sa.BigInteger: "BIGINT", sa.Float: "FLOAT",
    },
    House.teradata: {
        Id: "VARCHAR(36) CHARACTER SET LATIN CASESPECIFIC", Hash: "VARCHAR(32) CHARACTER SET LATIN CASESPECIFIC",
        Word: "VARCHAR(64) CHARACTER SET LATIN CASESPECIFIC",
        Name: "VARCHAR({1}) CHARACTER SET UNICODE CASESPECIFIC", Long: "CLOB CHARACTER SET UNICODE",
        Moment: "TIMESTAMP(6)", Flag: "SMALLINT", sa.BigInteger: "BIGINT", sa.Float: "FLOAT",
    },
}  # fmt: skip

SEED_INDEXES = {
    ("OL_NAMESPACE", "NAMESPACE_URI"),
    ("OL_DATASET", "NAMESPACE_ID"), ("OL_DATASET", "NAME"),
    ("OL_DATASET_FIELD", "DATASET_ID"), ("OL_DATASET_FIELD", "FIELD_NAME"),
    ("OL_JOB", "NAMESPACE_ID"), ("OL_JOB", "NAME"),
    ("OL_RUN", "JOB_ID"), ("OL_RUN", "EVENT_TIME"), ("OL_RUN", "EVENT_TYPE"),
    ("OL_RUN_INPUT", "DATASET_ID"), ("OL_RUN_OUTPUT", "DATASET_ID"),
    ("OL_COLUMN_LINEAGE", "SOURCE_DATASET"), ("OL_COLUMN_LINEAGE", "SOURCE_FIELD"),
    ("OL_COLUMN_LINEAGE", "TARGET_DATASET"), ("OL_COLUMN_LINEAGE", "TARGET_FIELD"),
    ("OL_COLUMN_LINEAGE", "RUN_ID"), ("OL_COLUMN_LINEAGE", "TRANSFORMATION_TYPE"),
}  # fmt: skip

_TABLE = r"^CREATE (?:MULTISET )?TABLE {} \(\n(.*?)\n\)(.*?);$"
_INDEX = re.compile(r"^CREATE INDEX (\w+) (?:\((.*)\) ON (\w+)|ON (\w+) \((.*)\));$", re.MULTILINE)
_DEFAULT = re.compile(r" (?:WITH )?DEFAULT (\S+)")


def script(house: House, **parts: bool) -> str:
    return "".join(ddl.create(house, part_of(**parts), DAYS))


def lines_of(house: House, table: sa.Table) -> list[str]:
    found = re.search(_TABLE.format(table.name.upper()), script(house, openlineage=True), re.MULTILINE | re.DOTALL)
    assert found, table.name
    return [line.strip().rstrip(",") for line in found[1].splitlines()]


def type_of(house: House, column: sa.Column[Any]) -> str:
    length = getattr(column.type, "length", None) or 0
    return SPELLED[house][type(column.type)].format(length, 2 * length)


def default_of(house: House, column: sa.Column[Any]) -> str | None:
    if column.server_default is None:
        return None
    asked = column.server_default.arg
    if isinstance(asked, str):
        return f"'{asked}'"
    if isinstance(asked, sa.TextClause):
        return f"({asked.text})" if house is House.sqlite else asked.text
    words = {"true": "1", "false": "0"} if house is not House.postgresql else {}
    return words.get(str(asked), str(asked))


@EVERY
def test_the_whole_text_is_the_one_that_was_looked_at(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddl, "HEAD", "0001")
    golden = (GOLDEN / f"{house}.sql").read_text(encoding="utf-8")
    days = f"--from-day {DAYS.first} --to-day {DAYS.last}"
    assert script(house, openlineage=True) == golden, f"schema ddl --openlineage --dialect {house} {days}"


@EVERY
@TABLES
def test_columns_have_their_types_nullability_and_defaults(house: House, table: sa.Table) -> None:
    found = {}
    for line in lines_of(house, table)[: len(table.columns)]:
        name, _, spelled = line.partition(" ")
        default = _DEFAULT.search(spelled)
        nullable = "NOT NULL" not in spelled
        kind = _DEFAULT.sub("", spelled).replace(" NOT NULL", "")
        found[name.strip('"').lower()] = (kind, nullable, default and default[1])
    assert found == {
        column.name: (type_of(house, column), column.nullable, default_of(house, column)) for column in table.columns
    }


@EVERY
@TABLES
def test_keys_are_those_of_the_definition(house: House, table: sa.Table) -> None:
    wanted = {f"PRIMARY KEY ({', '.join(table.primary_key.columns.keys())})"}
    for key in table.foreign_key_constraints:
        own, others = ", ".join(key.column_keys), ", ".join(element.column.name for element in key.elements)
        wanted.add(f"FOREIGN KEY({own}) REFERENCES {key.referred_table.name} ({others})")
    found = [line.partition("KEY")[0].split()[-1] + " KEY" + line.partition("KEY")[2] for line in lines_of(house, table)[len(table.columns):]]
    assert set(found) == {text if text.isupper() else text.upper() for text in wanted}


@EVERY
def test_the_indexes_are_those_of_the_seed(house: House) -> None:
    found = _INDEX.findall(script(house, openlineage=True))
    assert {(table or other, column or another) for _, column, table, other, another in found} == SEED_INDEXES
    names = [index[0] for index in found]
    assert len(names) == len(set(names)) == 18


@EVERY
def test_keys_fit_a_page_and_long_texts_lie_in_no_index(house: House) -> None:
    del house
    for table in BOTH.tables:
        for columns in (list(table.primary_key.columns), *(list(index.columns) for index in table.indexes)):
            assert not any(isinstance(column.type, Long) for column in columns), table.name
            assert sum(4 * (getattr(column.type, "length", None) or 2) for column in columns) < 2700, table.name


@TABLES
def test_nothing_is_asked_for_that_a_house_would_leave_out(table: sa.Table) -> None:
    for column in table.columns:
        assert column.identity is None and column.computed is None and column.comment is None, column
    assert table._autoincrement_column is None
    assert not [c for c in table.constraints if isinstance(c, sa.CheckConstraint | sa.UniqueConstraint)]


@pytest.mark.parametrize("house", [House.sqlite, House.postgresql])
def test_no_name_needs_quotes_where_upper_case_in_quotes_is_another_name(house: House) -> None:
    assert '"' not in script(house, openlineage=True)


@pytest.mark.parametrize(
    ("options", "with_catalogue", "with_openlineage"),
    [({}, True, False), ({"openlineage": True}, True, True), ({"openlineage_only": True}, False, True)],
)
def test_each_part_is_made_alone_or_both(
    options: dict[str, bool], with_catalogue: bool, with_openlineage: bool
) -> None:
    made = sqlite3.connect(":memory:")
    made.executescript(script(House.sqlite, **options))
    names = {name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    made.close()
    assert ({"DATASET", "PROCESS", "PROCESS_RUN", "V_LINEAGE_EDGE"} <= names) == with_catalogue
    assert ({table.name.upper() for table in OPENLINEAGE} <= names) == with_openlineage
    assert ("OL_NAMESPACE" in names) == with_openlineage
    assert ("SLA" in names) == with_catalogue


def test_both_options_at_once_are_a_mistake() -> None:
    with pytest.raises(ConfigError, match="not both"):
        part_of(openlineage=True, openlineage_only=True)


def inspected(made: Warehouse) -> sa.Inspector:
    if made.url.startswith("sqlite"):
        return sa.inspect(sa.create_engine(made.url, poolclass=sa.NullPool))
    url = made.url
    return sa.inspect(
        sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=sa.NullPool)
    )


@RUNNING
def test_a_database_understands_what_the_definition_means(house: House, tmp_path: Path) -> None:
    with warehouse(house, tmp_path) as made:
        made.run(ddl.create(house, BOTH, DAYS), tmp_path)
        inspector = inspected(made)
        for table in BOTH.tables:
            name = table.name if house is House.postgresql else table.name.upper()
            columns = {c["name"].lower(): c["nullable"] for c in inspector.get_columns(name)}
            assert columns == {column.name: column.nullable for column in table.columns}
            key = [column.lower() for column in inspector.get_pk_constraint(name)["constrained_columns"]]
            assert key == table.primary_key.columns.keys()
            referred = {(k["referred_table"].lower(), *k["constrained_columns"]) for k in inspector.get_foreign_keys(name)}
            assert {tuple(map(str.lower, words)) for words in referred} == {
                (k.referred_table.name, *k.column_keys) for k in table.foreign_key_constraints
            }
            indexes = {str(i["name"]).lower() for i in inspector.get_indexes(name)}
            assert indexes == {index.name for index in table.indexes}
        assert len(inspector.get_view_names()) == 3


@RUNNING
def test_drop_takes_everything_away_however_often(house: House, tmp_path: Path) -> None:
    with warehouse(house, tmp_path) as made:
        for _ in range(2):
            made.run(ddl.create(house, BOTH, DAYS), tmp_path)
            for _ in range(2):
                # What is not there is told as a notice.
                made.run(["SET client_min_messages = warning;\n"] * (house is House.postgresql), tmp_path)
                made.run(quietly(house, ddl.drop(house, BOTH)), tmp_path)
            inspector = inspected(made)
            assert inspector.get_table_names() + inspector.get_view_names() == []


def quietly(house: House, statements: Any) -> list[str]:
    return ["SET client_min_messages = warning;\n"] * (house is House.postgresql) + list(statements)


@pytest.mark.system("postgres")
def test_rows_lie_in_the_partition_of_their_day_and_others_in_the_one_by_default(tmp_path: Path) -> None:
    with warehouse(House.postgresql, tmp_path) as made:
        made.run(ddl.create(House.postgresql, BOTH, DAYS), tmp_path)
        for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
            made.run([
                "INSERT INTO run_event (payload, event_type, received_at, source, event_hash, org_id)"
                f" VALUES ('{{}}', 'START', '{day} 23:59:59.999999', 'x', 'h', 'o');"
            ], tmp_path)  # fmt: skip
        assert made.rows("SELECT tableoid::regclass::text FROM run_event ORDER BY received_at") == [
            ("run_event_20260101",), ("run_event_20260102",), ("run_event_default",),
        ]  # fmt: skip


@pytest.mark.system("postgres")
@pytest.mark.parametrize(
    ("role", "table", "may"),
    [
        ("PLATFORM_ADMIN", "OL_RUN", {"SELECT", "INSERT", "UPDATE", "DELETE"}),
        ("DATA_STEWARD", "OL_RUN", {"SELECT"}),
        ("DATA_STEWARD", "SLA", {"SELECT", "INSERT", "UPDATE", "DELETE"}),
        ("DATA_STEWARD", "DATASET_REGISTRATION", {"SELECT", "UPDATE"}),
        ("DATA_STEWARD", "RUN_EVENT", {"SELECT"}),
        ("DATA_OWNER", "SLA", {"SELECT", "INSERT", "UPDATE"}),
        ("DATA_OWNER", "DATASET_REGISTRATION", {"SELECT", "INSERT"}),
        ("DATA_OWNER", "RUN_EVENT", set()),
        ("DATA_CONSUMER", "DATASET", {"SELECT"}),
        ("DATA_CONSUMER", "V_LINEAGE_EDGE", {"SELECT"}),
        ("DATA_CONSUMER", "RUN_EVENT", set()),
    ],
)
def test_each_role_may_do_what_is_its_own(tmp_path: Path, role: str, table: str, may: set[str]) -> None:
    with warehouse(House.postgresql, tmp_path) as made:
        made.run(ddl.create(House.postgresql, BOTH, DAYS), tmp_path)
        for asked in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            assert made.rows(f"SELECT has_table_privilege('{role.lower()}', '{table.lower()}', '{asked}')") == [
                (asked in may,)
            ]


@pytest.mark.system("ibm_db_sa")
def test_nobody_is_forgotten_by_the_grants() -> None:
    text = script(House.db2)
    assert {role for role in ROLES if f"TO ROLE {role};" in text} == set(ROLES)


JANUARY = Days(date(2026, 1, 1), date(2026, 1, 31))


@pytest.mark.parametrize(
    ("today", "first", "last", "days"),
    [
        (date(2026, 1, 31), None, None, JANUARY),
        (date(2025, 12, 31), None, None, Days(date(2025, 12, 1), date(2025, 12, 31))),
        (date(2024, 2, 1), None, None, Days(date(2024, 2, 1), date(2024, 2, 29))),
        (date(1999, 1, 1), JANUARY.first, None, JANUARY),
        (date(1999, 1, 1), None, JANUARY.last, JANUARY),
        (date(1999, 1, 1), date(2026, 1, 1), date(2027, 1, 1), Days(date(2026, 1, 1), date(2027, 1, 1))),
    ],
)
def test_days_that_are_not_named_are_those_of_a_month(
    today: date, first: date | None, last: date | None, days: Days
) -> None:
    assert chosen_days(today, first, last) == days


def test_days_the_wrong_way_round_are_told() -> None:
    with pytest.raises(ConfigError, match="--from-day 2026-01-31 is after --to-day 2026-01-01"):
        chosen_days(date(2026, 1, 1), JANUARY.last, JANUARY.first)


@pytest.mark.parametrize(("house", "package"), [(House.db2, "ibm_db_sa"), (House.teradata, "teradatasqlalchemy")])
def test_a_missing_package_is_told_with_the_remedy(
    house: House, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, f"{package}.{'base' if house is House.db2 else 'dialect'}", None)
    with pytest.raises(MissingPart, match=rf"{package}: pip install 'lineage-bridge\[warehouse\]'"):
        dialect_of(house)


# -- the definition and the store


@TABLES
def test_every_column_is_one_of_the_store(table: sa.Table, sqlite_store: Store) -> None:
    found = {column[0] for column in sqlite_store.rows(f"SELECT name FROM pragma_table_info('{table.name}')")}
    assert set(table.columns.keys()) <= found
