"""`lineage-bridge feed`: tables of runs become runs, whatever they are in."""

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
from tests.commands import url_of
from tests.stores import Store

ROW = {"request_id": 7, "request_type": "Recalc", "status": "SUCCESS", "start_time": datetime(2026, 1, 1, 6)}  # noqa: DTZ001 - as a database gives it

BODIES = [
    (ROW, "RUNMGR", ("RUNMGR", "RunMgmt/Recalc", "7", "2026-01-01T06:00:00+00:00")),
    ({"name": "S.P", "status": "0", "id": "a", "start": "2026-01-01T06:00:00Z"}, "DB2_SP", ("DB2_SP", "S.P", "a", "2026-01-01T06:00:00Z")),
    ({"JOB": "BOX/A", "STATE": "SU", "RUN_ID": "12/1", "START_TS": "2026-01-01T06:00:00Z", "technology": "autosys"}, "SHELL", ("AUTOSYS", "BOX/A", "12/1", "2026-01-01T06:00:00Z")),
]  # fmt: skip


@pytest.mark.parametrize(("row", "technology", "found"), BODIES)
def test_columns_are_known_by_their_names(row: dict[str, object], technology: str, found: tuple[str, ...]) -> None:
    body = row_to_run_event(normalize_row(row, UTC), technology, UTC, [])
    assert (body["job"]["namespace"], body["job"]["name"], body["run"]["runId"], body["run"]["startTime"]) == found


REFUSED = [
    ({"request_type": "X"}, "status: is missing"), ({"status": "OK"}, "request_type: is missing"),
    ({"status": "OK", "technology": "COBOL"}, "technology: must be one of AUTOSYS"),
    ({"status": "OK", "request_type": "X", "": ["a", ""]}, r"2 value\(s\) too many for the header"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "said"), REFUSED)
