"""Pushing runs to Marquez, in which the event that arrives last wins."""

from collections.abc import Callable

import pytest

from bridge.store.dirty_marks import mark_all
from bridge.sync.sync_item import Outcome
from connectors.marquez.event_log import find_logged_events
from tests.factories import Json, dataset, facet, job_event, parent, run_event, run_uuid, spark_type
from tests.standins.faults import Fault, error, html
from tests.standins.marquez import half_written
from tests.stores import as_bytes
from tests.sync.marquez.marquez_harness import MarquezHarness


def run(number: int, kind: str = "COMPLETE", second: float | None = None, out: str = "out", job: str = "job") -> Json:
    at = number + (0 if kind == "START" else 0.5) if second is None else second
    outputs = [] if kind == "START" else [dataset(out)]
    return run_event(kind, at, run=number, job=job, inputs=[dataset("in")], outputs=outputs)


def test_sends_start_and_final_event_of_run(synced: MarquezHarness) -> None:
    synced.apply(run(1, "START"), *(run_event("RUNNING", 1 + n / 20, run=1) for n in range(1, 9)), run(1)).converge()
    assert synced.received_runs() == [(1, "START"), (1, "COMPLETE")]
    assert (synced.run_state(1), synced.job_io()) == ("COMPLETED", (["in"], ["out"]))


def test_sends_start_while_run_is_in_progress(synced: MarquezHarness) -> None:
    synced.apply(run(1, "START")).converge()
    assert synced.run_state(1) == "RUNNING"
    synced.apply(run(1)).converge()
    assert synced.run_state(1) == "COMPLETED"
    assert synced.received_runs() == [(1, "START"), (1, "COMPLETE")]


def test_sends_runs_of_job_in_order_of_start(synced: MarquezHarness) -> None:
    synced.apply(run(3), run(1), run(2), run(2, "START"), run(1, "START"), run(3, "START")).converge()
    assert [number for number, _ in synced.received_runs()] == [1, 1, 2, 2, 3, 3]


def test_late_older_run_is_followed_by_end_of_newest_run(synced: MarquezHarness) -> None:
    synced.apply(run(1, out="first"), run(3, out="third")).converge()
    synced.apply(run(2, out="second")).converge()
    assert synced.received_runs() == [(1, "COMPLETE"), (3, "COMPLETE"), (2, "COMPLETE"), (3, "COMPLETE")]
    assert synced.job_io() == (["in"], ["third"])


def test_failure_derived_from_an_action_is_reported(synced: MarquezHarness) -> None:
    action = run_event(
        "FAIL",
        2,
        run=2,
        job="app.step",
        run_facets={"parent": parent(1, "app")},
        job_facets={"jobType": spark_type()},
    )
    application = run_event("COMPLETE", 3, run=1, job="app", job_facets={"jobType": spark_type("APPLICATION")})
    synced.apply(action, application).converge()
    assert synced.run_state(1) == "COMPLETED"
    assert [item.reason for item in synced.items_by_kind("run") if item.reason] == [
        "its last action failed, but it reported success, which Marquez shows"
    ]


def test_late_start_event_does_not_reopen_run(synced: MarquezHarness) -> None:
    synced.apply(run(1)).converge()
    synced.apply(run(1, "START")).converge()
    assert synced.run_state(1) == "COMPLETED"


def test_run_with_fail_and_complete_is_failed(synced: MarquezHarness) -> None:
    synced.apply(run(1, "FAIL", 11), run(1, "COMPLETE", 12)).converge()
    assert synced.run_state(1) == "FAILED"


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (run_event(run=1, outputs=[dataset("x", "a b")]), "the namespace 'a b' would break all lists"),
        (run_event(run=1, inputs=[dataset("x", "données")]), "would break all lists of Marquez permanently"),
        (run_event(run=1, namespace="a;b"), "would store the namespace 'a;b' as 'a_b'"),
        (
            run_event(run=1, outputs=[dataset("x", symlinks=facet(identifiers=[
                {"namespace": "a,b", "name": "y", "type": "TABLE"}]))]),
            "symlink 'y': the namespace 'a,b'",
        ),
        (run_event(run=1, run_facets={"parent": parent(2, "p", "a b")}), "parent 'p'"),
    ],
)  # fmt: skip
def test_never_sends_names_that_marquez_cannot_handle(synced: MarquezHarness, event: Json, message: str) -> None:
    synced.apply(event, run(5)).converge()
    (reason,) = synced.reasons_by_item(Outcome.DEAD).values()
    assert message in (reason or "")
    assert [number for number, _ in synced.received_runs()] == [5]
    assert list(synced.client.list_namespaces())


