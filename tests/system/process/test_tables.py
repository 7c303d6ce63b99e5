"""Outputs that are tables: rows come into them once, after the checks, and the registry knows them by their versions."""

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
from tests.system.process.test_command import Desk
from tests.system.process.works import READ, Works
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


class Killed(BaseException):
    """What nobody in the process hears of, as kill -9."""


class Severed:
    """A link that breaks when one thing is said: that a run is complete, or what is to be published."""

    def __init__(self, link: ProcessBackend, at: str) -> None:
        self._link = link
        self._at = at
        self.query = link.query

    def execute(self, order: Command[Any]) -> Any:
        if self._at == "publish" and isinstance(order, PublishCommand):
            raise Killed
        return self._link.execute(order)

    def send_events(self, events: Sequence[bytes]) -> list[str]:
        if self._at == "complete" and any(b'"COMPLETE"' in one for one in events):
            raise Killed
        return self._link.send_events(events)

    def close(self) -> None:
        """Nothing is held."""


def write_raw(works: Works, rows: str) -> None:
    """Let the input be of some rows: of the same as at another time, it is the same file."""
    works.raw(rows)
    at = crc32(rows.encode())
    os.utime(works.lake / "raw" / "a.csv", (at, at))


class Table:
    """A table that a process writes, in one of the forms."""

    def __init__(self, works: Works, form: str) -> None:
        self.works = works
        self.form = form
        warehouse = works.session.conf.get("spark.sql.catalog.lake.warehouse")
        database = f"of_{abs(hash(str(works.folder))):x}"
        self.dataset = "positions" if form == "delta" else f"lake.{database}.positions"
        self.more = "" if form == "delta" else f', namespace: "file:{warehouse}"'
        self.where = (
            {"namespace": "file", "name": works.path("positions")}
            if form == "delta"
            else {"namespace": f"file:{warehouse}", "name": f"{database}.positions"}
        )

    def text(self, more: str = "", quality: str = "", sql: str = "SELECT * FROM raw") -> str:
        output = f"{{dataset: {self.dataset}, from: made, format: {self.form}{self.more}{more}}}"
        checks = f"quality: [{{on: {self.dataset}, {quality}}}]" if quality else ""
        return f'{READ}\nsteps: [{{name: made, sql: "{sql}"}}]\noutputs: [{output}]\n{checks}\n'

    def run(self, rows: str, more: str = "", *, severed: str | None = None, **given: str) -> RunResult:
        write_raw(self.works, rows)
        plan = self.works.plan(self.text(more, **given))
        link = Severed(self.works.backend, severed) if severed else self.works.backend
        return self.works.runner(plan, link).run()

    def rows(self, pin: str = "published") -> list[Row]:
        """Read what a version holds, as another process does; of the columns those that do not change."""
        read = f"{{dataset: {self.dataset}, as: it, format: {self.form}{self.more}, pin: '{pin}'}}"
        plan = self.works.plan(f"inputs: [{read}]\noutputs: [{{dataset: o, from: it}}]\n", "reader")
        making = ViewBuilder(self.works.session, plan)
        making.add_input(plan.inputs[0])
        return sorted((tuple(row)[:3] for row in making.frames["it"].collect()), key=str)

    @property
    def published(self) -> str | None:
        try:
            return self.works.backend.query(ResolveVersionQuery(**self.where)).tag
        except NotFound:
            return None

    @property
    def versions(self) -> list[VersionResult]:
        return list(self.works.backend.query(VersionsQuery(**self.where)).items)

    @property
    def own(self) -> list[str]:
        """Name the versions as the system itself does, the oldest first."""
        session = self.works.session
        if self.form == "delta":
            history = (
                session.sql(f"DESCRIBE HISTORY delta.`{self.works.path('positions')}`")
                .orderBy("version")
                .select("version")
            )
            return [str(row.version) for row in history.collect()]
        snapshots = session.sql(f"SELECT snapshot_id FROM {self.dataset}.snapshots ORDER BY committed_at")
        return [str(row[0]) for row in snapshots.collect()]


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, works: Works) -> Iterator[Table]:
    made = Table(works, request.param)
    yield made
    if made.form == "iceberg":
        works.session.sql(f"DROP TABLE IF EXISTS {made.dataset} PURGE")


