"""Jobs without runs, descriptions, owners and tags in Marquez."""

from tests.factories import Json, dataset, dataset_event, facet, job_event, run_event, schema, symlinks
from tests.sync.marquez.marquez_harness import MarquezHarness


def governance_event(second: float, **values: object) -> Json:
    return dataset_event(second, dataset("out", lineageBridge_governance=facet(**values)))


def documentation(text: str) -> Json:
    return facet(description=text)


def test_creates_jobs_without_runs_with_inputs_and_outputs(synced: MarquezHarness) -> None:
    synced.apply(
        job_event(
            1, job="nightly", inputs=[dataset("in")], outputs=[dataset("out")], documentation=documentation("x")
        )
    )
    synced.converge()
    assert synced.job_io("nightly") == (["in"], ["out"])
    assert (synced.client.get_job("jobs", "nightly") or {})["description"] == "x"


def test_job_is_created_at_time_of_its_declaration(synced: MarquezHarness) -> None:
    synced.apply(job_event(7, job="nightly", inputs=[dataset("in")])).converge()
    assert (synced.client.get_job("jobs", "nightly") or {})["createdAt"] == "2026-01-01T00:00:07Z"


def test_job_description_is_sent_with_newest_run(synced: MarquezHarness) -> None:
    synced.apply(run_event(second=1, run=1, outputs=[dataset("out")])).converge()
    synced.apply(job_event(2, job="job", documentation=documentation("makes out"))).converge()
    found = synced.client.get_job("jobs", "job") or {}
    assert (found["description"], synced.job_io()) == ("makes out", ([], ["out"]))
    synced.apply(run_event(second=3, run=2, outputs=[dataset("out")])).converge()
    assert (synced.client.get_job("jobs", "job") or {})["description"] == "makes out"


def test_governance_metadata_survives_later_runs(synced: MarquezHarness) -> None:
    synced.apply(run_event(second=1, run=1, outputs=[dataset("out", schema=schema("a", "b"))]))
    synced.apply(
        governance_event(2, description="all orders", owners=["sales"], tags=["PII"], tier="Tier1")
    ).converge()
    found = synced.client.get_dataset("db", "out") or {}
    assert (found["description"], sorted(found["tags"])) == ("all orders", ["PII", "Tier1"])
    assert found["facets"]["ownership"]["owners"] == [{"name": "sales"}]
    synced.apply(run_event(second=3, run=2, outputs=[dataset("out", schema=schema("a", "b"))])).converge()
    found = synced.client.get_dataset("db", "out") or {}
    assert (found["description"], sorted(found["tags"])) == ("all orders", ["PII", "Tier1"])
    assert [column["name"] for column in found["fields"]] == ["a", "b"]


def test_removes_own_tags_and_keeps_tags_of_other_writers(synced: MarquezHarness) -> None:
    synced.apply(
        run_event(second=1, run=1, outputs=[dataset("out")]), governance_event(2, tags=["PII", "GOLD"])
    ).converge()
    synced.client.add_tag("db", "out", "THEIRS")
    synced.apply(governance_event(3, tags=["GOLD"])).converge()
    assert sorted((synced.client.get_dataset("db", "out") or {})["tags"]) == ["GOLD", "THEIRS"]
    synced.apply(governance_event(4)).converge()
    assert (synced.client.get_dataset("db", "out") or {})["tags"] == ["THEIRS"]


def test_tags_columns(synced: MarquezHarness) -> None:
    synced.apply(run_event(second=1, run=1, outputs=[dataset("out", schema=schema("a", "b"))]))
    synced.apply(
        governance_event(2, columns=[{"name": "b", "sensitive": True, "classifications": ["PII"]}])
    ).converge()
    fields = (synced.client.get_dataset("db", "out") or {})["fields"]
    assert {column["name"]: sorted(column["tags"]) for column in fields} == {"a": [], "b": ["PII", "SENSITIVE"]}


def test_reports_columns_that_cannot_be_tagged(synced: MarquezHarness) -> None:
    out = dataset("out", schema=schema("a"), symlinks=symlinks("other"))
    synced.apply(run_event(second=1, run=1, outputs=[out]))
    synced.apply(governance_event(2, tags=["GOLD"], columns=[{"name": "a", "sensitive": True}])).converge()
    reasons = [item.reason for item in synced.items_by_kind("dataset")]
    assert reasons == [
        "column tags not set (unknown column, or Marquez cannot tag columns of datasets with aliases): a"
    ]
    assert (synced.client.get_dataset("db", "out") or {})["tags"] == ["GOLD"]


def test_plan_lists_pending_changes(synced: MarquezHarness) -> None:
    synced.apply(
        job_event(1, job="nightly", inputs=[dataset("in")]), run_event(second=1, run=1, outputs=[dataset("out")])
    )
    synced.apply(governance_event(2, description="all"), job_event(2, job="job", documentation=documentation("x")))
    steps = sorted(
        (step.action, step.kind, step.name) for step in synced.reconciler.plan() if step.action != "unwanted"
    )
    assert steps == [("create", "dataset", "db out"), ("create", "job", "jobs nightly"),
                     ("create", "run", "jobs job")]  # fmt: skip
    synced.converge()
    assert synced.reconciler.plan() == []


def test_comparison_restores_changed_governance_metadata(synced: MarquezHarness) -> None:
    synced.apply(job_event(1, job="nightly", inputs=[dataset("in")]))
    synced.apply(
        run_event(second=1, run=1, outputs=[dataset("out")]), governance_event(2, description="all", tags=["GOLD"])
    )
    synced.converge()
    synced.client.remove_tag("db", "out", "GOLD")
    differences = [difference for batch in synced.reconciler.compare() for difference in batch.differences]
    assert [(difference.name, difference.description) for difference in differences] == [
        ("db out", "tag GOLD is missing")
    ]
    synced.compare()
    assert (synced.client.get_dataset("db", "out") or {})["tags"] == ["GOLD"]
    synced.clear_standin()
    synced.compare()
    assert (synced.client.get_dataset("db", "out") or {})["description"] == "all"
    assert synced.job_io("nightly") == (["in"], [])


def test_metadata_of_an_alias_is_sent_under_the_name_that_runs_use(synced: MarquezHarness) -> None:
    table = symlinks("sales.orders", namespace="hive://m:9083")
    synced.apply(run_event(second=1, outputs=[dataset("/data/orders", "file", symlinks=table)]))
    facets = {"lineageBridge_governance": facet(description="all orders")}
    synced.apply(dataset_event(2, dataset("sales.orders", "hive://m:9083", **facets))).converge()
    (event,) = (
        request.json() for request in synced.standin.journal.requests if b'"dataset":' in (request.body or b"")
    )
    assert event["dataset"]["name"] == "/data/orders"
