"""`lineage-bridge feed`: imports rows of files and database queries as runs."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.intake.feed import FeedPoller, FeedQuery
from bridge.store.watermarks import Watermarks
from connectors.agent import lineage_bridge_agent
from connectors.errors import ConfigError, Unreachable
from mappers.errors import InvalidInput
from mappers.legacy.feed import NAMESPACE_KEYWORDS, normalize_row, row_to_run_event
from mappers.legacy.technology import Technology
from tests.commands import create_store
from tests.stores import Store

ROW = {"request_id": 7, "request_type": "Recalc", "status": "SUCCESS", "start_time": datetime(2026, 1, 1, 6)}  # noqa: DTZ001 - as a database gives it

COLUMN_NAMES = [
    (ROW, "RUNMGR", ("RUNMGR", "RunMgmt/Recalc", "7", "2026-01-01T06:00:00+00:00")),
    ({"name": "S.P", "status": "0", "id": "a", "start": "2026-01-01T06:00:00Z"}, "DB2_SP", ("DB2_SP", "S.P", "a", "2026-01-01T06:00:00Z")),
    ({"JOB": "BOX/A", "STATE": "SU", "RUN_ID": "12/1", "START_TS": "2026-01-01T06:00:00Z", "technology": "autosys"}, "SHELL", ("AUTOSYS", "BOX/A", "12/1", "2026-01-01T06:00:00Z")),
]  # fmt: skip


@pytest.mark.parametrize(("row", "technology", "expected"), COLUMN_NAMES)
def test_columns_are_recognized_by_name(row: dict[str, object], technology: str, expected: tuple[str, ...]) -> None:
    body = row_to_run_event(normalize_row(row, UTC), technology, UTC, [])
    assert (body["job"]["namespace"], body["job"]["name"], body["run"]["runId"], body["run"]["startTime"]) == expected


REJECTED = [
    ({"request_type": "X"}, "status: is missing"), ({"status": "OK"}, "request_type: is missing"),
    ({"status": "OK", "technology": "COBOL"}, "technology: must be one of AUTOSYS"),
    ({"status": "OK", "request_type": "X", "": ["a", ""]}, "2 values too many for the header"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "message"), REJECTED)
def test_invalid_row_is_rejected_with_its_column(row: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        row_to_run_event(row, "RUNMGR", UTC, [])


@pytest.mark.parametrize("technology", Technology)
def test_rows_accept_every_technology(technology: Technology) -> None:
    row = {"status": "OK", "name": "x", "request_type": "x"}
    assert row_to_run_event(row, technology, UTC, [])["job"]["namespace"] == technology.value
    assert (
        row_to_run_event({**row, "technology": technology.value.lower()}, Technology.shell, UTC, [])["job"][
            "namespace"
        ]
        == technology
    )


LONDON = ZoneInfo("Europe/London")
TIMES_KEPT = "run.endTime is before run.startTime: the reported times are in the facet toldTimes"
SECOND_OCCURRENCE = "run.endTime is before run.startTime: read as the second occurrence of that hour"
TIMES = [
    ("2026-10-25 01:50:00", "2026-10-25 01:10:00", "2026-10-25T01:50:00+01:00", "2026-10-25T01:10:00+00:00", [SECOND_OCCURRENCE]),
    (datetime(2026, 10, 25, 1, 50), datetime(2026, 10, 25, 1, 10), "2026-10-25T01:50:00+01:00", "2026-10-25T01:10:00+00:00", [SECOND_OCCURRENCE]),  # noqa: DTZ001 - as a database gives it
    ("2026-10-25 00:50:00", "2026-10-25 01:10:00", "2026-10-25T00:50:00+01:00", "2026-10-25T01:10:00+01:00", []),
    ("2026-10-25 02:50:00", "2026-10-25 01:10:00", "2026-10-25T02:50:00+00:00", "2026-10-25T01:10:00+01:00", [TIMES_KEPT]),
    ("2026-07-01 02:50:00", "2026-07-01 01:10:00", "2026-07-01T02:50:00+01:00", "2026-07-01T01:10:00+01:00", [TIMES_KEPT]),
    ("2026-10-25T01:50:00+01:00", "2026-10-25T01:10:00+01:00", "2026-10-25T01:50:00+01:00", "2026-10-25T01:10:00+01:00", [TIMES_KEPT]),
    ("2026-10-25 01:50:00", None, "2026-10-25T01:50:00+01:00", None, []),
]  # fmt: skip


@pytest.mark.parametrize(("start", "end", "expected_start", "expected_end", "expected_notes"), TIMES)
def test_end_in_repeated_hour_is_after_start(
    start: object, end: object, expected_start: str, expected_end: str | None, expected_notes: list[str]
) -> None:
    notes: list[str] = []
    row = {"status": "OK", "request_type": "X", "start_time": start, "end_time": end}
    run = row_to_run_event(normalize_row(row, LONDON), "RUNMGR", LONDON, notes)["run"]
    assert (run["startTime"], run.get("endTime"), notes) == (expected_start, expected_end, expected_notes)
    assert ("toldTimes" in run["facets"]) == (expected_notes == [TIMES_KEPT])


DATASET_NAMES = [
    ("file=/lake/a.csv", "file", "/lake/a.csv"), ("hive=db.t", "hive", "db.t"), ("DB2=S.T", "DB2", "S.T"),
    ("db2://h:1=D.S.T", "db2://h:1", "D.S.T"), ("/lake/day=1", "FILE", "/lake/day=1"), ("s3://b/day=1", "FILE", "s3://b/day=1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "namespace", "name"), DATASET_NAMES)
def test_datasets_are_named_like_in_agent(text: str, namespace: str, name: str) -> None:
    row = {"status": "OK", "request_type": "X", "inputs": text}
    assert row_to_run_event(row, "RUNMGR", UTC, [])["inputs"] == [{"namespace": namespace, "name": name}]
    assert NAMESPACE_KEYWORDS == lineage_bridge_agent.NAMESPACE_KEYWORDS


@pytest.mark.parametrize(
    ("sent", "expected"), [("0", 0), ("-904", -904), (4, 4), ("S0C7", "S0C7"), ("1" * 40, "1" * 40)]
)
def test_numeric_exit_codes_become_numbers(sent: object, expected: object) -> None:
    row = {"status": "OK", "request_type": "X", "exit_code": sent}
    assert row_to_run_event(row, "RUNMGR", UTC, [])["run"]["facets"]["exitCode"] == expected


class Workspace:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"LINEAGE_BRIDGE__STORE__URL": create_store(folder)}
        self.database = folder / "rm.db"
        with closing(sqlite3.connect(self.database)) as db:
            db.execute(
                "CREATE TABLE r (id INT, request_type TEXT, status TEXT, start_time TEXT, end_time TEXT, changed INT)"
            )

    def add(self, *rows: tuple[object, ...]) -> None:
        with closing(sqlite3.connect(self.database)) as db, db:
            db.executemany("INSERT INTO r VALUES (?, ?, ?, ?, ?, ?)", rows)

    def run(self, *args: str) -> Result:
        return CliRunner(env=self.environment).invoke(app, list(args), catch_exceptions=False)

    def poll(
        self,
        query: str = "SELECT * FROM r WHERE :since IS NULL OR changed > :since",
        watermark: str = "changed",
        name: str = "rm",
    ) -> Result:
        return self.run(
            "feed",
            "poll",
            name,
            "--database",
            f"sqlite:///{self.database}",
            "--query",
            query,
            "--watermark",
            watermark,
        )

    def first_rejected_id(self) -> str:
        return self.run("rejected", "list").stdout.splitlines()[1].split()[0]

    def runs(self) -> list[tuple[str, str]]:
        lines = self.run("runs", "--output", "json").stdout.splitlines()
        return sorted((run["job"], run["status"]) for run in map(json.loads, lines))


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    return Workspace(tmp_path)


def test_poll_imports_new_rows_only(workspace: Workspace) -> None:
    workspace.add(
        (1, "Recalc", "SUCCESS", "2026-01-01T06:00:00", "2026-01-01T07:00:00", 1),
        (2, "Load", "RUNNING", "2026-01-01T06:00:00", None, 2),
    )
    assert workspace.poll().stdout == "rm: 2 runs imported\n"
    assert workspace.poll().stdout == "rm: 0 runs imported\n"
    workspace.add((2, "Load", "FAILED", "2026-01-01T06:00:00", "2026-01-01T08:00:00", 3))
    assert workspace.poll().stdout == "rm: 1 run imported\n"
    assert workspace.runs() == [("RunMgmt/Load", "FAILED"), ("RunMgmt/Recalc", "SUCCESS")]


def test_poll_stores_rejected_rows_and_imports_the_rest(workspace: Workspace) -> None:
    workspace.add(
        (1, "Recalc", None, None, None, 1), (2, "Load", "SUCCESS", "2026-01-01T06:00:00", "2026-01-01T08:00:00", 2)
    )
    result = workspace.poll()
    assert (result.exit_code, result.stdout, "1 rejected" in result.stderr) == (1, "rm: 1 run imported\n", True)
    assert "rm: is missing at status" in workspace.run("rejected", "list").stdout


def test_rejected_row_is_stored_once(workspace: Workspace) -> None:
    overlapping = "SELECT * FROM r WHERE :since IS NULL OR changed >= :since"
    workspace.add((1, "Recalc", None, None, None, 1), (2, "Load", "SUCCESS", "no time", None, 1))
    first = workspace.poll(overlapping)
    rejected_list = workspace.run("rejected", "list").stdout
    assert (first.stdout, "2 rejected" in first.stderr) == ("rm: 0 runs imported\n", True)
    second = workspace.poll(overlapping)
    assert (second.stdout, second.stderr) == ("rm: 0 runs imported\n", "")
    assert (workspace.run("rejected", "list").stdout, rejected_list.count("x1 ")) == (rejected_list, 2)
    workspace.add((1, "Recalc", None, None, None, 2))
    assert "1 rejected" in workspace.poll(overlapping).stderr


def test_retry_keeps_options_of_rejected_row(workspace: Workspace) -> None:
    file = workspace.folder / "a.csv"
    file.write_text("procedure,id,status,start_time,end_time,inputs\nS.P,1,OK,2026-07-01T06:00:00,,DB2=S.T\n")
    result = workspace.run(
        "feed", "load", str(file), "--technology", "DB2_SP", "--timezone", "Europe/London", "--historical"
    )
    assert (result.exit_code, "1 rejected" in result.stderr) == (1, True)
    assert "row:DB2_SP@Europe/London?historical=true" in workspace.run("rejected", "list").stdout
    assert '"procedure":"S.P"' in workspace.run("rejected", "show", workspace.first_rejected_id()).stdout
    assert workspace.run("rejected", "retry").stdout == "0 ingested, 1 still rejected\n"
    workspace.environment["LINEAGE_BRIDGE__LEGACY__DB2_URL"] = "db2://h:50000"
    assert workspace.run("rejected", "retry").stdout == "1 ingested, 0 still rejected\n"
    (run,) = map(json.loads, workspace.run("runs", "--output", "json").stdout.splitlines())
    assert (run["job"], run["namespace"]) == ("S.P", "DB2_SP")
    assert run["start_ts"].startswith("2026-07-01T05:00:00")
    remaining = workspace.run("rejected", "list")
    assert (remaining.stdout, remaining.stderr) == ("", "no rejected or unmerged input\n")


MIXED_TYPES = [([1, "b"], "int, str"), ([b"1", 2.5], "bytes, float")]


@pytest.mark.parametrize(("values", "message"), MIXED_TYPES)
def test_watermark_of_mixed_types_imports_nothing(workspace: Workspace, values: list[object], message: str) -> None:
    rows = [(number, "Recalc", "SUCCESS", "2026-01-01T06:00:00", None, value) for number, value in enumerate(values)]
    with closing(sqlite3.connect(workspace.database)) as db, db:
        db.execute("ALTER TABLE r DROP COLUMN changed")
        db.execute("ALTER TABLE r ADD COLUMN changed")  # no type: stores any value unchanged
    workspace.add(*rows[:1])
    assert workspace.poll().stdout == "rm: 1 run imported\n"
    workspace.add(*rows[1:], (9, "Load", "SUCCESS", "2026-01-01T06:00:00", None, values[0]))
    all_rows = "SELECT * FROM r WHERE :since IS NULL OR 1"
    for _ in range(2):
        with pytest.raises(
            ConfigError, match=f"rm: the watermark changed has values that cannot be compared: {message}"
        ):
            workspace.poll(all_rows)
    assert workspace.runs() == [("RunMgmt/Recalc", "SUCCESS")]
    as_text = "SELECT *, CAST(changed AS TEXT) AS mark FROM r"
    assert workspace.poll(as_text, "mark", "fresh").stdout == "fresh: 3 runs imported\n"


def test_watermark_of_unsupported_type_is_an_error(workspace: Workspace) -> None:
    poller = FeedPoller(FeedQuery("rm", "", "", "at"), None, None, "default")  # type: ignore[arg-type] - it only reads rows
    with pytest.raises(ConfigError, match="an unsupported type: timedelta"):
        poller._latest_watermark([{"at": timedelta(1)}], None)
    with pytest.raises(ConfigError, match="cannot be compared: datetime, datetime with a time zone"):
        poller._latest_watermark([{"AT": datetime(2026, 1, 1)}], datetime(2026, 1, 1, tzinfo=UTC))  # noqa: DTZ001 - as databases give


def test_query_without_watermark_column_is_an_error(workspace: Workspace) -> None:
    workspace.add((1, "Recalc", "SUCCESS", "2026-01-01T06:00:00", None, 1))
    with pytest.raises(ConfigError, match="rm: the query returns no column when; it has id, request_type"):
        workspace.poll(watermark="when")
    assert workspace.runs() == []


BAD_DATABASES = [
    ("sqlite:////nowhere/x.db", Unreachable, "unable to open database file"),
    ("cobol://x", ConfigError, "no driver for this URL"),
]


@pytest.mark.parametrize(("url", "error", "message"), BAD_DATABASES)
def test_unusable_database_is_an_error(workspace: Workspace, url: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        workspace.run("feed", "poll", "rm", "--database", url, "--query", "SELECT 1", "--watermark", "x")


FILES = {
    "a.csv": "request_id,request_type,status,start_time,end_time\n1,Recalc,SUCCESS,2026-01-01T06:00:00,2026-01-01T07:00:00\n",
    "a.json": '[{"request_id": 1, "request_type": "Recalc", "status": "SUCCESS", "start_time": "2026-01-01T06:00:00"}]',
    "a.ndjson": '{"request_id": 1, "request_type": "Recalc", "status": "SUCCESS", "start_time": "2026-01-01T06:00:00"}\n\n',
}


@pytest.mark.parametrize(("name", "text"), FILES.items(), ids=FILES)
def test_file_import_is_idempotent(workspace: Workspace, name: str, text: str) -> None:
    (workspace.folder / name).write_text(text, encoding="utf-8")
    for _ in range(2):
        assert workspace.run("feed", "load", str(workspace.folder / name)).stdout == "imported 1 run from 1 file\n"
    assert workspace.runs() == [("RunMgmt/Recalc", "SUCCESS")]


HEADER, VALID = "request_id,request_type,status,start_time,error,region\n", "7,Load,SUCCESS,2026-01-01T06:00:00,,EU\n"
SHIFTED = HEADER + "1,Recalc,FAILED,2026-01-01T06:00:00,boom, went off,EU\n" + VALID
OBJECT = '{"request_id": 7, "request_type": "Load", "status": "SUCCESS", "start_time": "2026-01-01T06:00:00"}'
#: Files with one valid row, and the locations and reasons of their invalid rows.
PARTLY_VALID = [
    (SHIFTED, ["line 2: the row has 1 value too many for the header"]),
    (HEADER + '1,"Recalc,OK,,,\n' + VALID, ["line 2: unexpected end of data"]),
    ("\n" + HEADER + '1,"Re"calc,OK,,,\n\n' + VALID + "8,Load,,,,\n", ["line 3: ',' expected", "line 6: is missing at status"]),
    (HEADER + VALID.strip() + ",,\n", []),
    ((HEADER + VALID).replace(",", ";"), []),
    ((HEADER + VALID).replace(",", "\t"), []),
    (f"{OBJECT}\n{{broken\n", ["line 2: JSON is malformed"]),
    (f"{{broken\n\n{OBJECT}\n5\n", ["line 1: JSON is malformed", "line 4: Expected `object`"]),
    (f"[1, {OBJECT}, {{}}]", ["row 1: the row is not a JSON object", "row 3: is missing at status"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reasons"), PARTLY_VALID)
def test_malformed_rows_are_rejected_with_location(workspace: Workspace, text: str, reasons: list[str]) -> None:
    file = workspace.folder / "a.txt"
    file.write_text(text, encoding="utf-8", newline="")
    result = workspace.run("feed", "take", str(file))
    assert (result.stdout, result.exit_code) == ("imported 1 run from 1 file\n", int(bool(reasons)))
    assert workspace.runs() == [("RunMgmt/Load", "SUCCESS")]
    rejected_list = sorted(
        rejected.partition("  row:RUNMGR@UTC  ")[2]
        for rejected in workspace.run("rejected", "list").stdout.splitlines()[1:]
    )
    assert [
        rejected.startswith(f"{file} {reason}") for rejected, reason in zip(rejected_list, reasons, strict=True)
    ] == [True] * len(reasons)
    assert workspace.run("rejected", "retry").stdout == f"0 ingested, {len(reasons)} still rejected\n"


INVALID_FILES = [
    ("status,request_type,STATUS\n", "the header has duplicate columns: status"), ("[{", "Input data was truncated"),
    ('"status\n', "the header is not CSV"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), INVALID_FILES)
def test_malformed_file_is_rejected_entirely(workspace: Workspace, text: str, message: str) -> None:
    (workspace.folder / "a.txt").write_text(text)
    with pytest.raises(ConfigError, match=rf"a\.txt: {message}"):
        workspace.run("feed", "load", str(workspace.folder / "a.txt"))


def test_missing_sqlite_database_is_not_created(workspace: Workspace) -> None:
    workspace.database = workspace.folder / "typo.db"
    with pytest.raises(Unreachable, match=r"unable to open database file .*typo\.db: it does not exist"):
        workspace.poll()
    assert not workspace.database.exists()


@pytest.mark.parametrize(
    "value", [3, 2.5, "b", date(2026, 1, 1), datetime(2026, 1, 1, 6, tzinfo=UTC), Decimal("1.50"), b"\x00\x01"]
)
def test_watermarks_keep_their_type(store: Store, value: object) -> None:
    marks = Watermarks(store.db, store.org)
    assert marks.get("rm") is None
    marks.set("rm", "other")
    marks.set("rm", value)
    assert (marks.get("rm"), marks.get("else")) == (value, None)