def test_dead_letter_is_retried_only_after_run_changes(synced: MarquezHarness) -> None:
    synced.reject()
    synced.apply(run(1)).converge()
    before = synced.write_count()
    synced.apply(run(1)).converge()
    assert synced.write_count() == before
    synced.apply(run(1, "FAIL", 30)).converge()
    assert synced.run_state(1) == "FAILED"


def test_rejected_change_of_a_pushed_job_remains_a_dead_letter(synced: MarquezHarness) -> None:
    synced.apply(job_event(outputs=[dataset("out")])).converge()
    synced.standin.faults.next(error(400), method="POST", path="/lineage")
    synced.apply(job_event(second=1, outputs=[dataset("other")])).converge()
    mark_all(synced.store.db, "default", "marquez", synced.clock())
    synced.converge()
    assert [item.kind for item in synced.items_by(Outcome.DEAD)] == ["job"]


def test_lost_response_does_not_duplicate_event(synced: MarquezHarness) -> None:
    synced.lose_response()
    synced.apply(run(1, "START"), run(1)).converge()
    assert sorted(event["eventType"] for event in synced.list_events()) == ["COMPLETE", "START"]
    assert synced.run_state(1) == "COMPLETED"


def test_resends_events_logged_but_not_applied(synced: MarquezHarness) -> None:
    synced.standin.faults.script([None, half_written(), half_written()])
    synced.apply(run(1, "START"), run(1)).converge()
    assert (synced.run_state(1), synced.job_io()) == ("COMPLETED", (["in"], ["out"]))


def test_retries_lost_race_in_same_round(synced: MarquezHarness) -> None:
    synced.standin.faults.script([half_written()])
    synced.apply(run(1)).round()
    assert synced.run_state(1) == "COMPLETED"


def test_event_failing_repeatedly_becomes_dead_letter_while_others_succeed(synced: MarquezHarness) -> None:
    synced.apply(run(1))
    for number in range(2, 8):
        synced.standin.faults.next(half_written(), method="POST", times=2)
        synced.round()
        synced.apply(run(number, job=f"job{number}")).round()
        synced.clock.wait(700)
    (reason,) = synced.reasons_by_item(Outcome.DEAD).values()
    assert "500" in (reason or "")


def test_runs_imported_from_target_are_not_sent_back(synced: MarquezHarness) -> None:
    source = synced.client.source_name
    synced.store.writer.write([synced.store.reader.read(as_bytes(run(1)), source)])
    synced.converge()
    assert synced.received_runs() == []
    synced.apply(run(1, "FAIL", 40)).converge()
    assert synced.received_runs() == [(1, "FAIL")]


def test_jobs_imported_from_target_are_not_sent_back(synced: MarquezHarness) -> None:
    write, read = synced.store.writer.write, synced.store.reader.read
    write([read(as_bytes(run(1)), synced.client.source_name)])
    write([read(as_bytes(job_event(30, job="job", tags=facet(tags=[]))), "marquez-lists:x")])
    synced.converge()
    assert [request for request in synced.standin.requests if request.method == "POST"] == []


def test_inputs_from_other_producers_are_no_difference(synced: MarquezHarness) -> None:
    synced.client.send(run(1, "START") | {"inputs": [dataset("theirs")]})
    synced.apply(run_event("COMPLETE", 2, run=1, outputs=[dataset("out")])).converge()
    assert [difference for batch in synced.reconciler.compare() for difference in batch.differences] == []


def test_sends_runs_in_order_after_outage_of_one_hour(synced: MarquezHarness) -> None:
    synced.stop_responding()
    for number in range(1, 31):
        synced.apply(run(number, "START"), run(number))
        synced.round()
        synced.clock.wait(120)
    synced.standin.journal.clear()
    synced.respond_again()
    synced.clock.wait(600)
    synced.converge()
    assert [number for number, kind in synced.received_runs() if kind == "COMPLETE"] == list(range(1, 31))
    assert synced.job_io() == (["in"], ["out"])


def test_comparison_resends_runs_that_marquez_lost(synced: MarquezHarness) -> None:
    synced.apply(run(1), run(2), run(3)).converge()
    synced.clear_standin()
    synced.compare()
    assert [synced.run_state(number) for number in (1, 2, 3)] == ["COMPLETED"] * 3


def test_comparison_restores_an_emptied_server_oldest_run_first(synced: MarquezHarness) -> None:
    numbers = [5, 3, 1, 4, 2]
    synced.apply(*map(run, numbers), *(run(number + 10, job="k") for number in numbers)).converge()
    synced.clear_standin()
    synced.standin.journal.requests.clear()
    synced.compare()
    sent = [number for number, _ in synced.received_runs()]
    assert [number for number in sent if number < 10] == [1, 2, 3, 4, 5]
    assert [number for number in sent if number > 10] == [11, 12, 13, 14, 15]


