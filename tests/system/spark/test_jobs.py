"""Real PySpark with the real listener against a running service: what the store shows is what each job's code does."""

import json
import os
import signal
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from bridge.store.lineage.graph import LineageGraph
from bridge.store.sqlite import SqliteDatabase
from connectors.spark.conf import ConfOptions, ParentRun
from connectors.spark.releases import TableFormat
from tests.factories import run_uuid
from tests.postgres import running_server
from tests.system.service import Service, new_store, until
from tests.system.spark.expected import CASES, JDBC, Case
from tests.system.spark.job import (
    JOB_SECONDS,
    POSTGRES_DRIVER,
    Ended,
    end_job,
    line_under_test,
    make_inputs,
    run_job,
    start_job,
)
from tests.system.spark.seen import Seen, facts, see, unexplained

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]


def ran(base: Path, case: Case, *words: str, parent: ParentRun | None = None, **conf: str) -> tuple[Path, Ended]:
    """Run a job through the conf that `lineage-bridge spark conf` makes; gives the store that its events ended in."""
    line = line_under_test()
    if case.catalog and not (line.iceberg if case.catalog is TableFormat.iceberg else line.delta):
        pytest.skip(f"{case.catalog} has no release for Spark {line.name}")
    make_inputs(base)
    store = new_store(base)
    with Service(store) as service:
        wanted = ConfOptions(
            line,
            url=f"http://127.0.0.1:{service.port}",
            namespace="spark",
            parent=parent,
            catalog=case.catalog,
            warehouse=str(base / "ice"),
        )
        ended = run_job(base, case.job, *case.words, *words, wanted=wanted, conf=conf)
    assert ended.code == case.code, ended.log[-4000:]
    return store, ended


def assert_shows(seen: Seen, case: Case) -> None:
    truth, gaps, quirks = facts(case.columns), facts(case.gaps), facts(case.quirks)
    assert gaps <= truth, f"gaps that are no facts of the job: {gaps - truth}"
    assert unexplained(seen.datasets, case.datasets.split()) == []
    assert seen.versions == case.versions
    assert unexplained(seen.edges, facts(case.edges)) == []
    assert unexplained(seen.columns, (truth - gaps) | quirks) == []
    assert seen.outcomes == {case.job: case.outcome}
    assert (case.job in seen.errors) is bool(case.error)
    assert case.error in seen.errors.get(case.job, "")
    assert seen.running == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join((case.job, *case.words)))
def test_the_store_shows_what_the_job_does(tmp_path: Path, case: Case) -> None:
    store, _ = ran(tmp_path, case)
    assert_shows(see(store, tmp_path), case.on(line_under_test().name))


@pytest.mark.system("postgres")
def test_what_goes_through_jdbc(tmp_path: Path) -> None:
    with running_server() as server:
        with psycopg.connect(server.new_database("shop")) as shop:
            shop.execute("CREATE TABLE customers (id INT, name TEXT)")
            shop.execute("INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob')")
        driver = {"spark.jars.packages": POSTGRES_DRIVER}
        store, _ = ran(tmp_path, JDBC, f"jdbc:postgresql://127.0.0.1:{server.port}/shop", **driver)
        assert_shows(see(store, tmp_path, f"postgres://127.0.0.1:{server.port}"), JDBC)


GOVERNED = Case(
    "governed",
    datasets="in/customers lake/regions lake/names",
    versions={"lake/regions": [3], "lake/names": [3]},
    edges="""
        in/customers -> lake/regions
        in/customers -> lake/names
    """,
    columns="""
        in/customers.id     -> lake/regions.id      IDENTITY
        in/customers.region -> lake/regions.region  IDENTITY
        in/customers.id     -> lake/names.id        IDENTITY
        in/customers.name   -> lake/names.name      IDENTITY
    """,
)


_PARENT = """
SELECT parent_run_uuid FROM process_run r JOIN ol_job j ON j.job_id = r.process_id WHERE j.job_type = 'APPLICATION'
"""
_OWNERS = "SELECT name, team FROM process WHERE name NOT LIKE 'governed.%'"
_TAGS = """
SELECT CASE WHEN r.run_id IS NULL THEN 'job' ELSE 'run' END, f.body FROM facet f
LEFT JOIN ol_run r ON r.run_id = f.owner_id
JOIN ol_job j ON j.job_id = coalesce(r.job_id, f.owner_id) AND j.job_type = 'APPLICATION'
WHERE f.name = 'tags'
"""


def test_a_stream_is_alive_until_it_is_ended_and_never_looks_stuck(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store) as service:
        wanted = ConfOptions(line_under_test(), url=f"http://127.0.0.1:{service.port}", namespace="spark")
        process = start_job(tmp_path, "endless", wanted=wanted)
        try:
            until(lambda: (tmp_path / "running").exists() or process.poll() is not None, "a third batch", JOB_SECONDS)
            until(lambda: len(see(store, tmp_path).versions.get("out/ticks", ())) > 1, "two batches to be seen")
            alive = see(store, tmp_path)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            ended = end_job(tmp_path, "endless", process)
        until(lambda: see(store, tmp_path).running == set(), "the end to be seen")
    assert alive.outcomes == {"endless": "STARTED"}, ended.log[-4000:]
    assert see(store, tmp_path).outcomes["endless"] != "STARTED"


def test_a_parent_job_owners_and_tags(tmp_path: Path) -> None:
    conf = {
        "spark.openlineage.job.owners.team": "credit-data",
        "spark.openlineage.job.tags": "tier:gold:steward;nightly",
        "spark.openlineage.run.tags": "attempt:2",
    }
    parent = ParentRun("autosys://prod", "CREDIT_BOX", run_uuid(1))
    store, _ = ran(tmp_path, GOVERNED, parent=parent, **conf)
    assert_shows(see(store, tmp_path), GOVERNED)
    with closing(SqliteDatabase.for_reading(store)) as db:
        graph = LineageGraph(db, "default", "job")
        names = graph.find_dataset("file", f"{tmp_path}/lake/names")
        assert names is not None
        assert {graph.job_name(edge.job) for edge in graph.upstream([names]) if edge.job} == {parent[:2]}
        assert db.fetch_all(_PARENT) == [(parent.run_id,)]
        assert set(db.fetch_all(_OWNERS)) == {("governed", "credit-data"), (parent.name, None)}
        tags = {
            owner: [(tag["key"], tag["value"]) for tag in json.loads(body)["tags"]]
            for owner, body in db.fetch_all(_TAGS)
        }
    assert tags == {"job": [("tier", "gold"), ("nightly", "true")], "run": [("attempt", "2")]}
