"""What definitions and stewards say of jobs and datasets, in Marquez."""

from tests.factories import Json, dataset, dataset_event, facet, job_event, run_event, schema, symlinks
from tests.sync.marquez.marquez_harness import MarquezSynced


def said(second: float, **words: object) -> Json:
    return dataset_event(second, dataset("out", lineageBridge_governance=facet(**words)))


def described(text: str) -> Json:
    return facet(description=text)


def test_a_job_that_never_ran_is_there_with_its_datasets(synced: MarquezSynced) -> None:
    synced.apply(
        job_event(1, job="nightly", inputs=[dataset("in")], outputs=[dataset("out")], documentation=described("x"))
    )
    synced.converge()
    assert synced.graph("nightly") == (["in"], ["out"])
    assert (synced.client.get_job("jobs", "nightly") or {})["description"] == "x"


def test_a_job_of_which_nothing_but_datasets_is_said_is_told_of_when_it_was(synced: MarquezSynced) -> None:
    synced.apply(job_event(7, job="nightly", inputs=[dataset("in")])).converge()
    assert (synced.client.get_job("jobs", "nightly") or {})["createdAt"] == "2026-01-01T00:00:07Z"


def test_what_a_definition_says_of_a_job_that_ran_is_told_with_its_newest_run(synced: MarquezSynced) -> None:
    synced.apply(run_event(second=1, run=1, outputs=[dataset("out")])).converge()
    synced.apply(job_event(2, job="job", documentation=described("makes out"))).converge()
    found = synced.client.get_job("jobs", "job") or {}
    assert (found["description"], synced.graph()) == ("makes out", ([], ["out"]))
    synced.apply(run_event(second=3, run=2, outputs=[dataset("out")])).converge()
    assert (synced.client.get_job("jobs", "job") or {})["description"] == "makes out"


def test_what_a_steward_says_is_there_and_stays(synced: MarquezSynced) -> None:
    synced.apply(run_event(second=1, run=1, outputs=[dataset("out", schema=schema("a", "b"))]))
    synced.apply(said(2, description="all orders", owners=["sales"], tags=["PII"], tier="Tier1")).converge()
    found = synced.client.get_dataset("db", "out") or {}
    assert (found["description"], sorted(found["tags"])) == ("all orders", ["PII", "Tier1"])
    assert found["facets"]["ownership"]["owners"] == [{"name": "sales"}]
    synced.apply(run_event(second=3, run=2, outputs=[dataset("out", schema=schema("a", "b"))])).converge()
    found = synced.client.get_dataset("db", "out") or {}
    assert (found["description"], sorted(found["tags"])) == ("all orders", ["PII", "Tier1"])
    assert [one["name"] for one in found["fields"]] == ["a", "b"]


def test_a_tag_that_is_taken_back_goes_and_one_of_others_stays(synced: MarquezSynced) -> None:
    synced.apply(run_event(second=1, run=1, outputs=[dataset("out")]), said(2, tags=["PII", "GOLD"])).converge()
    synced.client.add_tag("db", "out", "THEIRS")
    synced.apply(said(3, tags=["GOLD"])).converge()
    assert sorted((synced.client.get_dataset("db", "out") or {})["tags"]) == ["GOLD", "THEIRS"]
    synced.apply(said(4)).converge()
    assert (synced.client.get_dataset("db", "out") or {})["tags"] == ["THEIRS"]


def test_columns_have_their_tags(synced: MarquezSynced) -> None:
    synced.apply(run_event(second=1, run=1, outputs=[dataset("out", schema=schema("a", "b"))]))
    synced.apply(said(2, columns=[{"name": "b", "sensitive": True, "classifications": ["PII"]}])).converge()
    fields = (synced.client.get_dataset("db", "out") or {})["fields"]
    assert {one["name"]: sorted(one["tags"]) for one in fields} == {"a": [], "b": ["PII", "SENSITIVE"]}


def test_where_it_cannot_tag_columns_that_is_told(synced: MarquezSynced) -> None:
    out = dataset("out", schema=schema("a"), symlinks=symlinks("other"))
    synced.apply(run_event(second=1, run=1, outputs=[out]))
    synced.apply(said(2, tags=["GOLD"], columns=[{"name": "a", "sensitive": True}])).converge()
    reasons = [event.reason for event in synced.items_by_kind("dataset")]
    assert reasons == [
        "column tags not set (unknown column, or Marquez cannot tag columns of datasets with aliases): a"
    ]
    assert (synced.client.get_dataset("db", "out") or {})["tags"] == ["GOLD"]


def test_a_plan_names_what_would_be_told(synced: MarquezSynced) -> None:
    synced.apply(
        job_event(1, job="nightly", inputs=[dataset("in")]), run_event(second=1, run=1, outputs=[dataset("out")])
    )
    synced.apply(said(2, description="all"), job_event(2, job="job", documentation=described("x")))
    steps = sorted(
        (step.action, step.kind, step.name) for step in synced.reconciler.plan() if step.action != "unwanted"
    )
    assert steps == [("create", "dataset", "db out"), ("create", "job", "jobs nightly"),
                     ("create", "run", "jobs job")]  # fmt: skip
    synced.converge()
    assert synced.reconciler.plan() == []


def test_what_others_changed_of_it_is_put_right(synced: MarquezSynced) -> None:
    synced.apply(job_event(1, job="nightly", inputs=[dataset("in")]))
    synced.apply(run_event(second=1, run=1, outputs=[dataset("out")]), said(2, description="all", tags=["GOLD"]))
    synced.converge()
    synced.client.remove_tag("db", "out", "GOLD")
    differences = [one for bit in synced.reconciler.compare() for one in bit.differences]
    assert [(one.name, one.description) for one in differences] == [("db out", "tag GOLD is missing")]
    synced.compare()
    assert (synced.client.get_dataset("db", "out") or {})["tags"] == ["GOLD"]
    synced.forget()
    synced.compare()
    assert (synced.client.get_dataset("db", "out") or {})["description"] == "all"
    assert synced.graph("nightly") == (["in"], [])