def test_a_row_that_is_no_run_is_refused_by_its_column(row: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        row_to_run_event(row, "RUNMGR", UTC, [])


@pytest.mark.parametrize("technology", Technology)
def test_what_the_option_takes_is_what_a_row_may_be_of(technology: Technology) -> None:
    row = {"status": "OK", "name": "x", "request_type": "x"}
    assert row_to_run_event(row, technology, UTC, [])["job"]["namespace"] == technology.value
    assert (
        row_to_run_event({**row, "technology": technology.value.lower()}, Technology.shell, UTC, [])["job"][
            "namespace"
        ]
        == technology
    )


LONDON = ZoneInfo("Europe/London")
AS_TOLD = "run.endTime is before run.startTime: the reported times are in the facet toldTimes"
SECOND = "run.endTime is before run.startTime: read as the second occurrence of that hour"
TIMES = [
    ("2026-10-25 01:50:00", "2026-10-25 01:10:00", "2026-10-25T01:50:00+01:00", "2026-10-25T01:10:00+00:00", [SECOND]),
    (datetime(2026, 10, 25, 1, 50), datetime(2026, 10, 25, 1, 10), "2026-10-25T01:50:00+01:00", "2026-10-25T01:10:00+00:00", [SECOND]),  # noqa: DTZ001 - as a database gives it
    ("2026-10-25 00:50:00", "2026-10-25 01:10:00", "2026-10-25T00:50:00+01:00", "2026-10-25T01:10:00+01:00", []),
    ("2026-10-25 02:50:00", "2026-10-25 01:10:00", "2026-10-25T02:50:00+00:00", "2026-10-25T01:10:00+01:00", [AS_TOLD]),
    ("2026-07-01 02:50:00", "2026-07-01 01:10:00", "2026-07-01T02:50:00+01:00", "2026-07-01T01:10:00+01:00", [AS_TOLD]),
    ("2026-10-25T01:50:00+01:00", "2026-10-25T01:10:00+01:00", "2026-10-25T01:50:00+01:00", "2026-10-25T01:10:00+01:00", [AS_TOLD]),
    ("2026-10-25 01:50:00", None, "2026-10-25T01:50:00+01:00", None, []),
]  # fmt: skip


@pytest.mark.parametrize(("start", "end", "began", "ended", "noted"), TIMES)
def test_an_end_in_the_hour_that_comes_twice_is_behind_its_start(
    start: object, end: object, began: str, ended: str | None, noted: list[str]
) -> None:
    notes: list[str] = []
    row = {"status": "OK", "request_type": "X", "start_time": start, "end_time": end}
    run = row_to_run_event(normalize_row(row, LONDON), "RUNMGR", LONDON, notes)["run"]
    assert (run["startTime"], run.get("endTime"), notes) == (began, ended, noted)
    assert ("toldTimes" in run["facets"]) == (noted == [AS_TOLD])


NAMED = [
    ("file=/lake/a.csv", "file", "/lake/a.csv"), ("hive=db.t", "hive", "db.t"), ("DB2=S.T", "DB2", "S.T"),
    ("db2://h:1=D.S.T", "db2://h:1", "D.S.T"), ("/lake/day=1", "FILE", "/lake/day=1"), ("s3://b/day=1", "FILE", "s3://b/day=1"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "namespace", "name"), NAMED)
def test_datasets_are_named_as_the_agent_names_them(said: str, namespace: str, name: str) -> None:
    row = {"status": "OK", "request_type": "X", "inputs": said}
    assert row_to_run_event(row, "RUNMGR", UTC, [])["inputs"] == [{"namespace": namespace, "name": name}]
    assert NAMESPACE_KEYWORDS == lineage_bridge_agent.NAMESPACE_KEYWORDS


@pytest.mark.parametrize(("sent", "kept"), [("0", 0), ("-904", -904), (4, 4), ("S0C7", "S0C7"), ("1" * 40, "1" * 40)])
def test_an_exit_code_is_a_number_where_it_is_one(sent: object, kept: object) -> None:
    row = {"status": "OK", "request_type": "X", "exit_code": sent}
    assert row_to_run_event(row, "RUNMGR", UTC, [])["run"]["facets"]["exitCode"] == kept


class Site:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"LINEAGE_BRIDGE__STORE__URL": url_of(folder)}
        self.base = folder / "rm.db"
        with closing(sqlite3.connect(self.base)) as db:
            db.execute(
                "CREATE TABLE r (id INT, request_type TEXT, status TEXT, start_time TEXT, end_time TEXT, changed INT)"
            )

    def add(self, *rows: tuple[object, ...]) -> None:
        with closing(sqlite3.connect(self.base)) as db, db:
            db.executemany("INSERT INTO r VALUES (?, ?, ?, ?, ?, ?)", rows)

    def run(self, *words: str) -> Result:
        return CliRunner(env=self.environment).invoke(app, list(words), catch_exceptions=False)

    def poll(
        self,
        query: str = "SELECT * FROM r WHERE :since IS NULL OR changed > :since",
        mark: str = "changed",
        name: str = "rm",
    ) -> Result:
        return self.run(
            "feed", "poll", name, "--database", f"sqlite:///{self.base}", "--query", query, "--watermark", mark
        )

    def refused(self) -> str:
        return self.run("rejected", "list").stdout.split()[0]

    def runs(self) -> list[tuple[str, str]]:
        lines = self.run("runs", "--output", "json").stdout.splitlines()
        return sorted((one["job"], one["status"]) for one in map(json.loads, lines))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    return Site(tmp_path)


def test_a_query_is_asked_for_what_is_new(site: Site) -> None:
    site.add(
        (1, "Recalc", "SUCCESS", "2026-01-01T06:00:00", "2026-01-01T07:00:00", 1),
        (2, "Load", "RUNNING", "2026-01-01T06:00:00", None, 2),
    )
    assert site.poll().stdout == "rm: 2 runs imported\n"
    assert site.poll().stdout == "rm: 0 runs imported\n"
    site.add((2, "Load", "FAILED", "2026-01-01T06:00:00", "2026-01-01T08:00:00", 3))
    assert site.poll().stdout == "rm: 1 runs imported\n"
    assert site.runs() == [("RunMgmt/Load", "FAILED"), ("RunMgmt/Recalc", "SUCCESS")]


def test_a_row_that_is_no_run_is_kept_with_its_reason_and_the_rest_goes_on(site: Site) -> None:
    site.add(
        (1, "Recalc", None, None, None, 1), (2, "Load", "SUCCESS", "2026-01-01T06:00:00", "2026-01-01T08:00:00", 2)
    )
    done = site.poll()
    assert (done.exit_code, done.stdout, "1 rejected" in done.stderr) == (1, "rm: 1 runs imported\n", True)
    assert "rm: is missing at status" in site.run("rejected", "list").stdout


def test_a_row_that_was_refused_comes_again_and_is_the_same_row(site: Site) -> None:
    again = "SELECT * FROM r WHERE :since IS NULL OR changed >= :since"
    site.add((1, "Recalc", None, None, None, 1), (2, "Load", "SUCCESS", "no time", None, 1))
    first = site.poll(again)
    listed = site.run("rejected", "list").stdout
    assert (first.stdout, "2 rejected" in first.stderr) == ("rm: 0 runs imported\n", True)
    later = site.poll(again)
    assert (later.stdout, later.stderr) == ("rm: 0 runs imported\n", "")
    assert (site.run("rejected", "list").stdout, listed.count("x1 ")) == (listed, 2)
    site.add((1, "Recalc", None, None, None, 2))
    assert "1 rejected" in site.poll(again).stderr


