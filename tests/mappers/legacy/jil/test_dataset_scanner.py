"""What definitions speak of: what is made of what, by whose name, and what cannot be named."""

import json
import logging

import pytest

from mappers.legacy.jil.dataset_scanner import find_datasets
from mappers.legacy.jil.job_events import ScanOptions, build_job_event
from mappers.legacy.jil.lint import unsupported_definitions
from mappers.sql.table_lineage import script_tables
from tests.mappers.legacy.jil.test_job_catalog import estate, job

SQL = "job_type: SQL\nconnect_string: jdbc:mysql://h/\nsql_command: "
MADE = {
    "two copies": ("command: cp /a /x && mv /b /y", {"/x": {"/a"}, "/y": {"/b"}}),
    "two copies in a shell": ("command: ksh -c 'cp /a /x; cp /b /y'", {"/x": {"/a"}, "/y": {"/b"}}),
    "several into a folder": ("command: cp /a/1 /b/2 /d", {"/d/1": {"/a/1"}, "/d/2": {"/b/2"}}),
    "into a folder that an option names": ("command: cp -pt /d /a/1 /b/2", {"/d/1": {"/a/1"}, "/d/2": {"/b/2"}}),
    "or a long one": ("command: mv --target-directory=/d /a/1", {"/d/1": {"/a/1"}}),
    "one into a folder": ("command: cp /a/1.csv /d/", {"/d/1.csv": {"/a/1.csv"}}),
    "whatever is there": ("command: cp /a/*.csv /d/", {"/d": set()}),
    "what a folder holds": ("command: rsync -a /a/ /d/", {"/d": {"/a"}}),
    "installed": ("command: install -m 644 -o root /a/1 /d/2", {"/d/2": {"/a/1"}}),
    "sorted": ("command: sort -k 2 -o /y < /a", {"/y": {"/a"}}),
    "a pipe": ("command: x --input /a | tee /y", {"/y": {"/a"}}),
    "a pipe, and another": ("command: x --input /a | y > /x && z --input /b > /y", {"/x": {"/a"}, "/y": {"/b"}}),
    "only the last of a list writes there": ("command: x --input /a && y --input /b > /y", {"/y": {"/b"}}),
    "all of a group do": ("command: (x --input /a; y --input /b) > /y", {"/y": {"/a", "/b"}}),
    "standard input of one command": ("std_in_file: /a\ncommand: cd /; x --output /y", {"/y": {"/a"}}),
    "of two": ("std_in_file: /a\ncommand: x; y --output /y", {"/y": set()}),
    "of a copy": ("std_in_file: /a\ncommand: cp /b /y", {"/y": {"/b"}}),
    "standard output": ("std_out_file: /y.csv\ncommand: ksh -c 'x --input /a'", {"/y.csv": {"/a"}}),
    "two statements": (SQL + "insert into y select * from a; insert into z select * from b", {"y": {"a"}, "z": {"b"}}),
    "emptied and loaded": (SQL + "truncate table y; insert into y select * from a", {"y": {"a"}}),
    "emptied": (SQL + "truncate table y", {"y": set()}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "made"), MADE.values(), ids=MADE)
def test_what_is_written_is_made_of_what_goes_into_it_and_of_nothing_else(
    text: str, made: dict[str, set[str]]
) -> None:
    entries = json.loads(build_job_event(job(text), (), ScanOptions("PRD", "2026-01-01T00:00:00Z")))["job"]["facets"][
        "lineage"
    ]
    found = {
        one["name"]: {each["name"] for each in one["inputs"] if each["type"] == "DATASET"}
        for one in entries["entries"]
        if one["type"] == "DATASET"
    }
    assert found == made


MOVED: dict[str, list[tuple[set[str], set[str]]]] = {
    "TRUNCATE TABLE s.t": [(set(), {"s.t"})],
    "truncate table s.t immediate": [(set(), {"s.t"})],
    "TRUNCATE TABLE s.t; INSERT INTO s.t SELECT * FROM a": [(set(), {"s.t"}), ({"a"}, {"s.t"})],
    "DROP TABLE s.q": [],
    "DROP TABLE s.q; CREATE TABLE s.q AS SELECT * FROM a": [({"a"}, {"s.q"})],
    "DELETE FROM s.t": [(set(), {"s.t"})],
    "DELETE FROM s.t WHERE i IN (SELECT i FROM a)": [({"a"}, {"s.t"})],
    "ALTER TABLE s.t ADD c int; GRANT SELECT ON s.t TO u; COMMENT ON TABLE s.t IS 'x'; CREATE INDEX i ON s.t(c)": [],
    "UPDATE x SET c = 1 FROM s.t x JOIN a ON x.i = a.i": [({"a"}, {"s.t"})],
    "SELECT * INTO s.t FROM a": [({"a"}, {"s.t"})],
    "INSERT INTO t SELECT * FROM t": [({"t"}, {"t"})],
    "INSERT INTO t WITH c AS (SELECT * FROM a) SELECT * FROM c": [({"a"}, {"t"})],
    "MERGE INTO t USING a ON t.i = a.i WHEN MATCHED THEN UPDATE SET c = 1": [({"a"}, {"t"})],
    "INSERT ALL INTO t VALUES (1) INTO u VALUES (2) SELECT * FROM a": [({"a"}, {"t", "u"})],
    ";;": [],
}  # fmt: skip


