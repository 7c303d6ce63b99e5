"""The seventeen surprises of the Spark listener, with the captured events that contain them."""

import msgspec
import pytest

from mappers.logical_job import FoldingRule
from tests import factories as make
from tests.factories import dataset, run_event
from tests.laws.test_convergence import captured
from tests.stores import Store

SPARK = "spark-4.1.4/"


def load_store(name: str, folder: str = SPARK) -> Store:
    return Store().apply(*captured(f"{folder}{name}.ndjson"))


def edges_into(store: Store, *targets: str, namespace: str = "file") -> set[tuple[str, str]]:
    return {(edge[0], target) for target in targets for edge in store.upstream(target, namespace=namespace)}


@pytest.mark.parametrize(("name", "folder"), [("g_failing", SPARK), ("g2_failing_uncaught", "spark-4.3.0/")])
def test_1_fail_survives_a_later_complete(name: str, folder: str) -> None:
    with load_store(name, folder) as store:
        states = store.rows(
            "SELECT event_type FROM ol_run JOIN ol_job USING (org_id, job_id) WHERE job_type = 'SQL_JOB'"
        )
        assert states == [("FAIL",)]


def test_2_application_outcome_follows_its_last_action() -> None:
    with load_store("g_failing") as store:
        query = "SELECT status, status_derived, event_type FROM process_run JOIN ol_run USING (org_id, run_id) JOIN ol_job USING (org_id, job_id) WHERE job_type = 'APPLICATION'"
        assert store.rows(query) == [("FAILED", 1, "COMPLETE")]
    with load_store("a_csv_to_parquet") as store:
        assert store.rows(query) == [("SUCCESS", 0, "COMPLETE")]


def test_3_runs_with_only_complete_or_only_start_are_normal() -> None:
    with load_store("c_sql_tables_inmemory") as store:
        kinds = store.rows(
            "SELECT status, count(*) FROM process_run r JOIN ol_job j ON j.job_id = r.process_id"
            " WHERE j.job_type = 'RDD_JOB' GROUP BY 1"
        )
        assert kinds == [("UNKNOWN", 1)]
        only_complete = "SELECT count(*) FROM (SELECT run_id FROM run_event GROUP BY run_id HAVING max(event_type) = 'COMPLETE' AND count(*) = 1)"
        assert store.value(only_complete) == 4
        assert (
            store.value("SELECT count(*) FROM ol_run WHERE event_type = 'COMPLETE' AND started_at = event_time") == 4
        )


def test_4_times_without_trailing_zeros_are_parsed_not_compared_as_text(store: Store) -> None:
    early, late = run_event("RUNNING"), run_event("COMPLETE")
    early["eventTime"], late["eventTime"] = "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.499999Z"
    store.apply(early, late)
    assert store.value("SELECT event_time - started_at FROM ol_run") == 0
    assert store.value("SELECT updated_at - created_at FROM ol_run") == 1


def test_5_datasets_of_all_events_of_a_run_are_merged() -> None:
    with load_store("e_iceberg") as store:
        assert ("/data/lake/orders", "/data/iceberg/sales/orders") in edges_into(store, "/data/iceberg/sales/orders")
        merge = "SELECT count(DISTINCT dataset_id) FROM ol_run_input i JOIN ol_job j USING (org_id, job_id) WHERE j.name LIKE '%replace_data%' GROUP BY run_id ORDER BY 1 DESC"
        assert store.rows(merge)[0] == (2,)


def test_6_duplicate_outputs_are_merged(store: Store) -> None:
    outputs = [
        dataset("t", schema=make.schema("a")),
        {"namespace": "db", "name": "t"},
        dataset("t", version=make.facet(datasetVersion="1")),
    ]
    store.apply(run_event(outputs=outputs))
    assert store.value("SELECT count(*) FROM ol_run_output") == 1
    assert store.value("SELECT version_tag FROM dataset_version") == "1"
    assert store.value("SELECT count(*) FROM ol_dataset_field") == 1


def test_7_action_with_several_runs_is_one_edge() -> None:
    with load_store("c_sql_tables_inmemory") as store:
        assert store.upstream("sales.orders", namespace="file:/data/warehouse") == {
            ("/data/lake/orders", "c_sql_tables_inmemory", "", "column")
        }


def test_8_path_and_symlink_of_a_dropped_table_are_repaired() -> None:
    with load_store("c_sql_tables_inmemory") as store:
        names = {name for (name,) in store.rows("SELECT name FROM ol_dataset")}
        assert not [name for name in names if "sales.db/sales.db" in name]
        assert store.rows("SELECT namespace_uri FROM ol_namespace WHERE namespace_uri LIKE '%.db'") == []
        dropped = {name for (name,) in store.rows("SELECT name FROM dataset WHERE status = 'DEPRECATED'")}
        assert dropped == {"sales.by_country", "sales.big_orders"}


def test_8_external_tables_have_no_symlink_and_stay_paths() -> None:
    with load_store("l_symlinks_inmemory", "spark-4.3.0/") as store:
        assert store.upstream("/data/out/customers_de", namespace="file") == {
            ("/data/lake/customers", "l_symlinks_inmemory", "", "column")
        }


def test_9_create_on_append_does_not_recreate_the_table(store: Store) -> None:
    created = dataset("t", lifecycleStateChange=make.lifecycle("CREATE"))
    store.apply(run_event(second=1, outputs=[created]), run_event(second=2, run=2, outputs=[created]))
    assert store.rows("SELECT name, status FROM dataset") == [("t", "ACTIVE")]
    assert store.value("SELECT count(*) FROM dataset_version") == 2


def test_10_subset_facet_keeps_original_partition_paths() -> None:
    with load_store("j_rich_lineage") as store:
        bodies = [body for (body,) in store.rows("SELECT body FROM facet WHERE name = 'input:subset'")]
        assert bodies
        assert all("locations" in body for body in bodies)


