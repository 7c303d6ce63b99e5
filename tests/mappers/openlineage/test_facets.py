"""Every supported facet: an event that contains it, and the resulting rows."""

import pytest

from tests import factories as make
from tests.factories import Json, dataset, facet, run_event
from tests.stores import Store

RAW = "SELECT body FROM facet WHERE name = ?"


def notes(store: Store) -> str:
    return " | ".join(text or "" for (text,) in store.rows("SELECT notes_json FROM run_event"))


# Run facets


def test_parent_and_root_are_stubs_until_they_send_events(store: Store) -> None:
    store.apply(run_event(run=3, job="leaf", run_facets={"parent": make.parent(2, "middle", root=(1, "top"))}))
    assert store.rows("SELECT run_uuid, status, parent_run_uuid FROM process_run ORDER BY 1") == [
        (make.run_uuid(1), "UNKNOWN", None),
        (make.run_uuid(2), "UNKNOWN", None),
        (make.run_uuid(3), "SUCCESS", make.run_uuid(2)),
    ]
    edge = "SELECT s.name, t.name FROM lineage_edge e JOIN ol_job s ON s.job_id = e.source_id JOIN ol_job t ON t.job_id = e.target_id"
    assert store.rows(edge) == [("middle", "leaf")]
    root = "SELECT p.run_uuid, j.name FROM ol_run r JOIN ol_run p ON p.run_id = r.root_run_id JOIN ol_job j ON j.job_id = r.root_job_id"
    assert store.rows(root) == [(make.run_uuid(1), "top")]


def test_forwarded_facets_count_until_the_parent_sends_its_own(store: Store) -> None:
    parent = make.parent(1, "box")
    parent["run"]["facets"] = {"processing_engine": make.facet(version="forwarded"), "tags": make.facet(tags=[])}
    parent["job"]["facets"] = {"sql": make.facet(query="forwarded")}
    store.apply(run_event(run=2, second=9, run_facets={"parent": parent}))
    store.apply(run_event(run=1, job="box", run_facets={"processing_engine": make.facet(version="own")}))
    bodies = dict(store.rows("SELECT name, body FROM facet"))
    assert '"version":"own"' in bodies["processing_engine"]
    assert '"query":"forwarded"' in bodies["sql"]
    assert "tags" in bodies


def test_parent_run_facet_is_an_alias_of_parent(store: Store) -> None:
    store.apply(run_event(run=2, run_facets={"parentRun": make.parent(1, "old")}))
    assert store.value(
        "SELECT parent_run_uuid FROM process_run WHERE run_uuid = ?", make.run_uuid(2)
    ) == make.run_uuid(1)


def test_run_that_is_its_own_parent_has_none(store: Store) -> None:
    store.apply(run_event(run=1, run_facets={"parent": make.parent(1, "job")}))
    assert store.value("SELECT parent_run_id FROM ol_run") is None
    assert "itself" in notes(store)
    assert store.rows("SELECT 1 FROM lineage_edge") == []


def test_nominal_time(store: Store) -> None:
    store.apply(run_event(run_facets={"nominalTime": facet(nominalStartTime=make.at(1), nominalEndTime=make.at(2))}))
    assert store.rows("SELECT nominal_start_time, nominal_end_time FROM ol_run") == [(make.micros(1), make.micros(2))]


def test_invalid_nominal_time_is_noted(store: Store) -> None:
    store.apply(run_event(run_facets={"nominalTime": facet(nominalStartTime="noon")}))
    assert store.value("SELECT nominal_start_time FROM ol_run") is None
    assert "nominalTime" in notes(store)


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("parent", make.parent(2, "box")),
        ("parentRun", make.parent(2, "box")),
        ("nominalTime", facet(nominalStartTime=make.at(1))),
    ],
)
def test_run_facets_with_columns_are_stored_raw_only_if_invalid(store: Store, name: str, valid: Json) -> None:
    store.apply(run_event(run=1, run_facets={name: valid}))
    assert store.rows(RAW, name) == []
    assert notes(store) == ""
    store.apply(run_event(run=3, run_facets={name: facet(run="none", nominalStartTime=7)}))
    assert store.rows(RAW, name) == [('{"nominalStartTime":7,"run":"none"}',)]
    assert f"facet {name} does not match its specification" in notes(store)
    columns = "parent_run_id, parent_run_uuid, nominal_start_time FROM ol_run WHERE run_uuid = ?"
    assert store.rows(f"SELECT {columns}", make.run_uuid(3)) == [(None, None, None)]


