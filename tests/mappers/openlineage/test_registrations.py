"""Registrations, boxes and reported paths: events that contain them, and the resulting rows."""

import itertools

import pytest

from bridge.errors import UnstorableRow
from tests import factories as make
from tests.factories import Json, dataset, dataset_event, facet, run_event
from tests.stores import Store

ROWS = "SELECT submitted_by, submitted_at, status, reviewer, review_comment FROM dataset_registration ORDER BY 1, 2"


def request(second: float = 0, name: str = "d", **registration: Json) -> Json:
    return dataset_event(second, dataset(name, lineageBridge_registration=make.registration(**registration)))


def review(status: str, second: float, reviewer: str = "bob") -> Json:
    return request(second, status=status, reviewer=reviewer, comment=f"{status} it is")  # type: ignore[arg-type]


def test_request_is_a_pending_registration(store: Store) -> None:
    store.apply(request(second=0))
    assert store.rows(ROWS) == [("ann", make.micros(0), "PENDING", None, None)]
    assert store.value("SELECT r.dataset_id = d.dataset_id FROM dataset_registration r, ol_dataset d") == 1


@pytest.mark.parametrize("status", ["APPROVED", "rejected"])
@pytest.mark.parametrize("second", [1, 5, 20], ids=["earlier", "at once", "later"])
def test_review_outranks_the_request_in_any_order(status: str, second: float) -> None:
    exports = set()
    for events in itertools.permutations([request(5), review(status, second), request(9)]):
        with Store() as store:
            store.apply_each(*events)
            assert store.rows(ROWS) == [
                ("ann", make.micros(0), status.upper(), "bob", f"{status} it is"),
            ]
            exports.add(store.export())
    assert len(exports) == 1


def test_later_of_two_reviews_wins(store: Store) -> None:
    store.apply(request(), review("REJECTED", 20), review("APPROVED", 10, "carl"))
    assert store.rows(ROWS)[0][2:4] == ("REJECTED", "bob")


def test_requested_metadata_is_stored_with_the_registration(store: Store) -> None:
    request_event = request(description="the orders", owner="team a")  # type: ignore[arg-type]
    store.apply(request_event, review("APPROVED", 10))
    requested = '{"description":"the orders","owner":"team a"}'
    assert store.value("SELECT request_json FROM dataset_registration") == requested
    assert store.rows("SELECT description, owner_team FROM dataset") == [(None, None)]


def test_submitter_time_and_dataset_identify_a_request(store: Store) -> None:
    events = [dataset_event(0, dataset(name, lineageBridge_registration=make.registration(second=second, by=submitter)))
              for name in "ab" for second in (0, 1) for submitter in ("ann", "bob")]  # fmt: skip
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
        (
            {**make.registration(), "submittedBy": 1},
            "facet lineageBridge_registration does not match its specification",
        ),
        (make.DELETED, None),
    ],
)
def test_invalid_registration_is_noted_and_not_stored(store: Store, facet_: Json, note: str | None) -> None:
    store.apply(dataset_event(0, dataset("d", lineageBridge_registration=facet_)))
    assert store.rows("SELECT 1 FROM dataset_registration") == []
    notes = store.value("SELECT notes_json FROM run_event")
    assert note in notes if note else notes is None
    assert store.value("SELECT count(*) FROM facet WHERE name = 'lineageBridge_registration'") == 1


def test_run_events_cannot_register_datasets(store: Store) -> None:
    registered = dataset("d", lineageBridge_registration=make.registration())
    store.apply(run_event(inputs=[registered], outputs=[registered]))
    assert store.rows("SELECT 1 FROM dataset_registration") == []


def test_store_rejects_unknown_registration_status(store: Store) -> None:
    store.apply(request())
    with pytest.raises(UnstorableRow, match=r"(?i)check"):
        store.db.execute("UPDATE dataset_registration SET status = 'MAYBE'")


def test_boxes_are_parents_of_a_job_without_runs(store: Store) -> None:
    boxes = {"lineageBridge_boxes": facet(boxes=["OUTER", "BOX"])}
    store.apply(run_event(job="JOB", namespace="autosys://PRD", job_facets=boxes))
    assert {key for (key,) in store.rows("SELECT process_key FROM process")} == {
        "AUTOSYS/OUTER",
        "AUTOSYS/OUTER/BOX",
        "AUTOSYS/BOX/JOB",
    }
    assert store.value("SELECT count(*) FROM ol_run") == 1


def test_job_is_not_its_own_parent(store: Store) -> None:
    store.apply(run_event(job="JOB", job_facets={"lineageBridge_boxes": facet(boxes=["JOB"])}))
    assert store.rows("SELECT 1 FROM lineage_edge WHERE edge_role = 'PARENT'") == []


def test_reported_path_replaces_the_derived_path(store: Store) -> None:
    path = facet(path="s3://b/out/dt=1")
    store.apply_each(
        run_event(outputs=[dataset("out", "s3://b")]),
        run_event(second=1, outputs=[dataset("out", "s3://b", lineageBridge_path=path)]),
        run_event(second=2, outputs=[dataset("out", "s3://b")]),
        run_event(run=2, outputs=[dataset("out", "s3://b")]),
    )
    assert store.rows("SELECT path FROM dataset_version ORDER BY path") == [("s3://b/out",), ("s3://b/out/dt=1",)]


def test_reported_version_has_path_and_statistics(store: Store) -> None:
    facets = {
        "version": facet(datasetVersion="7"),
        "outputStatistics": facet(rowCount=3, size=9),
        "lineageBridge_path": facet(path="/somewhere"),
    }
    store.apply(dataset_event(0, dataset("d", **facets)))
    query = "SELECT version_tag, row_count, byte_count, path, produced_by_run_id FROM dataset_version"
    assert store.rows(query) == [("7", 3, 9, "/somewhere", None)]