def test_11_foreach_batch_writes_have_edges_but_no_columns() -> None:
    with load_store("h_streaming") as store:
        assert edges_into(store, "/data/out/stream_fb") == {("/data/in/stream", "/data/out/stream_fb")}
        assert store.value("SELECT count(*) FROM column_lineage") == 0
        assert store.value("SELECT count(*) FROM process_run WHERE status = 'STARTED'") == 0


def test_12_merge_source_comes_from_column_lineage() -> None:
    with load_store("f_delta") as store:
        upstream = store.upstream("dsales.orders", namespace="file:/data/warehouse")
        sources = {source for source, *_ in upstream}
        column_sources = {
            source
            for (source,) in store.rows(
                "SELECT DISTINCT s.name FROM column_lineage c JOIN ol_dataset s ON s.dataset_id = c.source_id"
                " JOIN ol_job j USING (job_id) WHERE j.name LIKE '%merge_into%'"
            )
        }
        inputs = {
            name
            for (name,) in store.rows(
                "SELECT DISTINCT d.name FROM ol_run_input i JOIN ol_dataset d USING (org_id, dataset_id)"
                " JOIN ol_job j USING (org_id, job_id) WHERE j.name LIKE '%merge_into%'"
            )
        }
        assert "/data/lake/orders" in column_sources - inputs
        assert "/data/lake/orders" in sources


def test_13_columns_of_a_python_udf_have_no_lineage() -> None:
    with load_store("r_python_udf", "spark-4.3.0/") as store:
        fields = {name for (name,) in store.rows("SELECT DISTINCT field_name FROM ol_dataset_field")}
        target_fields = {
            name
            for (name,) in store.rows(
                "SELECT DISTINCT target_field FROM ol_column_lineage WHERE target_field IS NOT NULL"
            )
        }
        assert fields - target_fields


def test_14_transformations_are_a_set_and_dataset_entries_may_be_direct(store: Store) -> None:
    transformations = [make.transformation(subtype="TRANSFORMATION", masking=True), make.transformation()]
    for second, order in enumerate((transformations, transformations[::-1])):
        lineage = make.columns({"k": [make.field("a", "k", *order)]}, [make.field("a", "x", make.transformation())])
        store.apply(run_event(second=second, run=second + 1, outputs=[dataset("t", columnLineage=lineage)]))
    rows = store.rows("SELECT target_field, transformation_subtype, masking FROM ol_column_lineage")
    assert set(rows) == {(None, "IDENTITY", False), ("k", "IDENTITY", False), ("k", "TRANSFORMATION", True)}
    assert len(rows) == 3
    assert store.value("SELECT count(*) FROM lineage_set") == 1


def test_15_iceberg_self_read_keeps_the_version_it_read() -> None:
    with load_store("e_iceberg") as store:
        tags = {
            tag
            for (tag,) in store.rows("SELECT version_tag FROM dataset_version_read WHERE version_tag NOT LIKE '%-%'")
        }
        assert tags
        assert all(tag.isdigit() for tag in tags)
        read, written = store.rows(
            "SELECT i.version, v.version_tag FROM ol_run_input i"
            " JOIN dataset_version v ON v.org_id = i.org_id AND v.dataset_id = i.dataset_id AND v.writer_id = i.run_id"
            " WHERE i.version IS NOT NULL ORDER BY i.first_seen LIMIT 1"
        )[0]
        assert read != written


def test_16_step_names_do_not_depend_on_the_plan() -> None:
    for folder in (SPARK, "spark-4.3.0/"):
        with load_store("a_csv_to_parquet", folder) as store:
            steps = {edge[1:3] for edge in store.upstream("/data/out/orders_pq", "step", namespace="file")}
            assert steps == {("a_csv_to_parquet", "write out.orders_pq")}


def test_17_application_is_the_root_without_a_configured_parent() -> None:
    with load_store("a_csv_to_parquet") as store:
        assert store.value("SELECT count(*) FROM ol_run WHERE parent_run_id IS NULL") == 1
        assert {edge[1] for edge in store.upstream("/data/out/orders_pq", "root", namespace="file")} == {
            "a_csv_to_parquet"
        }
    with load_store("i_multi_step_parent") as store:
        target = "/data/out/step1_eur"
        assert {edge[1] for edge in store.upstream(target, "job", namespace="file")} == {"daily_sales.load_report"}
        assert {edge[1] for edge in store.upstream(target, "step", namespace="file")} == {"report_app"}
        graph = store.graph("job", FoldingRule(job="application"))
        found = graph.find_dataset("file", target)
        assert found is not None
        assert {graph.job_name(edge.job).name for edge in graph.upstream([found]) if edge.job} == {"report_app"}
        parent_state = store.rows(
            "SELECT event_type FROM ol_run r JOIN ol_job j USING (org_id, job_id) WHERE j.name = 'daily_sales.load_report'"
        )
        assert parent_state == [(None,)]


def test_edges_of_an_application_are_those_of_its_actions() -> None:
    events = [msgspec.json.decode(payload) for payload in captured(f"{SPARK}c_sql_tables_inmemory.ndjson")]
    inputs, outputs = ({d["name"] for event in events for d in event[side]} for side in ("inputs", "outputs"))
    with load_store("c_sql_tables_inmemory") as store:
        graph = store.graph()
        group_ids = [group_id for (group_id,) in store.rows("SELECT DISTINCT class_id FROM ol_dataset")]
        edges = {(edge.source, edge.target) for edge in graph.upstream(group_ids) if edge.source and edge.job}
        assert len(edges) == 3
        assert len(inputs) * len(outputs) - len(edges) == 21
