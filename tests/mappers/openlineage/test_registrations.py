"""Registrations, boxes and reported paths: an event that carries one, and what the store knows afterwards."""

import itertools

import pytest

from bridge.errors import UnstorableRow
from tests import factories as make
from tests.factories import Json, dataset, dataset_event, facet, run_event
from tests.stores import Store

ROWS = "SELECT submitted_by, submitted_at, status, reviewer, review_comment FROM dataset_registration ORDER BY 1, 2"


def asked(second: float = 0, name: str = "d", **registration: Json) -> Json:
    return dataset_event(second, dataset(name, lineageBridge_registration=make.registration(**registration)))


def reviewed(status: str, second: float, reviewer: str = "bob") -> Json:
    return asked(second, status=status, reviewer=reviewer, comment=f"{status} it is")  # type: ignore[arg-type]


def test_a_request_is_a_row_that_is_pending(store: Store) -> None:
    store.apply(asked(second=0))
    assert store.rows(ROWS) == [("ann", make.micros(0), "PENDING", None, None)]
    assert store.value("SELECT r.dataset_id = d.dataset_id FROM dataset_registration r, ol_dataset d") == 1


@pytest.mark.parametrize("status", ["APPROVED", "rejected"])
@pytest.mark.parametrize("second", [1, 5, 20], ids=["earlier", "at once", "later"])
def test_a_decision_beats_the_request_in_any_order(status: str, second: float) -> None:
    exports = set()
    for events in itertools.permutations([asked(5), reviewed(status, second), asked(9)]):
        with Store() as store:
            store.apply_each(*events)
            assert store.rows(ROWS) == [
                ("ann", make.micros(0), status.upper(), "bob", f"{status} it is"),
            ]
            exports.add(store.export())
    assert len(exports) == 1


def test_the_later_of_two_decisions_holds(store: Store) -> None:
    store.apply(asked(), reviewed("REJECTED", 20), reviewed("APPROVED", 10, "carl"))
    assert store.rows(ROWS)[0][2:4] == ("REJECTED", "bob")


def test_what_was_asked_for_is_kept_whatever_is_decided(store: Store) -> None:
    described = asked(description="the orders", owner="team a")  # type: ignore[arg-type]
    store.apply(described, reviewed("APPROVED", 10))
    wanted = '{"description":"the orders","owner":"team a"}'
    assert store.value("SELECT request_json FROM dataset_registration") == wanted
    assert store.rows("SELECT description, owner_team FROM dataset") == [(None, None)]


def test_other_people_times_and_datasets_are_other_requests(store: Store) -> None:
    events = [dataset_event(0, dataset(n, lineageBridge_registration=make.registration(second=s, by=b)))
              for n in "ab" for s in (0, 1) for b in ("ann", "bob")]  # fmt: skip
    store.apply(*events)
    assert store.value("SELECT count(DISTINCT reg_id) FROM dataset_registration") == 8


@pytest.mark.parametrize(
    ("facet_", "note"),
    [
        (make.registration("MAYBE"), "lineageBridge_registration has an unknown status 'MAYBE': ignored"),
        (
            {**make.registration(), "submittedAt": "soon"},
            "lineageBridge_registration.submittedAt is not a time: ignored",
        ),
        ({**make.registration(), "submittedBy": 1}, "facet lineageBridge_registration does not match its specification"),
        (make.DELETED, None),
    ],
)
def test_what_is_no_registration_is_noted_and_no_row(store: Store, facet_: Json, note: str | None) -> None:
    store.apply(dataset_event(0, dataset("d", lineageBridge_registration=facet_)))
    assert store.rows("SELECT 1 FROM dataset_registration") == []
    found = store.value("SELECT notes_json FROM run_event")
    assert note in found if note else found is None
    assert store.value("SELECT count(*) FROM facet WHERE name = 'lineageBridge_registration'") == 1


def test_a_run_cannot_register_what_it_touches(store: Store) -> None:
    touched = dataset("d", lineageBridge_registration=make.registration())
    store.apply(run_event(inputs=[touched], outputs=[touched]))
    assert store.rows("SELECT 1 FROM dataset_registration") == []


def test_the_store_itself_takes_no_other_status(store: Store) -> None:
    store.apply(asked())
    with pytest.raises(UnstorableRow, match=r"(?i)check"):
        store.db.execute("UPDATE dataset_registration SET status = 'MAYBE'")


def test_boxes_are_the_parents_of_a_job_and_no_run_is_made_up_for_them(store: Store) -> None:
    boxes = {"lineageBridge_boxes": facet(boxes=["OUTER", "BOX"])}
    store.apply(run_event(job="JOB", namespace="autosys://PRD", job_facets=boxes))
    assert {key for (key,) in store.rows("SELECT process_key FROM process")} == {
        "AUTOSYS/OUTER",
        "AUTOSYS/OUTER/BOX",
        "AUTOSYS/BOX/JOB",
    }
    assert store.value("SELECT count(*) FROM ol_run") == 1


def test_a_job_in_itself_has_no_parent(store: Store) -> None:
    store.apply(run_event(job="JOB", job_facets={"lineageBridge_boxes": facet(boxes=["JOB"])}))
    assert store.rows("SELECT 1 FROM lineage_edge WHERE edge_role = 'PARENT'") == []


def test_a_path_that_is_reported_beats_the_one_that_follows_from_the_name(store: Store) -> None:
    said = facet(path="s3://b/out/dt=1")
    store.apply_each(
        run_event(outputs=[dataset("out", "s3://b")]),
        run_event(second=1, outputs=[dataset("out", "s3://b", lineageBridge_path=said)]),
        run_event(second=2, outputs=[dataset("out", "s3://b")]),
        run_event(run=2, outputs=[dataset("out", "s3://b")]),
    )
    assert store.rows("SELECT path FROM dataset_version ORDER BY path") == [("s3://b/out",), ("s3://b/out/dt=1",)]


def test_a_reported_version_has_its_path_and_statistics(store: Store) -> None:
    facets = {
        "version": facet(datasetVersion="7"),
        "outputStatistics": facet(rowCount=3, size=9),
        "lineageBridge_path": facet(path="/somewhere"),
    }
    store.apply(dataset_event(0, dataset("d", **facets)))
    query = "SELECT version_tag, row_count, byte_count, path, produced_by_run_id FROM dataset_version"
    assert store.rows(query) == [("7", 3, 9, "/somewhere", None)]