def test_a_version_is_called_as_the_table_calls_it_and_read_as_it_was(table: Table) -> None:
    first = table.run(FIRST)
    with pytest.raises(Killed):
        table.run(SECOND, severed="publish")
    assert (len(table.own), [one.tag for one in table.versions][::-1]) == (2, table.own)
    assert table.published == first.outputs[0].version == table.own[0]
    assert (table.rows(), table.rows("latest")) == ([ONE, TWO], [NEW_TWO, THREE])
    assert table.rows("live") == [NEW_TWO, THREE]
    again = table.run(SECOND)
    assert (again.ended, table.published, len(table.own)) == ("published", table.own[1], 2)


def test_what_is_appended_is_there_once(table: Table) -> None:
    more = ", mode: append"
    table.run(FIRST, more)
    table.run(SECOND, more)
    again = table.run(FIRST, more)
    assert (again.ended, table.published) == ("unchanged", table.own[-1]), "nobody goes back to what was before"
    assert table.rows() == table.rows("live") == [ONE, TWO, NEW_TWO, THREE]
    assert [one.rows for one in table.versions] == [2, 2]


@pytest.mark.parametrize("mode", ["append", "merge, keys: [id]", "overwrite", "overwrite, partition_by: [day]"])
def test_killed_between_the_table_and_the_telling_it_is_done_once(table: Table, mode: str) -> None:
    more = f", mode: {mode}"
    table.run(FIRST, more)
    before = table.rows()
    with pytest.raises(Killed):
        table.run(SECOND, more, severed="complete")
    assert (table.published, table.rows(), len(table.own)) == (table.own[0], before, 2)
    ran = table.run(SECOND, more)
    assert (ran.ended, table.published, len(table.own)) == ("published", table.own[1], 2)
    assert (
        table.rows()
        == {
            "append": [ONE, TWO, NEW_TWO, THREE],
            "merge, keys: [id]": [ONE, NEW_TWO, THREE],
            "overwrite": [NEW_TWO, THREE],
            "overwrite, partition_by: [day]": [ONE, NEW_TWO, THREE],
        }[mode]
    )
    assert [one.tag for one in table.versions][::-1] == table.own


def test_rows_of_a_key_take_each_others_place_and_null_is_a_key(table: Table) -> None:
    more, sql = ", mode: merge, keys: [id]", "SELECT nullif(id, 3) AS id, account, amount, day FROM raw"
    table.run(FIRST + "3,c,1,2026-01-30\n", more, sql=sql)
    table.run(SECOND, more, sql=sql)
    assert table.rows() == [ONE, NEW_TWO, (None, "c", 30.0)]
    with pytest.raises(InvalidData, match="duplicate rows"):
        table.run(SECOND + "2,y,1,2026-01-31\n", more, sql=sql)
    with pytest.raises(Exception, match="the table has the columns id, account, amount, day"):
        table.run(SECOND, more, sql="SELECT id, amount FROM raw")
    assert len(table.own) == 2


@pytest.mark.parametrize("mode", ["merge, keys: [id]", "overwrite, partition_by: [day]", "append"])
def test_no_rows_change_nothing_and_are_a_version(table: Table, mode: str) -> None:
    table.run(FIRST, f", mode: {mode}")
    table.run("id,account,amount,day\n", f", mode: {mode}")
    assert table.rows() == [ONE, TWO]
    assert (table.published, len(set(table.own))) == (table.own[-1], 2)


