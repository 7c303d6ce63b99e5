"""`lineage-bridge feed`: tables of runs become runs, whatever they are in."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.intake.feeds import Poll, Poller
from bridge.store.watermarks import Watermarks
from mappers.errors import ConfigError, RefusedEvent, Unreachable
from mappers.legacy.feed import body_of_row, plain_row
from mappers.legacy.technologies import Technology
from tests.bridge.conftest import url_of
from tests.stores import Store

ROW = {"request_id": 7, "request_type": "Recalc", "status": "SUCCESS", "start_time": datetime(2026, 1, 1, 6)}  # noqa: DTZ001 - as a database gives it

BODIES = [
    (ROW, "RUNMGR", ("RUNMGR", "RunMgmt/Recalc", "7", "2026-01-01T06:00:00+00:00")),
    ({"name": "S.P", "status": "0", "id": "a", "start": "2026-01-01T06:00:00Z"}, "DB2_SP", ("DB2_SP", "S.P", "a", "2026-01-01T06:00:00Z")),
    ({"JOB": "BOX/A", "STATE": "SU", "RUN_ID": "12/1", "START_TS": "2026-01-01T06:00:00Z", "technology": "autosys"}, "SHELL", ("AUTOSYS", "BOX/A", "12/1", "2026-01-01T06:00:00Z")),
]  # fmt: skip


@pytest.mark.parametrize(("row", "technology", "found"), BODIES)
def test_columns_are_known_by_their_names(row: dict[str, object], technology: str, found: tuple[str, ...]) -> None:
    body = body_of_row(plain_row(row, UTC), technology, UTC)
    assert (body["job"]["namespace"], body["job"]["name"], body["run"]["runId"], body["run"]["startTime"]) == found


REFUSED = [
    ({"request_type": "X"}, "status: is missing"), ({"status": "OK"}, "request_type: is missing"),
    ({"status": "OK", "technology": "COBOL"}, "technology: is none of AUTOSYS"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "said"), REFUSED)
def test_a_row_that_is_no_run_is_refused_by_its_column(row: dict[str, object], said: str) -> None:
    with pytest.raises(RefusedEvent, match=said):
        body_of_row(row, "RUNMGR", UTC)


@pytest.mark.parametrize("technology", Technology)
def test_what_the_option_takes_is_what_a_row_may_be_of(technology: Technology) -> None:
    row = {"status": "OK", "name": "x", "request_type": "x"}
    assert body_of_row(row, technology, UTC)["job"]["namespace"] == technology.value
    assert (
        body_of_row({**row, "technology": technology.value.lower()}, Technology.shell, UTC)["job"]["namespace"]
        == technology
    )


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
    assert site.poll().stdout == "rm: 2 runs taken\n"
    assert site.poll().stdout == "rm: 0 runs taken\n"
    site.add((2, "Load", "FAILED", "2026-01-01T06:00:00", "2026-01-01T08:00:00", 3))
    assert site.poll().stdout == "rm: 1 runs taken\n"
    assert site.runs() == [("RunMgmt/Load", "FAILED"), ("RunMgmt/Recalc", "SUCCESS")]


def test_a_row_that_is_no_run_is_kept_with_its_reason_and_the_rest_goes_on(site: Site) -> None:
    site.add(
        (1, "Recalc", None, None, None, 1), (2, "Load", "SUCCESS", "2026-01-01T06:00:00", "2026-01-01T08:00:00", 2)
    )
    done = site.poll()
    assert (done.stdout, "1 rejected" in done.stderr) == ("rm: 1 runs taken\n", True)
    assert "is missing at status" in site.run("rejected", "list").stdout


def test_a_row_that_was_refused_comes_again_and_is_the_same_row(site: Site) -> None:
    again = "SELECT * FROM r WHERE :since IS NULL OR changed >= :since"
    site.add((1, "Recalc", None, None, None, 1), (2, "Load", "SUCCESS", "no time", None, 1))
    first = site.poll(again)
    listed = site.run("rejected", "list").stdout
    assert (first.stdout, "2 rejected" in first.stderr) == ("rm: 0 runs taken\n", True)
    later = site.poll(again)
    assert (later.stdout, later.stderr) == ("rm: 0 runs taken\n", "")
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
    assert site.run("rejected", "retry").stdout == "0 taken, 1 still refused\n"
    site.environment["LINEAGE_BRIDGE__LEGACY__DB2_URL"] = "db2://h:50000"
    assert site.run("rejected", "retry").stdout == "1 taken, 0 still refused\n"
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
    assert site.poll().stdout == "rm: 1 runs taken\n"
    site.add(*rows[1:], (9, "Load", "SUCCESS", "2026-01-01T06:00:00", None, values[0]))
    everything = "SELECT * FROM r WHERE :since IS NULL OR 1"
    for _ in range(2):
        with pytest.raises(
            ConfigError, match=f"rm: the watermark changed has values that cannot be compared: {said}"
        ):
            site.poll(everything)
    assert site.runs() == [("RunMgmt/Recalc", "SUCCESS")]
    as_text = "SELECT *, CAST(changed AS TEXT) AS mark FROM r"
    assert site.poll(as_text, "mark", "anew").stdout == "anew: 3 runs taken\n"


def test_a_watermark_that_cannot_be_kept_is_told(site: Site) -> None:
    one = Poller(Poll("rm", "", "", "at"), None, None, "default")  # type: ignore[arg-type] - it only looks at rows
    with pytest.raises(ConfigError, match="cannot be kept: timedelta"):
        one._newest([{"at": timedelta(1)}], None)
    with pytest.raises(ConfigError, match="cannot be compared: datetime, datetime with a time zone"):
        one._newest([{"AT": datetime(2026, 1, 1)}], datetime(2026, 1, 1, tzinfo=UTC))  # noqa: DTZ001 - as databases give


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
        assert site.run("feed", "take", str(site.folder / name)).stdout == "1 runs taken from 1 file(s)\n"
    assert site.runs() == [("RunMgmt/Recalc", "SUCCESS")]


@pytest.mark.parametrize(
    "value", [3, 2.5, "b", date(2026, 1, 1), datetime(2026, 1, 1, 6, tzinfo=UTC), Decimal("1.50"), b"\x00\x01"]
)
def test_a_watermark_comes_back_as_it_was(store: Store, value: object) -> None:
    marks = Watermarks(store.db, store.org)
    assert marks.get("rm") is None
    marks.put("rm", "other")
    marks.put("rm", value)
    assert (marks.get("rm"), marks.get("else")) == (value, None)