def streaming(number: int, second: float, out: str) -> Json:
    job_type = {"jobType": facet(processingType="STREAMING", integration="FLINK")}
    return run_event(
        "COMPLETE", second, run=number, inputs=[dataset("in")], outputs=[dataset(out)], job_facets=job_type
    )


def test_streaming_job_shows_the_datasets_of_its_newest_run(synced: MarquezHarness) -> None:
    """The third run has the datasets of the first one, whose job version exists already."""
    synced.apply(streaming(1, 1, "a")).converge()
    synced.apply(streaming(2, 2, "b")).converge()
    synced.apply(streaming(3, 3, "a")).converge()
    assert synced.job_io() == (["in"], ["a"])
    assert [difference for batch in synced.reconciler.compare() for difference in batch.differences] == []


def lose_job_version(synced: MarquezHarness) -> None:
    synced.standin.store.runs[run_uuid(1)].version = None


def delete_job(synced: MarquezHarness) -> None:
    synced.request("DELETE", "/namespaces/jobs/jobs/job")


def delete_output(synced: MarquezHarness) -> None:
    synced.request("DELETE", "/namespaces/db/datasets/out")


@pytest.mark.parametrize(
    ("damage", "description"),
    [
        (lose_job_version, "has no job version"),
        (delete_job, "its job is missing"),
        (delete_output, "its output db out is missing"),
    ],
    ids=["half-written", "deleted job", "deleted output"],
)
def test_comparison_repairs_newest_run(
    synced: MarquezHarness, damage: Callable[[MarquezHarness], None], description: str
) -> None:
    synced.apply(run(1)).converge()
    damage(synced)
    differences = [difference for batch in synced.reconciler.compare() for difference in batch.differences]
    assert [difference.description for difference in differences] == [description]
    synced.compare()
    assert [difference for batch in synced.reconciler.compare() for difference in batch.differences] == []
    assert synced.job_io() == (["in"], ["out"])


def test_outputs_of_an_unchanged_job_are_not_looked_up_again(synced: MarquezHarness) -> None:
    synced.apply(run(1)).converge()
    synced.compare()
    looked_up = synced.calls["dataset"]
    synced.compare()
    assert synced.calls["dataset"] == looked_up
    synced.apply(run(2)).converge()
    synced.compare()
    assert synced.calls["dataset"] == looked_up + 1
    synced.request("DELETE", "/namespaces/db/datasets/out")
    for _ in range(24):
        synced.compare()
    assert synced.client.get_dataset("db", "out") is not None


def test_comparison_restores_job_outputs_changed_by_other_producer(synced: MarquezHarness) -> None:
    synced.apply(run(1)).converge()
    synced.client.send(run(9, out="theirs"))
    differences = [difference for batch in synced.reconciler.compare() for difference in batch.differences]
    assert [difference.description for difference in differences] == ["its job lacks output db out"]
    synced.compare()
    assert synced.job_io() == (["in"], ["out"])


@pytest.mark.parametrize(
    "lie",
    [
        Fault(status=200, body={"hello": "world"}),
        Fault(status=200, body=""),
        Fault(status=302, body=""),
        html(404),
    ],
    ids=["other JSON", "200 instead of 201", "redirect", "missing page"],
)
def test_unexpected_response_opens_the_circuit(synced: MarquezHarness, lie: Fault) -> None:
    synced.apply(run(1), run(2), run(3))
    synced.standin.faults.next(lie, method="POST", path="/lineage", times=1)
    synced.round()
    assert "is it Marquez?" in str(synced.reconciler.breaker.pause_reason) or "302" in str(
        synced.reconciler.breaker.pause_reason
    )
    assert synced.items_by(Outcome.DEAD) == []
    synced.converge()
    assert [synced.run_state(number) for number in (1, 2, 3)] == ["COMPLETED"] * 3


def test_event_with_large_numbers_is_the_same_event_when_it_is_read_back(synced: MarquezHarness) -> None:
    numbers = {"float": 4.2445638419884667e18, "integer": 4_244_563_841_988_466_701}
    synced.apply(run_event(run=1, outputs=[dataset("out")], run_facets={"numbers": facet(**numbers)})).converge()
    (event,) = synced.list_events()
    assert {name: event["run"]["facets"]["numbers"][name] for name in numbers} == numbers
    assert find_logged_events(synced.client, {"sent": synced.run_events()[0]}) == {"sent"}