def test_a_refused_row_is_tried_again_as_the_row_that_it_was(site: Site) -> None:
    file = site.folder / "a.csv"
    file.write_text("procedure,id,status,start_time,end_time,inputs\nS.P,1,OK,2026-07-01T06:00:00,,DB2=S.T\n")
    done = site.run(
        "feed", "take", str(file), "--technology", "DB2_SP", "--timezone", "Europe/London", "--historical"
    )
    assert (done.exit_code, "1 rejected" in done.stderr) == (1, True)
    assert "row:DB2_SP@Europe/London?historical=true" in site.run("rejected", "list").stdout
    assert '"procedure":"S.P"' in site.run("rejected", "show", site.refused()).stdout
    assert site.run("rejected", "retry").stdout == "0 ingested, 1 still rejected\n"
    site.environment["LINEAGE_BRIDGE__LEGACY__DB2_URL"] = "db2://h:50000"
    assert site.run("rejected", "retry").stdout == "1 ingested, 0 still rejected\n"
    (run,) = map(json.loads, site.run("runs", "--output", "json").stdout.splitlines())
    assert (run["job"], run["namespace"]) == ("S.P", "DB2_SP")
    assert run["start_ts"].startswith("2026-07-01T05:00:00")
    assert site.run("rejected", "list").stdout == ""


MIXED = [([1, "b"], "int, str"), ([b"1", 2.5], "bytes, float")]


@pytest.mark.parametrize(("values", "said"), MIXED)
def test_a_watermark_of_several_types_takes_nothing_and_loses_nothing(
    site: Site, values: list[object], said: str
) -> None:
    rows = [(number, "Recalc", "SUCCESS", "2026-01-01T06:00:00", None, value) for number, value in enumerate(values)]
    with closing(sqlite3.connect(site.base)) as db, db:
        db.execute("ALTER TABLE r DROP COLUMN changed")
        db.execute("ALTER TABLE r ADD COLUMN changed")  # of no type: it holds what it is given
    site.add(*rows[:1])
    assert site.poll().stdout == "rm: 1 runs imported\n"
    site.add(*rows[1:], (9, "Load", "SUCCESS", "2026-01-01T06:00:00", None, values[0]))
    everything = "SELECT * FROM r WHERE :since IS NULL OR 1"
    for _ in range(2):
        with pytest.raises(
            ConfigError, match=f"rm: the watermark changed has values that cannot be compared: {said}"
        ):
            site.poll(everything)
    assert site.runs() == [("RunMgmt/Recalc", "SUCCESS")]
    as_text = "SELECT *, CAST(changed AS TEXT) AS mark FROM r"
    assert site.poll(as_text, "mark", "anew").stdout == "anew: 3 runs imported\n"


def test_a_watermark_that_cannot_be_kept_is_told(site: Site) -> None:
    one = FeedPoller(FeedQuery("rm", "", "", "at"), None, None, "default")  # type: ignore[arg-type] - it only looks at rows
    with pytest.raises(ConfigError, match="cannot be kept: timedelta"):
        one._latest_watermark([{"at": timedelta(1)}], None)
    with pytest.raises(ConfigError, match="cannot be compared: datetime, datetime with a time zone"):
        one._latest_watermark([{"AT": datetime(2026, 1, 1)}], datetime(2026, 1, 1, tzinfo=UTC))  # noqa: DTZ001 - as databases give


def test_a_query_without_its_watermark_takes_nothing(site: Site) -> None:
    site.add((1, "Recalc", "SUCCESS", "2026-01-01T06:00:00", None, 1))
    with pytest.raises(ConfigError, match="rm: the query gives no column when: id, request_type"):
        site.poll(mark="when")
    assert site.runs() == []


WRONG = [
    ("sqlite:////nowhere/x.db", Unreachable, "unable to open database file"),
    ("cobol://x", ConfigError, "no driver for this address"),
]


