"""Processes on a real Spark with the real listener: what is published, what is not, and what is told of both."""

import json
import shutil

import pytest

from bridge.errors import JobFailed, ProcessNotReady, StateConflict
from bridge.queries.lineage import LineageQuery
from bridge.queries.publications import PublicationsQuery
from bridge.queries.versions import ResolveVersionQuery, VersionsQuery
from bridge.versions.publish_commands import RollBackCommand, RollBackItem
from connectors.errors import InvalidData
from tests.system.process.works import READ, TRADES, Works, check, process

pytestmark = [
    pytest.mark.system("java", "spark"),
    pytest.mark.timeout(300),
    # Py4J leaves the sockets of its gateway to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_what_is_written_is_a_published_version_with_rows_and_a_checksum(works: Works) -> None:
    ran = works.run(process())
    (made,) = ran.outputs
    found = works.backend.query(ResolveVersionQuery(namespace="file", name=works.path("positions")))
    assert (found.tag, found.path, found.rows, found.checksum) == (made.version, made.path, 3, made.checksum)
    assert (made.checksum or "").startswith("xxhash64:")
    assert [row[0] for row in works.rows("positions")] == [1, 2, 3]
    assert works.state(ran.run_id) == "COMPLETE"


def test_the_checksum_knows_contents_and_no_order(works: Works) -> None:
    sums = [
        works.run(process(sql=sql), rerun=True).outputs[0].checksum
        for sql in (
            "SELECT * FROM raw",
            "SELECT * FROM raw ORDER BY amount",
            "SELECT id + 1 AS id, account, amount, day FROM raw",
        )
    ]
    assert sums[0] == sums[1] != sums[2]


def test_the_same_run_again_does_nothing_and_new_rows_make_a_new_version(works: Works) -> None:
    first = works.run(process())
    again = works.run(process())
    assert (again.ended, again.outputs[0].version) == ("unchanged", first.outputs[0].version)
    works.raw(TRADES + "4,c,7,2026-01-31\n")
    later = works.run(process())
    assert (later.ended, len(works.rows("positions"))) == ("published", 4)
    assert len(works.backend.query(VersionsQuery(namespace="file", name=works.path("positions"))).items) == 2


def test_appended_rows_come_to_those_that_are_there_once(works: Works) -> None:
    text = process(", mode: append")
    works.run(text)
    works.raw("id,account,amount,day\n4,c,7,2026-02-01\n")
    works.run(text)
    works.run(text)
    assert [row[0] for row in works.rows("positions")] == [1, 2, 3, 4]
    folders = sorted(one.name for one in (works.lake / "positions").iterdir())
    assert len(folders) == 2, "what was there is not written again"


def test_merged_rows_take_the_place_of_those_with_their_keys(works: Works) -> None:
    text = process(", mode: merge, keys: [id]")
    works.run(text)
    works.raw("id,account,amount,day\n2,b,99,2026-02-01\n5,d,1,2026-02-01\n")
    works.run(text)
    assert [(row[0], row[2]) for row in works.rows("positions")] == [(1, 10.5), (2, 99.0), (3, 1.5), (5, 1.0)]


def test_a_merge_of_a_key_twice_is_refused(works: Works) -> None:
    works.raw(TRADES + "3,z,0,2026-01-31\n")
    with pytest.raises(InvalidData, match="merge keys of id on positions: 1 duplicate rows"):
        works.run(process(", mode: merge, keys: [id]"))
    assert works.published("positions") is None


def test_partitions_that_are_written_take_the_place_of_their_own_only(works: Works) -> None:
    text = process(", partition_by: [day]")
    works.run(text)
    works.raw("id,account,amount,day\n9,z,1,2026-01-31\n")
    works.run(text)
    assert [(row[0], str(row[3])) for row in works.rows("positions")] == [(1, "2026-01-30"), (9, "2026-01-31")]
    by_day = {
        part: works.backend.query(
            ResolveVersionQuery(namespace="file", name=works.path("positions"), partition=part)
        ).rows
        for part in ("day=2026-01-30", "day=2026-01-31")
    }
    assert by_day == {"day=2026-01-30": 3, "day=2026-01-31": 1}, "a partition has the version that wrote it"
    works.run(process(", partition_by: [day], replace: all"), rerun=True)
    assert [row[0] for row in works.rows("positions")] == [9]


def test_no_rows_replace_no_partition_and_are_read_as_none(works: Works) -> None:
    none = process(", partition_by: [day]", sql="SELECT * FROM raw WHERE id > 100")
    works.run(none)
    assert works.rows("positions") == []
    works.run(process(", partition_by: [day]"))
    works.run(none, rerun=True)
    assert len(works.rows("positions")) == 3


def test_texts_that_look_like_numbers_stay_texts_as_partitions(works: Works) -> None:
    works.run(process(", partition_by: [code]", sql="SELECT id, '007' AS code FROM raw"))
    assert works.rows("positions")[0] == (1, "007")


@pytest.mark.parametrize("form", ["csv", "json", "files"])
def test_other_forms_are_read_back_with_their_types(works: Works, form: str) -> None:
    works.run(process(f", format: {form}"))
    assert next((row[0], row[2], str(row[3])) for row in works.rows("positions")) == (1, 10.5, "2026-01-30")
    folder = next((works.lake / "positions").iterdir())
    if form == "files":
        manifest = json.loads((folder / "manifest.json").read_bytes())
        assert (manifest["rows"], manifest["columns"]["day"], len(manifest["files"][0]["sha256"])) == (3, "date", 64)


PASSING = [
    "check: not_null, column: id", "check: unique, column: id", "check: unique, columns: [account, day]",
    "check: accepted_values, column: account, values: [a, b]", "check: range, column: amount, min: 1.5, max: 20",
    "check: row_count, min: 3, max: 3", "check: freshness, column: day, max_age: 100000d",
    "check: referential, column: account, references: raw.account",
    "check: sql, sql: 'SELECT sum(amount) FROM positions', expected: 32",
]  # fmt: skip
#: Checks, what is said of them, and the account that each row has then.
FAILING = {
    "check: not_null, column: account": ("1 rows are null", "nullif(account, 'b')"),
    "check: unique, column: account": ("1 duplicate rows", "account"),
    "check: accepted_values, column: account, values: [a]": ("3 rows have values other than a", "'b'"),
    "check: range, column: amount, max: 5": ("2 rows are out of range; expected at most 5", "'b'"),
    "check: row_count, min: 4": ("3 rows; expected at least 4", "'b'"),
    "check: freshness, column: day, max_age: 1h": (
        "newest value is 2026-01-31T00:00:00+00:00; expected within 1h",
        "'b'",
    ),
    "check: referential, column: account, references: raw.account": ("3 rows have no match in raw.account", "'zz'"),
    "check: sql, sql: 'SELECT count(*) FROM positions', expected: 7": ("3; expected 7", "'b'"),
}


def test_checks_that_hold_let_a_version_be_published(works: Works) -> None:
    ran = works.run(process(quality=check(*PASSING)))
    assert [one.passed for one in ran.checks] == [True] * len(PASSING)


@pytest.mark.parametrize("severity", ["fail", "warn"])
def test_checks_that_do_not_hold_say_why_and_keep_what_is_published(works: Works, severity: str) -> None:
    works.run(process())
    before = works.published("positions")
    for wanted, (said, account) in FAILING.items():
        sql = f"SELECT id, {account} AS account, amount, day FROM raw"
        text = process(sql=sql, quality=check(f"{wanted}, severity: {severity}"))
        if severity == "fail":
            with pytest.raises(InvalidData) as caught:
                works.run(text, rerun=True)
            assert str(caught.value).endswith(said)
            assert works.published("positions") == before
        else:
            ran = works.run(text, rerun=True)
            assert [(one.passed, one.said.endswith(said)) for one in ran.checks] == [(False, True)], ran.checks
    states = works.store.rows(
        "SELECT event_type, count(*) FROM ol_run WHERE run_uuid LIKE '01890000%' GROUP BY 1 ORDER BY 1"
    )
    assert dict(states) == (
        {"COMPLETE": 1, "FAIL": len(FAILING)} if severity == "fail" else {"COMPLETE": 1 + len(FAILING)}
    )
    told = works.store.rows("SELECT DISTINCT status FROM quality_check_result")
    assert told == [("FAIL" if severity == "fail" else "WARN",)]


def test_a_check_of_a_step_looks_at_the_step(works: Works) -> None:
    steps = "  - {name: first, sql: SELECT * FROM made WHERE id < 3}\n"
    quality = "quality: [{on: made, check: row_count, max: 2}]\n"
    with pytest.raises(InvalidData, match="row_count on made: 3 rows; expected at most 2"):
        works.run(process(steps=steps, quality=quality).replace("from: made", "from: first"))


def test_a_profile_tells_of_every_column(works: Works) -> None:
    works.run(process(", profile: true"))
    body = works.store.value("SELECT body FROM facet WHERE name = 'output:dataQualityMetrics'")
    columns = json.loads(body)["columnMetrics"]
    of = {name: {key: value for key, value in found.items() if value != {}} for name, found in columns.items()}
    assert of["amount"] == {"nullCount": 0, "distinctCount": 3, "min": 1.5, "max": 20.0, "sum": 32.0, "count": 3}
    assert of["account"] == {"nullCount": 0, "distinctCount": 2, "count": 3}


def test_all_outputs_are_published_or_none(works: Works) -> None:
    two = process().replace("outputs: [", "outputs: [{dataset: other, from: made}, ")
    works.run(two)
    before = works.published("other"), works.published("positions")
    works.raw(TRADES + "4,,7,2026-01-31\n")
    with pytest.raises(InvalidData):
        works.run(two + check("check: not_null, column: account"))
    assert (works.published("other"), works.published("positions")) == before
    ran = works.run(two)
    assert {one.version for one in ran.outputs} == {works.published("other"), works.published("positions")}
    moves = works.backend.query(PublicationsQuery(namespace="file", name=works.path("other"))).items
    assert moves[0].publication == ran.publication


def test_of_two_runs_at_once_one_is_published_and_the_other_told(works: Works) -> None:
    first, second = works.plan(process(), rerun=True), works.plan(process(), rerun=True)
    ran = works.runner(first).run()
    with pytest.raises(StateConflict, match="is published, but none was expected"):
        works.runner(second).run()
    assert works.published("positions") == ran.outputs[0].version


def test_a_run_that_was_beaten_is_published_when_it_is_run_again(works: Works) -> None:
    plan = works.plan(process())
    works.run(process(), rerun=True)
    with pytest.raises(StateConflict):
        works.runner(plan).run()
    ran = works.run(process())
    assert (ran.ended, works.published("positions")) == ("published", plan.outputs[0].tag)


def test_what_somebody_rolled_back_is_not_published_again_by_itself(works: Works) -> None:
    works.run(process())
    works.raw("id,account,amount,day\n4,c,7,2026-02-01\n")
    bad = works.run(process()).outputs[0].version
    where = {"namespace": "file", "name": works.path("positions")}
    works.backend.execute(RollBackCommand(datasets=[RollBackItem(**where)]))
    good = works.published("positions")
    with pytest.raises(StateConflict, match=f"rolled back .positions {bad}.: --rerun creates a new version"):
        works.run(process())
    assert works.published("positions") == good
    assert works.run(process(), rerun=True).ended == "published"


def test_what_another_run_replaced_is_published_again_when_it_is_wanted(works: Works) -> None:
    first = works.run(process()).outputs[0].version
    works.run(process(sql="SELECT * FROM raw LIMIT 1"))
    ran = works.run(process())
    assert (ran.ended, works.published("positions")) == ("published", first)


def test_appending_to_what_somebody_changed_meanwhile_is_done_anew(works: Works) -> None:
    text = process(", mode: append")
    works.run(text)
    works.raw("id,account,amount,day\n4,c,7,2026-02-01\n")
    slow = works.plan(text)
    works.raw("id,account,amount,day\n5,c,7,2026-02-01\n")
    works.run(text)
    works.raw("id,account,amount,day\n4,c,7,2026-02-01\n")
    with pytest.raises(StateConflict):
        works.runner(slow).run()
    works.run(text)
    assert [row[0] for row in works.rows("positions")] == [1, 2, 3, 4, 5]


def test_a_job_that_breaks_says_why_and_publishes_nothing(works: Works) -> None:
    text = process(sql="SELECT CASE WHEN id = 2 THEN raise_error('an order below 100') ELSE id END AS id FROM raw")
    with pytest.raises(JobFailed, match="an order below 100"):
        works.run(text)
    assert works.published("positions") is None
    error = works.store.value(
        "SELECT error_message FROM process_run WHERE run_uuid = ?", "01890000-0000-7000-8000-000000000001"
    )
    assert "an order below 100" in error


def test_columns_that_come_otherwise_than_promised_are_told(works: Works) -> None:
    with pytest.raises(InvalidData, match=r"outputs.positions: column id has type int, expected bigint"):
        works.run(process(", columns: {id: bigint}"))
    works.run(process(", mode: append"))
    with pytest.raises(
        ProcessNotReady, match=r"has column amount \(double\), which is now missing: use mode: overwrite"
    ):
        works.run(process(", mode: append", sql="SELECT id, account, day FROM raw"))


def test_python_makes_what_sql_cannot_say(works: Works) -> None:
    (works.folder / "maker_of_doubles.py").write_text(
        "def make(views, params):\n    raw = views['raw']\n    return raw.withColumn('amount', raw.amount * params['times'])\n"
    )
    steps = "  - {name: doubled, python: 'maker_of_doubles:make', reads: [raw]}\n"
    text = "params: {times: {type: integer, default: 2}}\n" + process(steps=steps).replace(
        "from: made", "from: doubled"
    )
    works.run(text)
    assert [row[2] for row in works.rows("positions")] == [21.0, 40.0, 3.0]


def test_parameters_reach_sql_by_their_names(works: Works) -> None:
    text = "params: {day: {type: date, required: true}}\n" + process(
        sql="SELECT id, :day AS day FROM raw WHERE day = :day"
    )
    works.run(text, params={"day": "2026-01-31"})
    assert [row[0] for row in works.rows("positions")] == [2, 3]


def test_files_with_a_manifest_become_a_version_once_they_are_as_it_says(works: Works) -> None:
    works.run(process(", format: files"))
    brought = works.lake / "brought"
    shutil.copytree(next((works.lake / "positions").iterdir()), brought)
    (brought / "_lineage_bridge.json").unlink()
    text = "inputs: [{dataset: brought, as: it, format: files, manifest: manifest.json}]\noutputs: [{dataset: taken, from: it}]\n"
    works.run(text)
    assert next((row[0], str(row[3])) for row in works.rows("taken")) == (1, "2026-01-30")
    (version,) = works.backend.query(VersionsQuery(namespace="file", name=works.path("brought"))).items
    assert (version.rows, version.path) == (3, str(brought))
    manifest = json.loads((brought / "manifest.json").read_bytes())
    (brought / "manifest.json").write_text(json.dumps(manifest | {"rows": 4}))
    with pytest.raises(InvalidData, match="has 3 rows, the manifest says 4"):
        works.run(text)
    assert len(works.backend.query(VersionsQuery(namespace="file", name=works.path("brought"))).items) == 1


def test_steps_link_what_is_read_to_what_is_written_by_table_and_column(works: Works) -> None:
    text = f"""
{READ}
steps:
  - {{name: kept, sql: "SELECT account, sum(amount) AS total FROM raw GROUP BY account", materialize: true}}
  - {{name: masked, sql: "SELECT sha2(account, 256) AS who, total FROM kept"}}
  - {{name: days, sql: "SELECT DISTINCT day FROM raw"}}
outputs: [{{dataset: positions, from: masked}}, {{dataset: calendar, from: days}}]
"""
    works.run(text)
    edges = {
        target: {row[:2] for row in works.store.upstream(works.path(target), namespace="file")}
        for target in ("p/kept", "positions", "calendar")
    }
    raw, kept = works.path("raw"), works.path("p/kept")
    assert edges == {"p/kept": {(raw, "p")}, "positions": {(kept, "p")}, "calendar": {(raw, "p")}}
    found = works.backend.query(
        LineageQuery(namespace="file", name=works.path("positions"), depth=1, columns=True)
    ).columns
    assert {(one.source.name, one.source.column, one.target.column, one.subtype, one.masking) for one in found} == {
        (kept, "total", "total", "IDENTITY", False),
        (kept, "account", "who", "TRANSFORMATION", True),
    }


def test_the_facet_of_steps_tells_what_each_is_made_from(works: Works) -> None:
    ran = works.run(
        process(steps="  - {name: few, sql: SELECT id AS key FROM made WHERE id < 3}\n").replace(
            "from: made", "from: few"
        )
    )
    body = works.store.value("SELECT body FROM facet WHERE name = 'lineageBridge_steps'")
    made, few = json.loads(body)["steps"]
    assert ran.ended == "published"
    assert (made["reads"], few["reads"], few["kind"], few["materialized"]) == (["raw"], ["made"], "sql", False)
    assert few["columns"] == {
        "key": [{"from": "made", "column": "id", "type": "DIRECT", "subtype": "IDENTITY", "masking": False}]
    }
    assert [one["subtype"] for one in few["whole"]] == ["FILTER"]