@pytest.mark.parametrize(
    "content",
    [
        {"errorMessage": facet(message="boom", programmingLanguage="python")},
        {"spark.exception": facet(message="boom", stackTrace="at x")},
        {"processing_engine": facet(version="4.1.4", name="spark")},
        {"extractionError": facet(totalTasks=2, failedTasks=1, errors=[])},
        {"externalQuery": facet(externalQueryId="q", source="bigquery")},
        {"executionParameters": facet(parameters=[{"key": "k"}])},
        {"environmentVariables": facet(environmentVariables=[])},
        {"tags": facet(tags=[{"key": "env", "value": "prod", "source": "CONFIG"}])},
        {"unheard_of": facet(anything=[1, {"x": None}])},
    ],
    ids=lambda content: next(iter(content)),
)
def test_run_facets_are_stored_and_shown_with_the_run(store: Store, content: Json) -> None:
    store.apply(run_event("FAIL", run_facets=content))
    (name,) = content
    assert name in store.value("SELECT facets_json FROM process_run")
    assert store.value(RAW, name)


@pytest.mark.parametrize("name", ["spark.logicalPlan", "debug", "environment-properties", "spark_unknown"])
def test_ignored_facets_are_dropped(store: Store, name: str) -> None:
    store.apply(run_event(run_facets={name: facet(plan="x" * 1000)}))
    assert store.rows(RAW, name) == []


def test_unknown_facets_are_stored_raw_with_their_producer(store: Store) -> None:
    custom = {"_producer": "p", "_schemaURL": "https://example.com/mine.json", "x": {"b": 1, "a": [1.5, "é"]}}
    store.apply(run_event(run_facets={"mine": custom}))
    assert store.value(RAW, "mine") == (
        '{"_producer":"p","_schemaURL":"https://example.com/mine.json","x":{"a":[1.5,"é"],"b":1}}'
    )


@pytest.mark.parametrize(
    ("test", "status"),
    [
        ({"status": "pass"}, "PASS"),
        ({"status": "fail"}, "FAIL"),
        ({"status": "fail", "severity": "warn"}, "WARN"),
        ({"status": "skip"}, "SKIP"),
    ],
)
def test_run_tests_are_quality_results(store: Store, test: Json, status: str) -> None:
    store.apply(
        run_event(run_facets={"test": facet(tests=[{"name": "rows", "type": "count", "expected": 3, **test}])})
    )
    query = "SELECT d.name, d.sql_expression, d.expected_result, r.status FROM quality_check_result r JOIN quality_check_def d USING (org_id, qdef_id)"
    assert store.rows(query) == [("rows", "count", "3", status)]


def test_unknown_test_status_is_noted(store: Store) -> None:
    store.apply(run_event(run_facets={"test": facet(tests=[{"name": "rows", "status": "maybe"}])}))
    assert store.rows("SELECT 1 FROM quality_check_result") == []
    assert "maybe" in notes(store)


@pytest.mark.parametrize(("side", "edge"), [("upstream", ("other", "job")), ("downstream", ("job", "other"))])
@pytest.mark.parametrize("name", ["jobDependencies", "lineageBridge_jobDependencies"])
def test_job_dependencies_are_edges_with_their_rules(
    store: Store, side: str, edge: tuple[str, str], name: str
) -> None:
    rule = {
        "job": {"namespace": "jobs", "name": "other"},
        "status_trigger_rule": "SUCCESS",
        "dependency_type": "DIRECT",
    }
    content = {name: facet(**{side: [rule]}, trigger_rule="ALL")}
    store.apply(run_event(**{"run_facets" if name == "jobDependencies" else "job_facets": content}))
    query = (
        "SELECT s.name, t.name, e.transform_meta FROM lineage_edge e JOIN ol_job s ON s.job_id = e.source_id"
        " JOIN ol_job t ON t.job_id = e.target_id WHERE e.edge_role = 'DEPENDS'"
    )
    meta = '{"dependency_type":"DIRECT","status_trigger_rule":"SUCCESS","trigger_rule":"ALL"}'
    assert store.rows(query) == [(*edge, meta)]


# Job facets


def test_job_type_documentation_and_ownership_are_columns(store: Store) -> None:
    owners = [{"name": "ann@example.com", "type": "person"}, {"name": "data-platform", "type": "team"}]
    store.apply(
        run_event(
            job_facets={
                "jobType": facet(integration="SPARK", jobType="APPLICATION", processingType="STREAMING"),
                "documentation": facet(description="what it does", contentType="text/plain"),
                "ownership": facet(owners=owners),
            }
        )
    )
    assert store.rows("SELECT process_key, description, technology, team, owner_email FROM process") == [
        ("jobs/job", "what it does", "SPARK", "data-platform", "ann@example.com")
    ]
    assert store.rows("SELECT job_type, processing_type FROM ol_job") == [("APPLICATION", "STREAMING")]


