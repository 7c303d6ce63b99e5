"""PySpark with the real listener and service: the store contains the lineage of the code of each job."""

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
    JobResult,
    end_job,
    make_inputs,
    release_under_test,
    run_job,
    start_job,
)
from tests.system.spark.store_summary import StoreSummary, facts, summarize_store, unexplained

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]


def run_case(
    base: Path, case: Case, *arguments: str, parent: ParentRun | None = None, **conf: str
) -> tuple[Path, JobResult]:
    """Run a job with the conf of `lineage-bridge spark conf`; return the store of its events."""
    release = release_under_test()
    if case.catalog and not (release.iceberg if case.catalog is TableFormat.iceberg else release.delta):
        pytest.skip(f"{case.catalog} has no release for Spark {release.name}")
    make_inputs(base)
    store = new_store(base)
    with Service(store) as service:
        options = ConfOptions(
            release,
            url=f"http://127.0.0.1:{service.port}",
            namespace="spark",
            parent=parent,
            catalog=case.catalog,
            warehouse=str(base / "ice"),
        )
        result = run_job(base, case.job, *case.arguments, *arguments, options=options, conf=conf)
    assert result.code == case.code, result.log[-4000:]
    return store, result


def assert_summary_matches(summary: StoreSummary, case: Case) -> None:
    truth, gaps, quirks = facts(case.columns), facts(case.gaps), facts(case.quirks)
    assert gaps <= truth, f"gaps that are not in columns: {gaps - truth}"
    assert unexplained(summary.datasets, case.datasets.split()) == []
    assert summary.versions == case.versions
    assert unexplained(summary.edges, facts(case.edges)) == []
    assert unexplained(summary.columns, (truth - gaps) | quirks) == []
    assert summary.outcomes == {case.job: case.outcome}
    assert (case.job in summary.errors) is bool(case.error)
    assert case.error in summary.errors.get(case.job, "")
    assert summary.running == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join((case.job, *case.arguments)))
def test_store_contains_expected_lineage(tmp_path: Path, case: Case) -> None:
    store, _ = run_case(tmp_path, case)
    assert_summary_matches(summarize_store(store, tmp_path), case.for_release(release_under_test().name))


@pytest.mark.system("postgres")
def test_jdbc_lineage(tmp_path: Path) -> None:
    with running_server() as server:
        with psycopg.connect(server.new_database("shop")) as shop:
            shop.execute("CREATE TABLE customers (id INT, name TEXT)")
            shop.execute("INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bob')")
        driver = {"spark.jars.packages": POSTGRES_DRIVER}
        store, _ = run_case(tmp_path, JDBC, f"jdbc:postgresql://127.0.0.1:{server.port}/shop", **driver)
        assert_summary_matches(summarize_store(store, tmp_path, f"postgres://127.0.0.1:{server.port}"), JDBC)


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


def test_stream_is_running_until_it_is_killed(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with Service(store) as service:
        options = ConfOptions(release_under_test(), url=f"http://127.0.0.1:{service.port}", namespace="spark")
        process = start_job(tmp_path, "endless_stream", options=options)
        try:
            until(lambda: (tmp_path / "running").exists() or process.poll() is not None, "a third batch", JOB_SECONDS)
            until(
                lambda: len(summarize_store(store, tmp_path).versions.get("out/ticks", ())) > 1, "two stored batches"
            )
            running = summarize_store(store, tmp_path)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            result = end_job(tmp_path, "endless_stream", process)
        until(lambda: summarize_store(store, tmp_path).running == set(), "the stored end")
    assert running.outcomes == {"endless_stream": "STARTED"}, result.log[-4000:]
    assert summarize_store(store, tmp_path).outcomes["endless_stream"] != "STARTED"


def test_parent_run_owners_and_tags(tmp_path: Path) -> None:
    conf = {
        "spark.openlineage.job.owners.team": "credit-data",
        "spark.openlineage.job.tags": "tier:gold:steward;nightly",
        "spark.openlineage.run.tags": "attempt:2",
    }
    parent = ParentRun("autosys://prod", "CREDIT_BOX", run_uuid(1))
    store, _ = run_case(tmp_path, GOVERNED, parent=parent, **conf)
    assert_summary_matches(summarize_store(store, tmp_path), GOVERNED)
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
