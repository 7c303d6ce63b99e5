"""What becomes of runs in Marquez: where what arrives last is believed."""

import pytest

from bridge.sync.sync_item import Outcome
from tests.factories import Json, dataset, facet, job_event, parent, run_event
from tests.standins.marquez import half_written
from tests.stores import as_bytes
from tests.sync.marquez.marquez_harness import MarquezSynced


def run(number: int, kind: str = "COMPLETE", second: float | None = None, out: str = "out", job: str = "job") -> Json:
    at = number + (0 if kind == "START" else 0.5) if second is None else second
    outputs = [] if kind == "START" else [dataset(out)]
    return run_event(kind, at, run=number, job=job, inputs=[dataset("in")], outputs=outputs)


def test_a_run_is_told_by_the_event_that_begins_it_and_the_one_that_ends_it(synced: MarquezSynced) -> None:
    synced.apply(run(1, "START"), *(run_event("RUNNING", 1 + n / 20, run=1) for n in range(1, 9)), run(1)).converge()
    assert synced.arrived() == [(1, "START"), (1, "COMPLETE")]
    assert (synced.state_of(1), synced.graph()) == ("COMPLETED", (["in"], ["out"]))


def test_while_it_runs_it_is_told_as_it_is_known(synced: MarquezSynced) -> None:
    synced.apply(run(1, "START")).converge()
    assert synced.state_of(1) == "RUNNING"
    synced.apply(run(1)).converge()
    assert synced.state_of(1) == "COMPLETED"
    assert synced.arrived() == [(1, "START"), (1, "COMPLETE")]


def test_runs_of_a_job_are_told_in_the_order_in_which_they_began(synced: MarquezSynced) -> None:
    synced.apply(run(3), run(1), run(2), run(2, "START"), run(1, "START"), run(3, "START")).converge()
    assert [number for number, _ in synced.arrived()] == [1, 1, 2, 2, 3, 3]


def test_an_older_run_that_comes_late_is_followed_by_the_end_of_the_newest(synced: MarquezSynced) -> None:
    synced.apply(run(1, out="first"), run(3, out="third")).converge()
    synced.apply(run(2, out="second")).converge()
    assert synced.arrived() == [(1, "COMPLETE"), (3, "COMPLETE"), (2, "COMPLETE"), (3, "COMPLETE")]
    assert synced.graph() == (["in"], ["third"])


def test_what_comes_late_of_a_run_does_not_let_it_run_again(synced: MarquezSynced) -> None:
    synced.apply(run(1)).converge()
    synced.apply(run(1, "START")).converge()
    assert synced.state_of(1) == "COMPLETED"


def test_a_run_that_failed_and_is_told_as_complete_failed(synced: MarquezSynced) -> None:
    synced.apply(run(1, "FAIL", 11), run(1, "COMPLETE", 12)).converge()
    assert synced.state_of(1) == "FAILED"


@pytest.mark.parametrize(
    ("event", "said"),
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
def test_names_that_would_poison_it_are_never_sent(synced: MarquezSynced, event: Json, said: str) -> None:
    synced.apply(event, run(5)).converge()
    (reason,) = synced.standing(Outcome.DEAD).values()
    assert said in (reason or "")
    assert [number for number, _ in synced.arrived()] == [5]
    assert list(synced.client.list_namespaces())


def test_a_dead_letter_is_not_tried_again_before_the_run_changes(synced: MarquezSynced) -> None:
    synced.refuse()
    synced.apply(run(1)).converge()
    before = synced.writes()
    synced.apply(run(1)).converge()
    assert synced.writes() == before
    synced.apply(run(1, "FAIL", 30)).converge()
    assert synced.state_of(1) == "FAILED"


def test_an_event_that_nobody_answered_is_in_the_log_once(synced: MarquezSynced) -> None:
    synced.lose_answer()
    synced.apply(run(1, "START"), run(1)).converge()
    assert sorted(event["eventType"] for event in synced.listed()) == ["COMPLETE", "START"]
    assert synced.state_of(1) == "COMPLETED"


def test_an_event_that_reached_the_log_alone_is_told_again(synced: MarquezSynced) -> None:
    synced.standin.faults.script([None, half_written(), half_written()])
    synced.apply(run(1, "START"), run(1)).converge()
    assert (synced.state_of(1), synced.graph()) == ("COMPLETED", (["in"], ["out"]))


def test_a_race_that_was_lost_is_run_again_at_once(synced: MarquezSynced) -> None:
    synced.standin.faults.script([half_written()])
    synced.apply(run(1)).round()
    assert synced.state_of(1) == "COMPLETED"


def test_what_it_never_takes_is_a_dead_letter(synced: MarquezSynced) -> None:
    synced.standin.faults.next(half_written(), method="POST", times=100)
    synced.apply(run(1)).converge()
    (reason,) = synced.standing(Outcome.DEAD).values()
    assert "500" in (reason or "")


def test_what_came_from_it_is_not_sent_back(synced: MarquezSynced) -> None:
    source = synced.client.source_name
    synced.store.writer.write([synced.store.reader.read(as_bytes(run(1)), source)])
    synced.converge()
    assert synced.arrived() == []
    synced.apply(run(1, "FAIL", 40)).converge()
    assert synced.arrived() == [(1, "FAIL")]


def test_nor_is_a_job_whose_runs_came_from_it(synced: MarquezSynced) -> None:
    write, read = synced.store.writer.write, synced.store.reader.read
    write([read(as_bytes(run(1)), synced.client.source_name)])
    write([read(as_bytes(job_event(30, job="job", tags=facet(tags=[]))), "marquez-lists:x")])
    synced.converge()
    assert [seen for seen in synced.standin.requests if seen.method == "POST"] == []


def test_what_others_told_of_the_same_run_is_theirs(synced: MarquezSynced) -> None:
    synced.client.send(run(1, "START") | {"inputs": [dataset("theirs")]})
    synced.apply(run_event("COMPLETE", 2, run=1, outputs=[dataset("out")])).converge()
    assert [one for bit in synced.reconciler.compare() for one in bit.differences] == []


def test_an_hour_away_is_made_up_for_in_order(synced: MarquezSynced) -> None:
    synced.go_away()
    for number in range(1, 31):
        synced.apply(run(number, "START"), run(number))
        synced.round()
        synced.clock.wait(120)
    synced.standin.journal.clear()
    synced.come_back()
    synced.clock.wait(600)
    synced.converge()
    assert [number for number, kind in synced.arrived() if kind == "COMPLETE"] == list(range(1, 31))
    assert synced.graph() == (["in"], ["out"])


def test_what_a_backup_brought_back_is_told_again(synced: MarquezSynced) -> None:
    synced.apply(run(1), run(2), run(3)).converge()
    synced.forget()
    synced.compare()
    assert [synced.state_of(number) for number in (1, 2, 3)] == ["COMPLETED"] * 3


def test_what_others_told_of_a_job_is_put_right(synced: MarquezSynced) -> None:
    synced.apply(run(1)).converge()
    synced.client.send(run(9, out="theirs"))
    differences = [one for compared in synced.reconciler.compare() for one in compared.differences]
    assert [one.description for one in differences] == ["its job lacks output db out"]
    synced.compare()
    assert synced.graph() == (["in"], ["out"])