@pytest.mark.parametrize(
    "content",
    [
        {"sql": facet(query="SELECT 'literal'", dialect="spark")},
        {"sourceCode": facet(language="python", sourceCode="x")},
        {"sourceCodeLocation": facet(type="git", url="u")},
        {"tags": facet(tags=[{"key": "tier", "value": "gold"}])},
        {"ownership": facet(owners=[{"name": "x"}])},
        {"gcp_lineage": facet(displayName="y")},
    ],
    ids=lambda content: next(iter(content)),
)
def test_job_facets_are_stored(store: Store, content: Json) -> None:
    store.apply(run_event(job_facets=content))
    assert store.value(RAW, next(iter(content)))


def test_process_key_of_an_autosys_job_contains_its_box(store: Store) -> None:
    box = make.parent(1, "BOX", namespace="autosys://PRD")
    store.apply(run_event(run=2, job="JOB", namespace="autosys://PRD", run_facets={"parent": box}))
    keys = {key for (key,) in store.rows("SELECT process_key FROM process")}
    assert keys == {"AUTOSYS/BOX", "AUTOSYS/BOX/JOB"}
    assert {technology for (technology,) in store.rows("SELECT technology FROM process")} == {"AUTOSYS"}


# Dataset facets


def test_nested_columns_and_ordinals(store: Store) -> None:
    inner = [{"name": "city", "type": "string", "description": "where"}]
    fields = [
        {"name": "address", "type": "struct", "fields": inner},
        {"name": "id", "type": "long", "ordinal_position": 7},
    ]
    store.apply(run_event(outputs=[dataset("t", schema=facet(fields=fields))]))
    query = "SELECT field_name, field_type, field_description, ordinal_position, depth FROM ol_dataset_field ORDER BY field_id"
    assert store.rows(query) == [
        ("address", "struct", None, 1, 0),
        ("address.city", "string", "where", 1, 1),
        ("id", "long", None, 7, 0),
    ]