@pytest.mark.parametrize(("text", "moved"), MOVED.items())
def test_tables_that_are_changed_are_not_read(text: str, moved: list[tuple[set[str], set[str]]]) -> None:
    found = script_tables(text)
    assert ([(set(one.reads), set(one.writes)) for one in found.statements], found.unparsed) == (moved, [])


UNREAD = {
    "SELEC broken": [1], "((((": [1], "'x": [1], "CALL p(1)": [1], "DELETE FROM t; SELEC broken b c; DELETE FROM u": [2],
    "alter user u identified by x": [],
}  # fmt: skip


@pytest.mark.parametrize(("text", "numbers"), UNREAD.items())
def test_a_statement_that_cannot_be_read_is_counted_and_spoils_no_other(text: str, numbers: list[int]) -> None:
    found = script_tables(text)
    assert (found.unparsed, len(found.statements)) == (numbers, 2 if "DELETE" in text else 0)


def test_nothing_is_logged_of_statements_as_they_may_hold_passwords(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        script_tables("alter user u identified by SEKRET; CALL p('SEKRET'); grant connect to u identified by SEKRET")
    assert "SEKRET" not in caplog.text


DELETE = "job_type: SQL\nsql_command: DELETE FROM s.t\nconnect_string: "
DATABASES = {
    "": [], "PRODDB": [("sql://PRODDB", "s.t")], "HRDB": [("sql://HRDB", "s.t")],
    "scott/tiger@PRODDB": [("sql://PRODDB", "s.t")], "scott/tiger@//h:1521/svc": [("sql://h:1521/svc", "s.t")],
    "scott/tiger": [], "DSN=X;UID=u;PWD=p": [], "jdbc:x": [],
    "jdbc:oracle:thin:@PRODDB": [("oracle://PRODDB", "s.t")], "jdbc:oracle:thin:scott/tiger@prod.world": [("oracle://prod.world", "s.t")],
    "jdbc:oracle:thin:scott/tiger": [], "jdbc:oracle:thin:@h:1521:sid": [("oracle://h:1521", "sid.s.t")],
}  # fmt: skip


@pytest.mark.parametrize(("address", "named"), DATABASES.items())
def test_a_table_is_named_by_its_database_or_not_at_all(address: str, named: list[tuple[str, str]]) -> None:
    found = find_datasets(job(DELETE + address))
    assert [(one.namespace, one.name) for one in found.datasets] == named
    sure = bool(named) and named[0][0] == "oracle://h:1521"
    assert (len(found.warnings), "tiger" in str(found)) == (0 if sure else 1, False)


REMARKS = {
    "a file of Windows": ('job_type: f\nwatch_file: "C:\\data\\in.csv"', "/C:/data/in.csv", None),
    "spelled otherwise": ("job_type: f\nwatch_file: C\\:/data/in.csv", "/C:/data/in.csv", None),
    "a global": ("job_type: f\nwatch_file: $$IN/a.csv", None, "watch_file contains variables that only the scheduler or a shell can resolve"),
    "no whole path": ("job_type: f\nwatch_file: a.csv", None, "watch_file is not an absolute path"),
    "nowhere": ("std_in_file: /dev/null", None, None),
    "what is no statement": ("job_type: SQL\nconnect_string: jdbc:mysql://h/\nsql_command: SELEC broken", None, "sql_command: statement 1 cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name", "said"), REMARKS.values(), ids=REMARKS)
def test_a_dataset_is_named_or_a_remark_says_why_not(text: str, name: str | None, said: str | None) -> None:
    assert [one.name for one in find_datasets(job(text)).datasets] == ([name] if name else [])
    assert [
        one.message.startswith(f"J {said}") for one in unsupported_definitions(estate(f"insert_job: J\n{text}\n"))
    ] == ([True] if said else [])


def test_how_sure_a_pattern_is_has_two_places() -> None:
    (one,) = find_datasets(job("job_type: f\nwatch_file: /in/*.csv")).datasets
    assert str(one.confidence) == "0.66"