def test_what_is_replaced_can_come_back(table: Table) -> None:
    for rows in (FIRST, SECOND, FIRST):
        assert table.run(rows).ended == "published"
    assert table.run(FIRST).ended == "unchanged"
    assert table.rows() == table.rows("live") == [ONE, TWO]
    assert [one.tag for one in table.versions][::-1] == table.own
    assert len(table.own) == 3


def test_partitions_come_back_too(table: Table) -> None:
    for rows in (FIRST, SECOND, "id,account,amount,day\n2,b,20,2026-01-31\n"):
        table.run(rows, ", partition_by: [day]")
    assert table.rows() == table.rows("live") == [ONE, TWO]


def test_what_is_replaced_may_have_other_columns(table: Table) -> None:
    table.run(FIRST)
    old = table.published
    table.run(SECOND, sql="SELECT id, account, amount, amount * 2 AS twice FROM raw")
    assert (table.rows(), table.rows(f"version:{old}")) == ([NEW_TWO, THREE], [ONE, TWO])


@pytest.mark.parametrize("mode", ["append", "merge, keys: [id]", "overwrite"])
def test_a_check_that_fails_leaves_the_table_as_it_was(table: Table, mode: str) -> None:
    table.run(FIRST, f", mode: {mode}")
    with pytest.raises(InvalidData, match="row_count"):
        table.run(SECOND, f", mode: {mode}", quality="check: row_count, min: 9")
    assert (len(table.own), table.published, table.rows("live")) == (1, table.own[0], [ONE, TWO])
    assert len(table.versions) == 1


class Shop:
    """A database with one table that a process writes."""

    def __init__(self, works: Works, database: str) -> None:
        self.works = works
        self.url = server().new_database(database)
        self.jdbc = f"jdbc:postgresql://127.0.0.1:{server().port}/{database}"
        self.options = f'options: {{url: "{self.jdbc}", user: tests}}'

    def run(self, rows: str, mode: str, quality: str = "", **given: Any) -> RunResult:
        write_raw(self.works, rows)
        checks = f"quality: [{{on: public.positions, {quality}}}]" if quality else ""
        text = f"""
{READ}
steps: [{{name: made, sql: "SELECT id, account, amount FROM raw"}}]
outputs: [{{dataset: public.positions, from: made, format: jdbc, mode: {mode}, {self.options}}}]
{checks}
"""
        return self.works.run(text, **given)

    def rows(self) -> list[Row]:
        with psycopg.connect(self.url) as connection:
            return list(connection.execute("SELECT id, account, amount FROM positions ORDER BY id, account"))

    def resolved(self) -> ResolvedVersion:
        where = location_from_jdbc(self.jdbc, "public.positions")
        return self.works.backend.query(ResolveVersionQuery(namespace=where.namespace, name=where.name))


@pytest.fixture
def shop(works: Works) -> Shop:
    return Shop(works, f"shop_{abs(hash(str(works.folder))):x}")


@pytest.mark.system("postgres")
def test_a_table_of_a_database_is_told_as_live(shop: Shop) -> None:
    ran = shop.run(FIRST, "overwrite")
    found = shop.resolved()
    assert (found.tag, found.live, found.rows, found.path) == (ran.outputs[0].version, True, 2, None)
    assert shop.rows() == [ONE, TWO]
    assert shop.run(FIRST, "overwrite").ended == "unchanged"
    shop.run(SECOND, "overwrite")
    shop.run(FIRST, "overwrite")
    assert shop.rows() == [ONE, TWO], "what was there before is written again"
    with pytest.raises(InvalidData):
        shop.run(SECOND, "overwrite", "check: row_count, min: 9")
    assert shop.rows() == [ONE, TWO]