def test_ordinal_is_stored_if_it_differs_from_the_position(store: Store) -> None:
    fields = [
        {"name": name, "type": "long", "ordinal_position": ordinal}
        for name, ordinal in (("b", 2), ("c", 3), ("a", 1))
    ]
    store.apply(run_event(outputs=[dataset("t", schema=facet(fields=fields))]))
    query = "SELECT field_name, ordinal_position FROM ol_dataset_field ORDER BY 2"
    assert store.rows(query) == [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize(
    ("change", "produced"),
    [(None, True), ("CREATE", True), ("OVERWRITE", True), ("ALTER", True), ("DROP", False), ("RENAME", False)],
)
def test_inputs_and_outputs_are_edges_of_the_job(store: Store, change: str | None, produced: bool) -> None:
    facets = {"lifecycleStateChange": make.lifecycle(change, "s")} if change else {}
    store.apply(run_event(inputs=[dataset("a")], outputs=[dataset("t", **facets)]))
    edge = "SELECT edge_role, evidence, name FROM lineage_edge JOIN ol_dataset ON dataset_id = {}"
    assert store.rows(edge.format("source_id")) == [("CONSUMES", "explicit", "a")]
    assert store.rows(edge.format("target_id")) == ([("PRODUCES", "explicit", "t")] if produced else [])


@pytest.mark.parametrize(
    "content",
    [
        {"dataSource": facet(name="shop", uri="postgres://h:5432")},
        {"catalog": facet(framework="hive", type="hive", name="default")},
        {"storage": facet(storageLayer="iceberg", fileFormat="parquet")},
        {"datasetType": facet(datasetType="VIEW", subType="MATERIALIZED")},
        {"hierarchy": facet(hierarchy=[{"type": "DATABASE", "name": "d"}])},
        {"tags": facet(tags=[{"key": "pii", "value": "true", "field": "email"}])},
        {"documentation": facet(description="d")},
        {"dataQualityMetrics": facet(rowCount=3, columnMetrics={"a": {"nullCount": 1}})},
    ],
    ids=lambda content: next(iter(content)),
)
@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_dataset_facets_are_stored(store: Store, content: Json, side: str) -> None:
    store.apply(run_event(**{side: [dataset("t", **content)]}))
    assert store.value(RAW, next(iter(content)))


def test_dataset_view_shows_format_owner_and_description(store: Store) -> None:
    output = dataset(
        "t",
        storage=facet(storageLayer="iceberg", fileFormat="parquet"),
        ownership=facet(owners=[{"name": "team:sales"}, {"name": "s@example.com"}]),
        documentation=facet(description="sales"),
    )
    store.apply(run_event(outputs=[output]))
    query = "SELECT full_name, description, default_format, owner_team, owner_email, status FROM dataset"
    assert store.rows(query) == [("db/t", "sales", "parquet", "team:sales", "s@example.com", "ACTIVE")]


def test_statistics_and_subset_belong_to_the_run_and_its_version(store: Store) -> None:
    condition = {"type": "partition", "partitions": []}
    store.apply(
        run_event(
            inputs=[dataset("s", input_facets={"inputStatistics": facet(rowCount=9, size=90, fileCount=1)})],
            outputs=[
                dataset(
                    "t",
                    output_facets={
                        "outputStatistics": facet(rowCount=5, size=50, fileCount=2),
                        "subset": facet(outputCondition=condition),
                        "icebergCommitReport": facet(snapshotId=6.4e18),
                    },
                )
            ],
        )
    )
    assert store.rows("SELECT row_count, byte_count, file_count FROM ol_run_input") == [(9, 90, 1)]
    assert store.rows("SELECT row_count, byte_count, file_count FROM dataset_version") == [(5, 50, 2)]
    assert "partition" in store.value("SELECT subset_json FROM dataset_version")
    assert store.rows("SELECT name FROM facet") == [("output:icebergCommitReport",)]


@pytest.mark.parametrize(
    ("count", "stored"),
    [(2**63 - 1, True), (2**63, False), (10**30, False), (-(2**63), True), (-(2**63) - 1, False)],
)
def test_statistic_beyond_64_bits_is_noted_and_dropped(store: Store, count: int, stored: bool) -> None:
    statistics = {"outputStatistics": facet(rowCount=count, size=1)}
    store.apply(run_event(outputs=[dataset("t", output_facets=statistics)]))
    assert store.rows("SELECT row_count, byte_count FROM dataset_version") == [(count if stored else None, 1)]
    assert ("64 bits" in notes(store)) is not stored


@pytest.mark.parametrize("side", ["input", "output"])
def test_invalid_statistics_are_noted_and_stored_raw(store: Store, side: str) -> None:
    statistics = {f"{side}Statistics": facet(rowCount="many")}
    store.apply(run_event(**{f"{side}s": [dataset("t", **{f"{side}_facets": statistics})]}))
    assert f"facet {side}Statistics does not match its specification" in notes(store)
    assert store.value(RAW, f"{side}:{side}Statistics") == '{"rowCount":"many"}'
    table = "ol_run_input" if side == "input" else "dataset_version"
    assert store.rows(f"SELECT row_count, byte_count, file_count FROM {table}") == [(None, None, None)]


@pytest.mark.parametrize("member", ["facets", "inputFacets"])
@pytest.mark.parametrize(
    ("outcome", "status"),
    [({"success": True}, "PASS"), ({"success": False}, "FAIL"), ({"success": False, "severity": "warn"}, "WARN")],
)
def test_assertions_in_either_facet_object(store: Store, member: str, outcome: Json, status: str) -> None:
    assertions = facet(assertions=[{"assertion": "not_null", "column": "a", **outcome}])
    input_dataset = {"namespace": "db", "name": "t", member: {"dataQualityAssertions": assertions}}
    store.apply(run_event(inputs=[input_dataset]))
    query = "SELECT d.name, d.field_name, r.status FROM quality_check_result r JOIN quality_check_def d USING (org_id, qdef_id)"
    assert store.rows(query) == [("not_null", "a", status)]


def test_quality_results_per_run_and_per_dataset_event(store: Store) -> None:
    def with_assertion(ok: bool) -> Json:
        return dataset("t", dataQualityAssertions=facet(assertions=[{"assertion": "a", "success": ok}]))

    store.apply(
        run_event(second=2, outputs=[with_assertion(False)]), run_event(second=1, outputs=[with_assertion(True)])
    )
    assert store.rows("SELECT status FROM quality_check_result") == [("FAIL",)]
    assert store.value("SELECT dataset_version_id FROM quality_check_result") == store.value(
        "SELECT version_id FROM dataset_version"
    )
    store.apply(make.dataset_event(3, with_assertion(True)), make.dataset_event(4, with_assertion(True)))
    assert store.value("SELECT count(*) FROM quality_check_result") == 3
    assert store.value("SELECT count(*) FROM quality_check_def") == 1


@pytest.mark.parametrize(
    ("name", "content", "noted"),
    [
        ("schema", facet(fields="none"), "schema"),
        ("symlinks", facet(identifiers=[{"namespace": "", "name": "x", "type": "TABLE"}]), "symlink"),
        ("lifecycleStateChange", facet(lifecycleStateChange="RENAME"), "previousIdentifier"),
        ("columnLineage", facet(fields=[1]), "columnLineage"),
        ("version", facet(datasetVersion=7), "version"),
        ("broken", "text", "broken"),
    ],
)
def test_invalid_facet_is_noted_and_affects_nothing_else(store: Store, name: str, content: Json, noted: str) -> None:
    store.apply(run_event(outputs=[dataset("t", **{name: content, "documentation": facet(description="d")})]))
    assert noted in notes(store)
    assert store.value("SELECT description FROM dataset WHERE name = 't'") == "d"
    if name in ("schema", "columnLineage", "version"):
        assert store.value(RAW, name)
