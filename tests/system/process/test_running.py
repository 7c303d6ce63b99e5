"""Processes on a real Spark with the real listener: versions, publication, checks and lineage."""

import json
import re
import shutil

import pytest

from bridge.errors import JobFailed, ProcessNotReady, StateConflict
from bridge.process.runner import ProcessRunner
from bridge.queries.lineage import LineageQuery
from bridge.queries.publications import PublicationsQuery
from bridge.queries.quality import QualityQuery
from bridge.queries.versions import ResolveVersionQuery, VersionsQuery
from bridge.versions.publish_commands import RollBackCommand, RollBackItem
from connectors.errors import InvalidData
from tests.system.process.spark_harness import RAW_INPUT, TRADES, SparkHarness, process_yaml, quality_yaml

pytestmark = [
    pytest.mark.system("java", "spark"),
    pytest.mark.timeout(300),
    # Py4J leaves the sockets of its gateway to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_run_publishes_version_with_row_count_and_checksum(harness: SparkHarness) -> None:
    result = harness.run(process_yaml())
    (output,) = result.outputs
    version = harness.backend.query(ResolveVersionQuery(namespace="file", name=harness.path("positions")))
    assert (version.tag, version.path, version.rows, version.checksum) == (
        output.version,
        output.path,
        3,
        output.checksum,
    )
    assert (output.checksum or "").startswith("xxhash64:")
    assert [row[0] for row in harness.rows("positions")] == [1, 2, 3]
    assert harness.state(result.run_id) == "COMPLETE"


def test_checksum_ignores_row_order(harness: SparkHarness) -> None:
    checksums = [
        harness.run(process_yaml(sql=sql), rerun=True).outputs[0].checksum
        for sql in (
            "SELECT * FROM raw",
            "SELECT * FROM raw ORDER BY amount",
            "SELECT id + 1 AS id, account, amount, day FROM raw",
        )
    ]
    assert checksums[0] == checksums[1] != checksums[2]


def test_progress_shows_sizes_and_check_results(harness: SparkHarness) -> None:
    checks = quality_yaml(
        "check: row_count, min: 1", "check: row_count, max: 1, severity: warn", "check: row_count, min: 9"
    )
    with pytest.raises(InvalidData):
        harness.run(process_yaml(quality=checks))
    sizes = re.compile(r"wrote positions: \d+ rows, \d+ files?, [\d,]+ bytes")
    assert [message for message in harness.messages if sizes.fullmatch(message)]
    verdicts = [message.partition(":")[0] for message in harness.messages if message.startswith("check ")]
    assert sorted(verdicts) == ["check failed", "check passed", "check warning"]


def test_unchanged_input_skips_run_and_new_rows_create_version(harness: SparkHarness) -> None:
    first = harness.run(process_yaml())
    repeated = harness.run(process_yaml())
    assert (repeated.ended, repeated.outputs[0].version) == ("unchanged", first.outputs[0].version)
    harness.write_raw(TRADES + "4,c,7,2026-01-31\n")
    later = harness.run(process_yaml())
    assert (later.ended, len(harness.rows("positions"))) == ("published", 4)
    assert len(harness.backend.query(VersionsQuery(namespace="file", name=harness.path("positions"))).items) == 2


def test_append_adds_rows_once(harness: SparkHarness) -> None:
    text = process_yaml(", mode: append")
    harness.run(text)
    harness.write_raw("id,account,amount,day\n4,c,7,2026-02-01\n")
    harness.run(text)
    harness.run(text)
    assert [row[0] for row in harness.rows("positions")] == [1, 2, 3, 4]
    folders = sorted(path.name for path in (harness.lake / "positions").iterdir())
    assert len(folders) == 2, "existing files are not written again"


def test_merge_replaces_rows_with_equal_keys(harness: SparkHarness) -> None:
    text = process_yaml(", mode: merge, keys: [id]")
    harness.run(text)
    harness.write_raw("id,account,amount,day\n2,b,99,2026-02-01\n5,d,1,2026-02-01\n")
    harness.run(text)
    assert [(row[0], row[2]) for row in harness.rows("positions")] == [(1, 10.5), (2, 99.0), (3, 1.5), (5, 1.0)]


def test_merge_rejects_duplicate_keys(harness: SparkHarness) -> None:
    harness.write_raw(TRADES + "3,z,0,2026-01-31\n")
    with pytest.raises(InvalidData, match="merge keys of id on positions: 1 duplicate row"):
        harness.run(process_yaml(", mode: merge, keys: [id]"))
    assert harness.published("positions") is None


def test_partitioned_overwrite_replaces_only_written_partitions(harness: SparkHarness) -> None:
    text = process_yaml(", partition_by: [day]")
    harness.run(text)
    harness.write_raw("id,account,amount,day\n9,z,1,2026-01-31\n")
    harness.run(text)
    assert [(row[0], str(row[3])) for row in harness.rows("positions")] == [(1, "2026-01-30"), (9, "2026-01-31")]
    by_day = {
        part: harness.backend.query(
            ResolveVersionQuery(namespace="file", name=harness.path("positions"), partition=part)
        ).rows
        for part in ("day=2026-01-30", "day=2026-01-31")
    }
    assert by_day == {"day=2026-01-30": 3, "day=2026-01-31": 1}, "a partition resolves to the version that wrote it"
    harness.run(process_yaml(", partition_by: [day], replace: all"), rerun=True)
    assert [row[0] for row in harness.rows("positions")] == [9]


def test_empty_output_replaces_no_partition(harness: SparkHarness) -> None:
    empty = process_yaml(", partition_by: [day]", sql="SELECT * FROM raw WHERE id > 100")
    harness.run(empty)
    assert harness.rows("positions") == []
    harness.run(process_yaml(", partition_by: [day]"))
    harness.run(empty, rerun=True)
    assert len(harness.rows("positions")) == 3


def test_numeric_strings_stay_strings_as_partition_values(harness: SparkHarness) -> None:
    harness.run(process_yaml(", partition_by: [code]", sql="SELECT id, '007' AS code FROM raw"))
    assert harness.rows("positions")[0] == (1, "007")


@pytest.mark.parametrize("file_format", ["csv", "json", "files"])
def test_file_formats_preserve_types(harness: SparkHarness, file_format: str) -> None:
    harness.run(process_yaml(f", format: {file_format}"))
    assert next((row[0], row[2], str(row[3])) for row in harness.rows("positions")) == (1, 10.5, "2026-01-30")
    folder = next((harness.lake / "positions").iterdir())
    if file_format == "files":
        manifest = json.loads((folder / "manifest.json").read_bytes())
        assert (manifest["rows"], manifest["columns"]["day"], len(manifest["files"][0]["sha256"])) == (3, "date", 64)


PASSING = [
    "check: not_null, column: id", "check: unique, column: id", "check: unique, columns: [account, day]",
    "check: accepted_values, column: account, values: [a, b]", "check: range, column: amount, min: 1.5, max: 20",
    "check: row_count, min: 3, max: 3", "check: freshness, column: day, max_age: 100000d",
    "check: referential, column: account, references: raw.account",
    "check: sql, sql: 'SELECT sum(amount) FROM positions', expected: 32",
]  # fmt: skip
#: Check -> (message, SQL of the account column).
FAILING = {
    "check: not_null, column: account": ("1 null value", "nullif(account, 'b')"),
    "check: unique, column: account": ("1 duplicate row", "account"),
    "check: accepted_values, column: account, values: [a]": ("3 rows with values other than a", "'b'"),
    "check: range, column: amount, max: 5": ("2 rows out of range; expected at most 5", "'b'"),
    "check: row_count, min: 4": ("3 rows; expected at least 4", "'b'"),
    "check: freshness, column: day, max_age: 1h": (
        "newest value is 2026-01-31T00:00:00+00:00; expected within 1h",
        "'b'",
    ),
    "check: referential, column: account, references: raw.account": ("3 rows without a match in raw.account", "'zz'"),
    "check: sql, sql: 'SELECT count(*) FROM positions', expected: 7": ("3; expected 7", "'b'"),
}


def test_passing_checks_publish_version(harness: SparkHarness) -> None:
    result = harness.run(process_yaml(quality=quality_yaml(*PASSING)))
    assert [check.passed for check in result.checks] == [True] * len(PASSING)


@pytest.mark.parametrize("severity", ["fail", "warn"])
def test_failing_checks_report_reason_and_keep_published_version(harness: SparkHarness, severity: str) -> None:
    harness.run(process_yaml())
    before = harness.published("positions")
    for failing_check, (message, account) in FAILING.items():
        sql = f"SELECT id, {account} AS account, amount, day FROM raw"
        text = process_yaml(sql=sql, quality=quality_yaml(f"{failing_check}, severity: {severity}"))
        if severity == "fail":
            with pytest.raises(InvalidData) as caught:
                harness.run(text, rerun=True)
            assert str(caught.value).endswith(message)
            assert harness.published("positions") == before
        else:
            result = harness.run(text, rerun=True)
            assert [(check.passed, check.said.endswith(message)) for check in result.checks] == [(False, True)], (
                result.checks
            )
    states = harness.store.rows(
        "SELECT event_type, count(*) FROM ol_run WHERE run_uuid LIKE '01890000%' GROUP BY 1 ORDER BY 1"
    )
    assert dict(states) == (
        {"COMPLETE": 1, "FAIL": len(FAILING)} if severity == "fail" else {"COMPLETE": 1 + len(FAILING)}
    )
    statuses = harness.store.rows("SELECT DISTINCT status FROM quality_check_result")
    assert statuses == [("FAIL" if severity == "fail" else "WARN",)]


def test_check_on_step_tests_rows_of_step(harness: SparkHarness) -> None:
    steps = "  - {name: first, sql: SELECT * FROM made WHERE id < 3}\n"
    quality = "quality: [{on: made, check: row_count, max: 2}]\n"
    with pytest.raises(InvalidData, match="row_count on made: 3 rows; expected at most 2"):
        harness.run(process_yaml(steps=steps, quality=quality).replace("from: made", "from: first"))


def test_profile_covers_every_column(harness: SparkHarness) -> None:
    harness.run(process_yaml(", profile: true"))
    body = harness.store.value("SELECT body FROM facet WHERE name = 'output:dataQualityMetrics'")
    columns = json.loads(body)["columnMetrics"]
    profiles = {
        name: {key: value for key, value in metrics.items() if value != {}} for name, metrics in columns.items()
    }
    assert profiles["amount"] == {
        "nullCount": 0,
        "distinctCount": 3,
        "min": 1.5,
        "max": 20.0,
        "sum": 32.0,
        "count": 3,
    }
    assert profiles["account"] == {"nullCount": 0, "distinctCount": 2, "count": 3}


def test_all_outputs_are_published_or_none(harness: SparkHarness) -> None:
    two_outputs = process_yaml().replace("outputs: [", "outputs: [{dataset: other, from: made}, ")
    harness.run(two_outputs)
    before = harness.published("other"), harness.published("positions")
    harness.write_raw(TRADES + "4,,7,2026-01-31\n")
    with pytest.raises(InvalidData):
        harness.run(two_outputs + quality_yaml("check: not_null, column: account"))
    assert (harness.published("other"), harness.published("positions")) == before
    result = harness.run(two_outputs)
    assert {output.version for output in result.outputs} == {
        harness.published("other"),
        harness.published("positions"),
    }
    publications = harness.backend.query(PublicationsQuery(namespace="file", name=harness.path("other"))).items
    assert publications[0].publication == result.publication


def test_second_of_two_concurrent_runs_fails_with_conflict(harness: SparkHarness) -> None:
    first, second = harness.plan(process_yaml(), rerun=True), harness.plan(process_yaml(), rerun=True)
    result = harness.runner(first).run()
    with pytest.raises(StateConflict, match="is published, but none was expected"):
        harness.runner(second).run()
    assert harness.published("positions") == result.outputs[0].version


def test_run_after_conflict_publishes_its_version(harness: SparkHarness) -> None:
    plan = harness.plan(process_yaml())
    harness.run(process_yaml(sql="SELECT * FROM raw LIMIT 1"))
    with pytest.raises(StateConflict):
        harness.runner(plan).run()
    result = harness.run(process_yaml())
    assert (result.ended, harness.published("positions")) == ("published", plan.outputs[0].tag)


def test_rolled_back_version_needs_rerun_to_be_published(harness: SparkHarness) -> None:
    harness.run(process_yaml())
    harness.write_raw("id,account,amount,day\n4,c,7,2026-02-01\n")
    bad = harness.run(process_yaml()).outputs[0].version
    location = {"namespace": "file", "name": harness.path("positions")}
    harness.backend.execute(RollBackCommand(datasets=[RollBackItem(**location)]))
    good = harness.published("positions")
    with pytest.raises(StateConflict, match=f"rolled back .positions {bad}.: --rerun creates a new version"):
        harness.run(process_yaml())
    assert harness.published("positions") == good
    assert harness.run(process_yaml(), rerun=True).ended == "published"


@pytest.mark.parametrize("options", ["", ", partition_by: [day]", ", mode: append"])
def test_version_of_a_rerun_stays_published(harness: SparkHarness, options: str) -> None:
    first = harness.run(process_yaml(options)).outputs[0].version
    second = harness.run(process_yaml(options), rerun=True).outputs[0].version
    assert second != first
    result = harness.run(process_yaml(options))
    assert (result.ended, harness.published("positions")) == ("unchanged", second)


def test_replaced_version_is_published_again(harness: SparkHarness) -> None:
    first = harness.run(process_yaml()).outputs[0].version
    harness.run(process_yaml(sql="SELECT * FROM raw LIMIT 1"))
    result = harness.run(process_yaml())
    assert (result.ended, harness.published("positions")) == ("published", first)


def test_append_after_conflict_adds_rows_once(harness: SparkHarness) -> None:
    text = process_yaml(", mode: append")
    harness.run(text)
    harness.write_raw("id,account,amount,day\n4,c,7,2026-02-01\n")
    outdated_plan = harness.plan(text)
    harness.write_raw("id,account,amount,day\n5,c,7,2026-02-01\n")
    harness.run(text)
    harness.write_raw("id,account,amount,day\n4,c,7,2026-02-01\n")
    with pytest.raises(StateConflict):
        harness.runner(outdated_plan).run()
    harness.run(text)
    assert [row[0] for row in harness.rows("positions")] == [1, 2, 3, 4, 5]


def test_failing_job_reports_error_and_publishes_nothing(harness: SparkHarness) -> None:
    text = process_yaml(
        sql="SELECT CASE WHEN id = 2 THEN raise_error('an order below 100') ELSE id END AS id FROM raw"
    )
    with pytest.raises(JobFailed, match="an order below 100"):
        harness.run(text)
    assert harness.published("positions") is None
    error = harness.store.value(
        "SELECT error_message FROM process_run WHERE run_uuid = ?", "01890000-0000-7000-8000-000000000001"
    )
    assert "an order below 100" in error


def test_unexpected_columns_are_rejected(harness: SparkHarness) -> None:
    with pytest.raises(InvalidData, match=r"outputs.positions: column id has type int, expected bigint"):
        harness.run(process_yaml(", columns: {id: bigint}"))


@pytest.mark.parametrize(
    ("output", "remedy"), [(", mode: append", "use mode: overwrite"), (", partition_by: [day]", "set replace: all")]
)
def test_column_of_the_base_version_is_missing(harness: SparkHarness, output: str, remedy: str) -> None:
    harness.run(process_yaml(output))
    with pytest.raises(ProcessNotReady, match=rf"has column amount \(double\), which is now missing: {remedy}"):
        harness.run(process_yaml(output, sql="SELECT id, account, day FROM raw"))


def test_python_step(harness: SparkHarness) -> None:
    (harness.folder / "maker_of_doubles.py").write_text(
        "def make(views, params):\n    raw = views['raw']\n    return raw.withColumn('amount', raw.amount * params['times'])\n"
    )
    steps = "  - {name: doubled, python: 'maker_of_doubles:make', reads: [raw]}\n"
    text = "params: {times: {type: integer, default: 2}}\n" + process_yaml(steps=steps).replace(
        "from: made", "from: doubled"
    )
    harness.run(text)
    assert [row[2] for row in harness.rows("positions")] == [21.0, 40.0, 3.0]


def test_parameters_are_available_in_sql(harness: SparkHarness) -> None:
    text = "params: {day: {type: date, required: true}}\n" + process_yaml(
        sql="SELECT id, :day AS day FROM raw WHERE day = :day"
    )
    harness.run(text, params={"day": "2026-01-31"})
    assert [row[0] for row in harness.rows("positions")] == [2, 3]


def test_files_become_version_only_if_manifest_matches(harness: SparkHarness) -> None:
    harness.run(process_yaml(", format: files"))
    delivery = harness.lake / "brought"
    shutil.copytree(next((harness.lake / "positions").iterdir()), delivery)
    (delivery / "_lineage_bridge.json").unlink()
    text = "inputs: [{dataset: brought, as: it, format: files, manifest: manifest.json}]\noutputs: [{dataset: taken, from: it}]\n"
    harness.run(text)
    assert next((row[0], str(row[3])) for row in harness.rows("taken")) == (1, "2026-01-30")
    (version,) = harness.backend.query(VersionsQuery(namespace="file", name=harness.path("brought"))).items
    assert (version.rows, version.path) == (3, str(delivery))
    manifest = json.loads((delivery / "manifest.json").read_bytes())
    (delivery / "manifest.json").write_text(json.dumps(manifest | {"rows": 4}))
    with pytest.raises(InvalidData, match="has 3 rows, the manifest says 4"):
        harness.run(text)
    assert len(harness.backend.query(VersionsQuery(namespace="file", name=harness.path("brought"))).items) == 1


def test_materialized_steps_appear_in_table_and_column_lineage(harness: SparkHarness) -> None:
    text = f"""
{RAW_INPUT}
steps:
  - {{name: kept, sql: "SELECT account, sum(amount) AS total FROM raw GROUP BY account", materialize: true}}
  - {{name: masked, sql: "SELECT sha2(account, 256) AS who, total FROM kept"}}
  - {{name: days, sql: "SELECT DISTINCT day FROM raw"}}
outputs: [{{dataset: positions, from: masked}}, {{dataset: calendar, from: days}}]
"""
    harness.run(text)
    edges = {
        target: {row[:2] for row in harness.store.upstream(harness.path(target), namespace="file")}
        for target in ("p/kept", "positions", "calendar")
    }
    raw, kept = harness.path("raw"), harness.path("p/kept")
    assert edges == {"p/kept": {(raw, "p")}, "positions": {(kept, "p")}, "calendar": {(raw, "p")}}
    column_edges = harness.backend.query(
        LineageQuery(namespace="file", name=harness.path("positions"), depth=1, columns=True)
    ).columns
    assert {
        (edge.source.name, edge.source.column, edge.target.column, edge.subtype, edge.masking)
        for edge in column_edges
    } == {
        (kept, "total", "total", "IDENTITY", False),
        (kept, "account", "who", "TRANSFORMATION", True),
    }


def test_steps_facet_lists_sources_of_each_step(harness: SparkHarness) -> None:
    result = harness.run(
        process_yaml(steps="  - {name: few, sql: SELECT id AS key FROM made WHERE id < 3}\n").replace(
            "from: made", "from: few"
        )
    )
    body = harness.store.value("SELECT body FROM facet WHERE name = 'lineageBridge_steps'")
    made, few = json.loads(body)["steps"]
    assert result.ended == "published"
    assert (made["reads"], few["reads"], few["kind"], few["materialized"]) == (["raw"], ["made"], "sql", False)
    assert few["columns"] == {
        "key": [{"from": "made", "column": "id", "type": "DIRECT", "subtype": "IDENTITY", "masking": False}]
    }
    assert [source["subtype"] for source in few["whole"]] == ["FILTER"]


def quality_statuses(harness: SparkHarness) -> dict[str, str]:
    query = QualityQuery(namespace="file", name=harness.path("positions"))
    return {check.name: check.status for check in harness.backend.query(query).checks}


def test_changed_checks_are_evaluated_on_published_version(harness: SparkHarness) -> None:
    first = harness.run(process_yaml())
    lineage = LineageQuery(namespace="file", name=harness.path("positions"))
    edges_before = harness.backend.query(lineage).edges
    tightened = process_yaml(quality=quality_yaml("check: row_count, min: 9", "check: unique, column: id"))
    for _ in range(2):
        with pytest.raises(InvalidData, match=r"3 rows; expected at least 9 \(published versions stay published\)"):
            harness.run(tightened)
    published = harness.backend.query(ResolveVersionQuery(namespace="file", name=harness.path("positions")))
    assert (published.tag, published.metadata["failed_checks"]) == (
        first.outputs[0].version,
        {"p": ["row_count on positions: 3 rows; expected at least 9"]},
    )
    assert quality_statuses(harness) == {"row_count": "FAIL", "unique": "PASS"}
    assert (harness.state(first.run_id), harness.backend.query(lineage).edges) == ("COMPLETE", edges_before)
    relaxed = process_yaml(quality=quality_yaml("check: row_count, min: 2"))
    checked = harness.run(relaxed)
    assert (checked.ended, [check.passed for check in checked.checks]) == ("unchanged", [True])
    assert quality_statuses(harness)["row_count"] == "PASS"
    harness.messages.clear()
    assert harness.run(relaxed).checks == []
    assert harness.messages == ["nothing to do: outputs are already published (--rerun creates a new version)"]


@pytest.mark.parametrize(
    ("quality", "expected"),
    [
        ("- {on: made, check: range, column: amount, max: 5}", "range of amount on made: 2 rows out of range"),
        ("- {on: positions, check: sql, sql: 'SELECT count(1) FROM raw', expected: 4}", "sql on positions: 3; expected 4"),
        ("- {on: positions, check: referential, column: id, references: small.id}", "1 row without a match in small.id"),
    ],
    ids=["step", "sql", "referential"],
)  # fmt: skip
def test_changed_checks_may_refer_to_steps_and_inputs(harness: SparkHarness, quality: str, expected: str) -> None:
    steps = "  - {name: small, sql: 'SELECT * FROM raw WHERE id < 3'}\n"
    harness.run(process_yaml(steps=steps))
    with pytest.raises(InvalidData, match=expected):
        harness.run(process_yaml(steps=steps, quality=f"quality:\n  {quality}\n"))


def test_changed_row_count_covers_appended_rows_only(harness: SparkHarness) -> None:
    text = process_yaml(", mode: append")
    harness.run(text)
    harness.write_raw("id,account,amount,day\n4,c,7,2026-02-01\n")
    harness.run(text)
    result = harness.run(text + quality_yaml("check: row_count, max: 1"))
    assert [check.said for check in result.checks] == ["row_count on positions: 1 row; expected at most 1"]


def test_unpublished_version_must_pass_changed_checks(harness: SparkHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProcessRunner, "_publish", lambda self: self._run_result("published", None))
    version = harness.run(process_yaml()).outputs[0].version
    monkeypatch.undo()
    with pytest.raises(InvalidData, match=r"expected at least 9 \(nothing is published\)"):
        harness.run(process_yaml(quality=quality_yaml("check: row_count, min: 9")))
    assert harness.published("positions") is None
    assert harness.run(process_yaml(quality=quality_yaml("check: row_count, min: 1"))).ended == "published"
    assert harness.published("positions") == version