@pytest.mark.system("postgres")
def test_what_is_appended_to_a_database_is_there_once_or_not_at_all(shop: Shop) -> None:
    shop.run(FIRST, "append")
    assert shop.run(FIRST, "append").ended == "unchanged"
    with psycopg.connect(shop.url) as connection:
        connection.execute("ALTER TABLE positions ADD CHECK (amount < 1000)")
    with pytest.raises(Exception, match="violates check constraint"):
        shop.run(SECOND + "9,z,5000,2026-01-31\n", "append")
    assert shop.rows() == [ONE, TWO], "half of it is nothing"
    shop.run(SECOND, "append")
    assert shop.run(FIRST, "append").ended == "unchanged"
    assert shop.rows() == [ONE, TWO, NEW_TWO, THREE]


@pytest.mark.system("postgres")
def test_a_table_of_a_database_is_read_as_it_is_now_and_not_as_of_a_version(shop: Shop) -> None:
    version = shop.run(FIRST, "overwrite").outputs[0].version
    read = f"dataset: public.positions, as: it, format: jdbc, {shop.options}"
    output = "steps: [{name: made, sql: 'SELECT id FROM it'}]\noutputs: [{dataset: copies, from: made}]\n"
    for pin in ("published", "latest", version):
        with pytest.raises(ProcessNotReady, match="changes in place"):
            shop.works.run(f"inputs: [{{{read}, pin: '{pin}'}}]\n{output}", "reader")
    for pin in ("", ", pin: live"):
        shop.works.run(f"inputs: [{{{read}{pin}}}]\n{output}", "reader")
    assert shop.works.rows("copies") == [(1,), (2,)]


KNOWN = """
SELECT n.namespace_uri, group_concat(d.name) FROM ol_dataset d JOIN ol_namespace n USING (namespace_id)
GROUP BY d.class_id ORDER BY 2
"""


@pytest.mark.system("postgres")
def test_what_the_listener_calls_a_table_and_what_we_call_it_is_one_dataset(tmp_path: Path) -> None:
    desk, url = Desk(tmp_path), server().new_database("names")
    jdbc = f"jdbc:postgresql://127.0.0.1:{server().port}/names"
    outputs = (
        "dataset: d, format: delta",
        f'dataset: lake.db.t, format: iceberg, namespace: "file:{tmp_path}/warehouse"',
        f'dataset: public.t, format: jdbc, options: {{url: "{jdbc}", user: tests}}',
        f'dataset: u, format: jdbc, options: {{url: "{jdbc}", user: tests}}',
    )
    listed = "".join(f"  - {{{one}, from: made}}\n" for one in outputs)
    text = f'{READ}\nsteps: [{{name: made, sql: "SELECT id, amount FROM raw"}}]\noutputs:\n{listed}'
    code, out, said = desk.run(text, "--conf", f"spark.jars.packages={POSTGRES_DRIVER}", "--output", "json")
    assert code == 0, said
    with closing(SqliteDatabase.for_reading(desk.store)) as db:
        known = [sorted(names.split(",")) for _, names in db.fetch_all(KNOWN)]
    assert known == sorted([
        [f"{tmp_path}/lake/d"], [f"{tmp_path}/lake/raw"], [f"{tmp_path}/warehouse/db/t", "db.t"],
        ["names.public.t"], ["names.u"],
    ])  # fmt: skip
    made = [one["version"] for one in json.loads(out)["outputs"]]
    database = f"postgres://127.0.0.1:{server().port}"
    names = (
        ("file", f"{tmp_path}/lake/d"), (f"file:{tmp_path}/warehouse", "db.t"),
        (database, "names.public.t"), (database, "names.u"),
    )  # fmt: skip
    for name, version in zip(names, made, strict=True):
        (versions,), (walked,) = desk.answer("dataset", "versions", *name), desk.answer("lineage", *name)
        assert [(one["tag"], one["rows"], one["published"]) for one in versions["items"]] == [(version, 3, True)]
        edges = [(one["source"]["name"], one["job"]["name"]) for one in walked["edges"]]
        assert edges == [(f"{tmp_path}/lake/raw", "p")]
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM t JOIN u USING (id)").fetchone() == (3,)