@pytest.mark.parametrize(("url", "error", "said"), WRONG)
def test_a_database_that_cannot_be_asked_is_told(site: Site, url: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        site.run("feed", "poll", "rm", "--database", url, "--query", "SELECT 1", "--watermark", "x")


FILES = {
    "a.csv": "request_id,request_type,status,start_time,end_time\n1,Recalc,SUCCESS,2026-01-01T06:00:00,2026-01-01T07:00:00\n",
    "a.json": '[{"request_id": 1, "request_type": "Recalc", "status": "SUCCESS", "start_time": "2026-01-01T06:00:00"}]',
    "a.ndjson": '{"request_id": 1, "request_type": "Recalc", "status": "SUCCESS", "start_time": "2026-01-01T06:00:00"}\n\n',
}


@pytest.mark.parametrize(("name", "text"), FILES.items(), ids=FILES)
def test_files_are_taken_and_again_do_no_harm(site: Site, name: str, text: str) -> None:
    (site.folder / name).write_text(text, encoding="utf-8")
    for _ in range(2):
        assert site.run("feed", "take", str(site.folder / name)).stdout == "imported 1 runs from 1 file(s)\n"
    assert site.runs() == [("RunMgmt/Recalc", "SUCCESS")]


HEADER, GOOD = "request_id,request_type,status,start_time,error,region\n", "7,Load,SUCCESS,2026-01-01T06:00:00,,EU\n"
SHIFTED = HEADER + "1,Recalc,FAILED,2026-01-01T06:00:00,boom, went off,EU\n" + GOOD
OBJECT = '{"request_id": 7, "request_type": "Load", "status": "SUCCESS", "start_time": "2026-01-01T06:00:00"}'
#: A file with one good row, and the places and reasons of those that are none.
SOME = [
    (SHIFTED, ["line 2: the row has 1 value(s) too many for the header"]),
    (HEADER + '1,"Recalc,OK,,,\n' + GOOD, ["line 2: unexpected end of data"]),
    ("\n" + HEADER + '1,"Re"calc,OK,,,\n\n' + GOOD + "8,Load,,,,\n", ["line 3: ',' expected", "line 6: is missing at status"]),
    (HEADER + GOOD.strip() + ",,\n", []),
    ((HEADER + GOOD).replace(",", ";"), []),
    ((HEADER + GOOD).replace(",", "\t"), []),
    (f"{OBJECT}\n{{broken\n", ["line 2: JSON is malformed"]),
    (f"{{broken\n\n{OBJECT}\n5\n", ["line 1: JSON is malformed", "line 4: Expected `object`"]),
    (f"[1, {OBJECT}, {{}}]", ["row 1: the row is no JSON object", "row 3: is missing at status"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), SOME)
def test_a_row_that_cannot_be_read_is_one_row_that_is_refused_by_its_place(
    site: Site, text: str, said: list[str]
) -> None:
    file = site.folder / "a.txt"
    file.write_text(text, encoding="utf-8", newline="")
    done = site.run("feed", "take", str(file))
    assert (done.stdout, done.exit_code) == ("imported 1 runs from 1 file(s)\n", int(bool(said)))
    assert site.runs() == [("RunMgmt/Load", "SUCCESS")]
    listed = sorted(
        one.partition("  row:RUNMGR@UTC  ")[2] for one in site.run("rejected", "list").stdout.splitlines()
    )
    assert [one.startswith(f"{file} {wanted}") for one, wanted in zip(listed, said, strict=True)] == [True] * len(
        said
    )
    assert site.run("rejected", "retry").stdout == f"0 ingested, {len(said)} still rejected\n"


NO_FILES = [
    ("status,request_type,STATUS\n", "the header names several columns status"), ("[{", "Input data was truncated"),
    ('"status\n', "the header is no CSV"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), NO_FILES)
def test_a_file_that_is_no_table_is_refused_whole(site: Site, text: str, said: str) -> None:
    (site.folder / "a.txt").write_text(text)
    with pytest.raises(ConfigError, match=rf"a\.txt: {said}"):
        site.run("feed", "take", str(site.folder / "a.txt"))


def test_a_database_that_is_not_there_is_not_made(site: Site) -> None:
    site.base = site.folder / "typo.db"
    with pytest.raises(Unreachable, match=r"unable to open database file .*typo\.db: it is not there"):
        site.poll()
    assert not site.base.exists()


@pytest.mark.parametrize(
    "value", [3, 2.5, "b", date(2026, 1, 1), datetime(2026, 1, 1, 6, tzinfo=UTC), Decimal("1.50"), b"\x00\x01"]
)
def test_a_watermark_comes_back_as_it_was(store: Store, value: object) -> None:
    marks = Watermarks(store.db, store.org)
    assert marks.get("rm") is None
    marks.set("rm", "other")
    marks.set("rm", value)
    assert (marks.get("rm"), marks.get("else")) == (value, None)
