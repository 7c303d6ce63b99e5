"""Outputs in Delta, Iceberg and JDBC tables: written once, after the checks, and registered by table version."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import psycopg
import pytest

from bridge.errors import NotFound, ProcessNotReady
from bridge.process.backend import ProcessBackend
from bridge.process.dataset_location import location_from_jdbc
from bridge.process.runner import RunResult
from bridge.process.views import ViewBuilder
from bridge.queries.versions import ResolveVersionQuery, VersionResult, VersionsQuery
from bridge.store.sqlite import SqliteDatabase
from bridge.versions.command import Command
from bridge.versions.publish_commands import PublishCommand
from bridge.versions.results import ResolvedVersion
from connectors.errors import InvalidData
from tests.postgres import server
from tests.system.process.spark_harness import RAW_INPUT, SparkHarness
from tests.system.process.test_command import ProcessCli
from tests.system.spark.job import POSTGRES_DRIVER

pytestmark = [
    pytest.mark.system("java", "spark"),
    pytest.mark.timeout(300),
    # Py4J leaves the sockets of its gateway to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

Row = tuple[Any, ...]
FIRST = "id,account,amount,day\n1,a,10,2026-01-30\n2,b,20,2026-01-31\n"
SECOND = "id,account,amount,day\n2,z,99,2026-01-31\n3,c,30,2026-01-31\n"
ONE, TWO, NEW_TWO, THREE = (1, "a", 10.0), (2, "b", 20.0), (2, "z", 99.0), (3, "c", 30.0)


class SimulatedKill(BaseException):
    """Simulates kill -9: no handler catches it."""


class FailingBackend:
    """Backend that is killed when a run sends its completion or publishes."""

    def __init__(self, backend: ProcessBackend, killed_at: str) -> None:
        self._backend = backend
        self._killed_at = killed_at
        self.query = backend.query

    def execute(self, command: Command[Any]) -> Any:
        if self._killed_at == "publish" and isinstance(command, PublishCommand):
            raise SimulatedKill
        return self._backend.execute(command)

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        if self._killed_at == "complete" and any(b'"COMPLETE"' in event for event in events):
            raise SimulatedKill
        return self._backend.send_events(events)

    def close(self) -> None:
        """Nothing to close."""


def write_raw_with_mtime(harness: SparkHarness, rows: str) -> None:
    """Write the input; equal rows result in the same modification time."""
    harness.write_raw(rows)
    mtime = crc32(rows.encode())
    os.utime(harness.lake / "raw" / "a.csv", (mtime, mtime))


class Table:
    """A Delta or Iceberg table that a process writes."""

    def __init__(self, harness: SparkHarness, table_format: str) -> None:
        self.harness = harness
        self.format = table_format
        warehouse = harness.session.conf.get("spark.sql.catalog.lake.warehouse")
        database = f"of_{abs(hash(str(harness.folder))):x}"
        self.dataset = "positions" if table_format == "delta" else f"lake.{database}.positions"
        self.options = "" if table_format == "delta" else f', namespace: "file:{warehouse}"'
        self.location = (
            {"namespace": "file", "name": harness.path("positions")}
            if table_format == "delta"
            else {"namespace": f"file:{warehouse}", "name": f"{database}.positions"}
        )

    def text(self, output_options: str = "", quality: str = "", sql: str = "SELECT * FROM raw") -> str:
        output = f"{{dataset: {self.dataset}, from: made, format: {self.format}{self.options}{output_options}}}"
        checks = f"quality: [{{on: {self.dataset}, {quality}}}]" if quality else ""
        return f'{RAW_INPUT}\nsteps: [{{name: made, sql: "{sql}"}}]\noutputs: [{output}]\n{checks}\n'

    def run(self, rows: str, output_options: str = "", *, killed_at: str | None = None, **options: str) -> RunResult:
        write_raw_with_mtime(self.harness, rows)
        plan = self.harness.plan(self.text(output_options, **options))
        backend = FailingBackend(self.harness.backend, killed_at) if killed_at else self.harness.backend
        return self.harness.runner(plan, backend).run()

    def rows(self, pin: str = "published") -> list[Row]:
        """Rows of a version, read by another process, without columns that vary between tests."""
        read = f"{{dataset: {self.dataset}, as: it, format: {self.format}{self.options}, pin: '{pin}'}}"
        plan = self.harness.plan(f"inputs: [{read}]\noutputs: [{{dataset: o, from: it}}]\n", "reader")
        builder = ViewBuilder(self.harness.session, plan)
        builder.add_input(plan.inputs[0])
        return sorted((tuple(row)[:3] for row in builder.frames["it"].collect()), key=str)

    @property
    def published(self) -> str | None:
        try:
            return self.harness.backend.query(ResolveVersionQuery(**self.location)).tag
        except NotFound:
            return None

    @property
    def versions(self) -> list[VersionResult]:
        return list(self.harness.backend.query(VersionsQuery(**self.location)).items)

    @property
    def table_versions(self) -> list[str]:
        """Table versions, the oldest first."""
        session = self.harness.session
        if self.format == "delta":
            history = (
                session.sql(f"DESCRIBE HISTORY delta.`{self.harness.path('positions')}`")
                .orderBy("version")
                .select("version")
            )
            return [str(row.version) for row in history.collect()]
        snapshots = session.sql(f"SELECT snapshot_id FROM {self.dataset}.snapshots ORDER BY committed_at")
        return [str(row[0]) for row in snapshots.collect()]


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, harness: SparkHarness) -> Iterator[Table]:
    table = Table(harness, request.param)
    yield table
    if table.format == "iceberg":
        harness.session.sql(f"DROP TABLE IF EXISTS {table.dataset} PURGE")


def test_version_tag_is_table_version_and_stays_readable(table: Table) -> None:
    first = table.run(FIRST)
    with pytest.raises(SimulatedKill):
        table.run(SECOND, killed_at="publish")
    assert (len(table.table_versions), [version.tag for version in table.versions][::-1]) == (2, table.table_versions)
    assert table.published == first.outputs[0].version == table.table_versions[0]
    assert (table.rows(), table.rows("latest")) == ([ONE, TWO], [NEW_TWO, THREE])
    assert table.rows("live") == [NEW_TWO, THREE]
    repeated = table.run(SECOND)
    assert (repeated.ended, table.published, len(table.table_versions)) == ("published", table.table_versions[1], 2)


def test_changed_checks_are_evaluated_on_table_version(table: Table) -> None:
    table.run(FIRST, quality="check: row_count, max: 2")
    assert table.run(FIRST, quality="check: unique, column: id").ended == "unchanged"
    with pytest.raises(InvalidData, match=r"2 rows; expected at least 3 \(published versions stay published\)"):
        table.run(FIRST, quality="check: row_count, min: 3")
    assert (table.published, len(table.table_versions)) == (table.table_versions[0], 1)


def test_append_to_table_adds_rows_once(table: Table) -> None:
    options = ", mode: append"
    table.run(FIRST, options)
    table.run(SECOND, options)
    repeated = table.run(FIRST, options)
    assert (repeated.ended, table.published) == ("unchanged", table.table_versions[-1]), (
        "the older version is not published again"
    )
    assert table.rows() == table.rows("live") == [ONE, TWO, NEW_TWO, THREE]
    assert [version.rows for version in table.versions] == [2, 2]


@pytest.mark.parametrize("mode", ["append", "merge, keys: [id]", "overwrite", "overwrite, partition_by: [day]"])
def test_kill_between_commit_and_completion_writes_once(table: Table, mode: str) -> None:
    options = f", mode: {mode}"
    table.run(FIRST, options)
    rows_before = table.rows()
    with pytest.raises(SimulatedKill):
        table.run(SECOND, options, killed_at="complete")
    assert (table.published, table.rows(), len(table.table_versions)) == (table.table_versions[0], rows_before, 2)
    result = table.run(SECOND, options)
    assert (result.ended, table.published, len(table.table_versions)) == ("published", table.table_versions[1], 2)
    assert (
        table.rows()
        == {
            "append": [ONE, TWO, NEW_TWO, THREE],
            "merge, keys: [id]": [ONE, NEW_TWO, THREE],
            "overwrite": [NEW_TWO, THREE],
            "overwrite, partition_by: [day]": [ONE, NEW_TWO, THREE],
        }[mode]
    )
    assert [version.tag for version in table.versions][::-1] == table.table_versions


def test_merge_into_table_replaces_rows_also_for_null_keys(table: Table) -> None:
    options, sql = ", mode: merge, keys: [id]", "SELECT nullif(id, 3) AS id, account, amount, day FROM raw"
    table.run(FIRST + "3,c,1,2026-01-30\n", options, sql=sql)
    table.run(SECOND, options, sql=sql)
    assert table.rows() == [ONE, NEW_TWO, (None, "c", 30.0)]
    with pytest.raises(InvalidData, match="1 duplicate row"):
        table.run(SECOND + "2,y,1,2026-01-31\n", options, sql=sql)
    with pytest.raises(Exception, match="the table has the columns id, account, amount, day"):
        table.run(SECOND, options, sql="SELECT id, amount FROM raw")
    assert len(table.table_versions) == 2


@pytest.mark.parametrize("mode", ["merge, keys: [id]", "overwrite, partition_by: [day]", "append"])
def test_empty_output_creates_version_without_changes(table: Table, mode: str) -> None:
    table.run(FIRST, f", mode: {mode}")
    table.run("id,account,amount,day\n", f", mode: {mode}")
    assert table.rows() == [ONE, TWO]
    assert (table.published, len(set(table.table_versions))) == (table.table_versions[-1], 2)


def test_earlier_contents_can_be_written_again(table: Table) -> None:
    for rows in (FIRST, SECOND, FIRST):
        assert table.run(rows).ended == "published"
    assert table.run(FIRST).ended == "unchanged"
    assert table.rows() == table.rows("live") == [ONE, TWO]
    assert [version.tag for version in table.versions][::-1] == table.table_versions
    assert len(table.table_versions) == 3


def test_earlier_partition_can_be_written_again(table: Table) -> None:
    for rows in (FIRST, SECOND, "id,account,amount,day\n2,b,20,2026-01-31\n"):
        table.run(rows, ", partition_by: [day]")
    assert table.rows() == table.rows("live") == [ONE, TWO]


def test_overwrite_may_change_columns(table: Table) -> None:
    table.run(FIRST)
    old_version = table.published
    table.run(SECOND, sql="SELECT id, account, amount, amount * 2 AS twice FROM raw")
    assert (table.rows(), table.rows(f"version:{old_version}")) == ([NEW_TWO, THREE], [ONE, TWO])


@pytest.mark.parametrize("mode", ["append", "merge, keys: [id]", "overwrite"])
def test_failing_check_leaves_table_unchanged(table: Table, mode: str) -> None:
    table.run(FIRST, f", mode: {mode}")
    with pytest.raises(InvalidData, match="row_count"):
        table.run(SECOND, f", mode: {mode}", quality="check: row_count, min: 9")
    assert (len(table.table_versions), table.published, table.rows("live")) == (
        1,
        table.table_versions[0],
        [ONE, TWO],
    )
    assert len(table.versions) == 1


class DatabaseTable:
    """A PostgreSQL table that a process writes."""

    def __init__(self, harness: SparkHarness, database: str) -> None:
        self.harness = harness
        self.url = server().new_database(database)
        self.jdbc = f"jdbc:postgresql://127.0.0.1:{server().port}/{database}"
        self.options = f'options: {{url: "{self.jdbc}", user: tests}}'

    def run(self, rows: str, mode: str, quality: str = "", **options: Any) -> RunResult:
        write_raw_with_mtime(self.harness, rows)
        checks = f"quality: [{{on: public.positions, {quality}}}]" if quality else ""
        text = f"""
{RAW_INPUT}
steps: [{{name: made, sql: "SELECT id, account, amount FROM raw"}}]
outputs: [{{dataset: public.positions, from: made, format: jdbc, mode: {mode}, {self.options}}}]
{checks}
"""
        return self.harness.run(text, **options)

    def rows(self) -> list[Row]:
        with psycopg.connect(self.url) as connection:
            return list(connection.execute("SELECT id, account, amount FROM positions ORDER BY id, account"))

    def resolved(self) -> ResolvedVersion:
        location = location_from_jdbc(self.jdbc, "public.positions")
        return self.harness.backend.query(ResolveVersionQuery(namespace=location.namespace, name=location.name))


@pytest.fixture
def database_table(harness: SparkHarness) -> DatabaseTable:
    return DatabaseTable(harness, f"shop_{abs(hash(str(harness.folder))):x}")


@pytest.mark.system("postgres")
def test_database_table_is_registered_as_live_version(database_table: DatabaseTable) -> None:
    result = database_table.run(FIRST, "overwrite")
    version = database_table.resolved()
    assert (version.tag, version.live, version.rows, version.path) == (result.outputs[0].version, True, 2, None)
    assert database_table.rows() == [ONE, TWO]
    assert database_table.run(FIRST, "overwrite").ended == "unchanged"
    database_table.run(SECOND, "overwrite")
    database_table.run(FIRST, "overwrite")
    assert database_table.rows() == [ONE, TWO], "the earlier rows are written again"
    with pytest.raises(InvalidData):
        database_table.run(SECOND, "overwrite", "check: row_count, min: 9")
    assert database_table.rows() == [ONE, TWO]


@pytest.mark.system("postgres")
def test_append_to_database_is_atomic_and_runs_once(database_table: DatabaseTable) -> None:
    database_table.run(FIRST, "append")
    assert database_table.run(FIRST, "append").ended == "unchanged"
    with psycopg.connect(database_table.url) as connection:
        connection.execute("ALTER TABLE positions ADD CHECK (amount < 1000)")
    with pytest.raises(Exception, match="violates check constraint"):
        database_table.run(SECOND + "9,z,5000,2026-01-31\n", "append")
    assert database_table.rows() == [ONE, TWO], "no partial append"
    database_table.run(SECOND, "append")
    assert database_table.run(FIRST, "append").ended == "unchanged"
    assert database_table.rows() == [ONE, TWO, NEW_TWO, THREE]


@pytest.mark.system("postgres")
def test_database_table_can_only_be_read_live(database_table: DatabaseTable) -> None:
    version = database_table.run(FIRST, "overwrite").outputs[0].version
    read = f"dataset: public.positions, as: it, format: jdbc, {database_table.options}"
    output = "steps: [{name: made, sql: 'SELECT id FROM it'}]\noutputs: [{dataset: copies, from: made}]\n"
    for pin in ("published", "latest", version):
        with pytest.raises(ProcessNotReady, match="changes in place"):
            database_table.harness.run(f"inputs: [{{{read}, pin: '{pin}'}}]\n{output}", "reader")
    for pin in ("", ", pin: live"):
        database_table.harness.run(f"inputs: [{{{read}{pin}}}]\n{output}", "reader")
    assert database_table.harness.rows("copies") == [(1,), (2,)]


DATASET_NAMES = """
SELECT n.namespace_uri, group_concat(d.name) FROM ol_dataset d JOIN ol_namespace n USING (namespace_id)
GROUP BY d.class_id ORDER BY 2
"""


@pytest.mark.system("postgres")
def test_listener_and_process_report_the_same_datasets(tmp_path: Path) -> None:
    cli, url = ProcessCli(tmp_path), server().new_database("names")
    jdbc = f"jdbc:postgresql://127.0.0.1:{server().port}/names"
    outputs = (
        "dataset: d, format: delta",
        f'dataset: lake.db.t, format: iceberg, namespace: "file:{tmp_path}/warehouse"',
        f'dataset: public.t, format: jdbc, options: {{url: "{jdbc}", user: tests}}',
        f'dataset: u, format: jdbc, options: {{url: "{jdbc}", user: tests}}',
    )
    outputs_yaml = "".join(f"  - {{{output}, from: made}}\n" for output in outputs)
    text = f'{RAW_INPUT}\nsteps: [{{name: made, sql: "SELECT id, amount FROM raw"}}]\noutputs:\n{outputs_yaml}'
    code, out, err = cli.run(text, "--conf", f"spark.jars.packages={POSTGRES_DRIVER}", "--output", "json")
    assert code == 0, err
    with closing(SqliteDatabase.for_reading(cli.store)) as db:
        datasets = [sorted(names.split(",")) for _, names in db.fetch_all(DATASET_NAMES)]
    assert datasets == sorted([
        [f"{tmp_path}/lake/d"], [f"{tmp_path}/lake/raw"], [f"{tmp_path}/warehouse/db/t", "db.t"],
        ["names.public.t"], ["names.u"],
    ])  # fmt: skip
    version_tags = [output["version"] for output in json.loads(out)["outputs"]]
    database = f"postgres://127.0.0.1:{server().port}"
    names = (
        ("file", f"{tmp_path}/lake/d"), (f"file:{tmp_path}/warehouse", "db.t"),
        (database, "names.public.t"), (database, "names.u"),
    )  # fmt: skip
    for name, version in zip(names, version_tags, strict=True):
        (versions,), (lineage,) = cli.query("dataset", "versions", *name), cli.query("lineage", *name)
        assert [(item["tag"], item["rows"], item["published"]) for item in versions["items"]] == [(version, 3, True)]
        edges = [(edge["source"]["name"], edge["job"]["name"]) for edge in lineage["edges"]]
        assert edges == [(f"{tmp_path}/lake/raw", "p")]
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM t JOIN u USING (id)").fetchone() == (3,)
