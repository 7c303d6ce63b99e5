"""Outages, throttling, rejected tokens and failing items: nothing is lost and requests stay limited."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from bridge.sync.sync_item import Outcome
from connectors.openmetadata.auth import file_token_provider
from tests.factories import columns, dataset, facet, field, run_event, schema, transformation
from tests.standins.journal import RecordedRequest
from tests.standins.openmetadata import Fault, error, expired_token, html, reset
from tests.sync import model
from tests.sync.openmetadata_harness import OpenMetadataHarness

Json = dict[str, Any]

W = "warehouse.d.s."
HOUR = 3_600


def copy_chain(length: int = 3, second: float = 0) -> list[Json]:
    """Jobs that copy t0 to t1, t1 to t2, and so on."""
    return [
        run_event(
            second=second,
            run=number,
            job=f"job{number}",
            inputs=[dataset(f"t{number}", schema=schema("k"))],
            outputs=[
                dataset(
                    f"t{number + 1}",
                    schema=schema("k"),
                    columnLineage=columns({"k": [field(f"t{number}", "k", transformation())]}),
                )
            ],
        )
        for number in range(length)
    ]


def assert_matches_store(synced: OpenMetadataHarness) -> None:
    actual = model.actual_state(synced.standin)
    assert actual == model.expected_state(synced.store, register_on_completion=True, existing_tables=actual.tables)
    assert synced.calls_of_next_round() == {}


def fail_all_requests(synced: OpenMetadataHarness, fault: Fault) -> None:
    synced.standin.faults.plan = lambda *_: fault


def write_requests(synced: OpenMetadataHarness) -> list[RecordedRequest]:
    return [request for request in synced.standin.requests if request.method != "GET"]


# --- outages


@pytest.mark.parametrize("fault", [error(503), error(502), error(504), reset(), html(200), html(502)])
def test_unavailable_target_receives_one_probe_per_interval(fault: Fault) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*copy_chain())
        fail_all_requests(synced, fault)
        synced.round()
        assert len(synced.standin.requests) <= 4
        probes = 0
        for _ in range(HOUR):
            before = len(synced.standin.requests)
            synced.clock.wait(1)
            synced.round()
            new_requests = len(synced.standin.requests) - before
            assert new_requests <= 2  # the probe, and the version if the server seems available
            probes += bool(new_requests)
        assert 58 <= probes <= 70
        assert write_requests(synced) == []
        assert synced.reconciler.status().trouble
        synced.standin.faults.clear()
        synced.apply(*copy_chain(5, 9)).converge()
        assert synced.reconciler.status().trouble is None
        assert_matches_store(synced)


def test_connection_refused_is_probed_once_per_interval() -> None:
    with socket.socket() as unused_port, OpenMetadataHarness() as synced:
        unused_port.bind(("127.0.0.1", 0))
        synced.connect(url=f"http://127.0.0.1:{unused_port.getsockname()[1]}")
        synced.apply(*copy_chain()).round()
        before = sum(synced.calls.values())
        for _ in range(HOUR // 5):
            synced.clock.wait(5)
            synced.round()
        assert sum(synced.calls.values()) - before <= 70
        synced.connect()
        synced.converge()
        assert_matches_store(synced)


def test_pushes_in_dependency_order_after_outage() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*copy_chain())
        fail_all_requests(synced, error(503))
        synced.round()
        synced.standin.faults.clear()
        synced.clock.wait(HOUR)
        first_request = len(synced.standin.requests)
        synced.converge()
        sent = [
            request.route.removeprefix("/api/v1/")
            for request in synced.standin.requests[first_request:]
            if request.method == "PUT"
        ]
        order = [
            "services/databaseServices", "databases", "databaseSchemas", "tables/bulk", "services/pipelineServices",
            "pipelines/bulk", "lineage", "pipelines/{fqn}/status/bulk", "tables/{id}/pipelineObservability/{fqn}",
        ]  # fmt: skip
        assert list(dict.fromkeys(sent)) == order


@pytest.mark.parametrize("route", ["/lineage", "/tables/name", "/tables/bulk", "/services/"])
@pytest.mark.parametrize("fault", [error(503), reset(), html(200), expired_token()])
def test_outage_during_push_stops_further_requests(route: str, fault: Fault) -> None:
    """Requests in flight fail; the remaining ones are not sent."""
    with OpenMetadataHarness() as synced:
        synced.apply(*copy_chain(120)).converge()
        synced.apply(
            *(
                run_event(
                    second=9,
                    run=1000 + number,
                    job=f"more{number}",
                    inputs=[dataset(f"t{number}", schema=schema("k"))],
                    outputs=[dataset(f"t{number + 2}", schema=schema("k", f"new{number}"))],
                )
                for number in range(100)
            )
        )
        failed_requests: list[int] = []

        def plan(number: int, method: str, path: str) -> Fault | None:
            if route in path:
                failed_requests.append(number)
            return fault if failed_requests else None

        synced.standin.faults.plan = plan
        synced.round()
        if failed_requests:
            assert len(synced.standin.requests) - failed_requests[0] <= 3 * synced.rules.concurrency
        synced.standin.faults.clear()
        synced.standin.renew_bot("another.bot.token")
        synced.connect()
        synced.converge()
        assert_matches_store(synced)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_respected(status: int) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*copy_chain(1))
        synced.standin.faults.next(error(status, retry_after=120))
        synced.round()
        request_count = len(synced.standin.requests)
        for _ in range(119):
            synced.clock.wait(1)
            synced.apply(run_event(outputs=[dataset("t1", schema=schema("k"))]))
            synced.round()
        if status == 503:  # after 429, other endpoints may be called
            assert len(synced.standin.requests) == request_count
        assert synced.entities("table") == {}
        synced.clock.wait(2)
        synced.converge()
        assert_matches_store(synced)


# --- failing items


def fail_requests_naming(name: str, status: int) -> Any:
    """Fail all PUT requests that name this table."""

    def make_plan(standin: Any) -> Any:
        def choose_fault(number: int, method: str, path: str) -> Fault | None:
            (request,) = (candidate for candidate in standin.requests if candidate.number == number)
            names_table = f"{W}{name}".encode() in request.body or f'"{name}"'.encode() in request.body
            return error(status, "no such luck") if method == "PUT" and names_table else None

        return choose_fault

    return make_plan


def test_item_is_dead_after_five_failures_and_others_continue() -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*copy_chain(4), *copy_chain(4, 1))
        synced.standin.faults.plan = fail_requests_naming("poison", 500)(synced.standin)
        synced.apply(run_event(run=99, job="last", outputs=[dataset("poison", schema=schema("k"))]))
        synced.round()
        assert len(synced.entities("table")) == 5
        assert len(synced.edges()) == 4
        synced.converge()
        (dead,) = synced.items_by(Outcome.DEAD)
        assert dead.kind == "dataset"
        assert "no such luck" in (dead.reason or "")
        assert json.loads(dead.record)["request"]["name"] == "poison"
        tries = [
            request for request in synced.standin.requests if b'"poison"' in request.body and request.status == 500
        ]
        assert len({request.body for request in tries}) <= 5  # in batches halved each time, at last alone
        assert synced.calls_of_next_round() == {}
        synced.apply(run_event(second=5, run=98, outputs=[dataset("t1", schema=schema("k", "w"))])).converge()
        assert len(synced.entities("table")[W + "t1"]["columns"]) == 2
        synced.standin.faults.clear()
        synced.queue.retry([(item.kind, item.key) for item in synced.items_by(Outcome.DEAD)])
        synced.converge()
        assert_matches_store(synced)


@pytest.mark.parametrize("status", [400, 403, 422])
def test_rejected_item_is_dead_immediately_and_others_continue(status: int) -> None:
    with OpenMetadataHarness() as synced:
        synced.apply(*copy_chain(4))
        synced.apply(run_event(run=99, job="last", outputs=[dataset("poison", schema=schema("k"))]))
        synced.standin.faults.plan = fail_requests_naming("poison", status)(synced.standin)
        synced.round()
        assert len(synced.entities("table")) == 5
        (dead,) = synced.items_by(Outcome.DEAD)
        assert str(status) in (dead.reason or "")
        alone = [request for request in synced.standin.requests if request.body.count(b'"databaseSchema"') == 1]
        assert len([request for request in alone if request.status == status]) == 1
        synced.apply(run_event(second=5, run=99, job="last", outputs=[dataset("poison", schema=schema("k"))]))
        assert synced.calls_of_next_round() == {"put statuses": 1}


def test_rejected_service_is_requested_once() -> None:
    """A bot without the right to create services gets one error, not one per table."""
    with OpenMetadataHarness() as synced:
        synced.apply(*copy_chain(30))
        synced.standin.faults.next(
            error(403, "not yours"), method="PUT", path="/services/databaseServices", times=999
        )
        synced.round()
        assert (
            len([request for request in synced.standin.requests if "/services/databaseServices" in request.path]) <= 2
        )
        dead = [item for item in synced.items_by(Outcome.DEAD) if item.kind == "dataset"]
        assert len(dead) == 31
        synced.standin.faults.clear()
        synced.queue.retry([(item.kind, item.key) for item in dead])
        synced.converge()
        assert_matches_store(synced)


@pytest.mark.parametrize("status", [409, 412])
@pytest.mark.parametrize("times", [1, 3, 999])
def test_concurrent_changes_are_retried_a_few_times(status: int, times: int) -> None:
    with OpenMetadataHarness() as synced:
        facets = {"documentation": facet(description="first")}
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k"), **facets)])).converge()
        path, method = ("/tables", "PATCH") if status == 412 else ("/tables/bulk", "PUT")
        synced.standin.faults.next(error(status), method=method, path=path, times=times)
        facets = {"documentation": facet(description="second")}
        synced.apply(run_event(second=5, run=2, outputs=[dataset("t", schema=schema("k"), **facets)])).converge()
        assert len([request for request in synced.standin.requests if request.status == status]) <= min(times, 15)
        assert len(synced.items_by(Outcome.DEAD)) == (times == 999)
        if times < 999:
            assert synced.entities("table")[W + "t"]["description"] == "second"


def test_edge_pushed_before_its_columns_is_pushed_again() -> None:
    """The server silently drops unknown columns from edges."""
    with OpenMetadataHarness() as synced:
        synced.apply(*copy_chain(1)).converge()
        synced.standin.faults.next(
            error(500), method="PUT", path="/tables/bulk", times=6
        )  # both tables, and each alone
        lineage = columns({"w": [field("t0", "w", transformation())]})
        input_ = dataset("t0", schema=schema("k", "w"))
        output = dataset("t1", schema=schema("k", "w"), columnLineage=lineage)
        synced.apply(run_event(second=5, run=9, job="job0", inputs=[input_], outputs=[output]))
        synced.round()
        assert synced.edges()[W + "t0", W + "t1"]["columnsLineage"] == []
        synced.converge()
        assert len(synced.edges()[W + "t0", W + "t1"]["columnsLineage"]) == 1
        assert_matches_store(synced)


def test_edge_is_pushed_once_its_pipeline_exists() -> None:
    with OpenMetadataHarness() as synced:
        synced.standin.faults.next(error(500), method="PUT", path="/pipelines/bulk", times=2)
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k"))])).round()
        assert synced.edges() == {}
        synced.converge()
        assert set(synced.edges()) == {("runs.job", W + "t")}


def test_entity_created_despite_error_is_owned_by_bridge() -> None:
    with OpenMetadataHarness() as synced:
        synced.standin.faults.next(error(400, applied=True), method="PUT", path="/tables/bulk")
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k"))])).converge()
        (dead,) = synced.items_by(Outcome.DEAD)
        synced.queue.retry([(dead.kind, dead.key)])
        synced.apply(run_event(second=5, run=2, outputs=[dataset("t", schema=schema("k", "v"))])).converge()
        assert len(synced.entities("table")[W + "t"]["columns"]) == 2
        assert_matches_store(synced)


# --- the token


def use_token_file(synced: OpenMetadataHarness, folder: Path) -> Path:
    file = folder / "token"
    file.write_text(synced.standin.bot_token)
    synced.connect(token=file_token_provider(file))
    return file


def test_reloads_rotated_token(tmp_path: Path) -> None:
    with OpenMetadataHarness() as synced:
        file = use_token_file(synced, tmp_path)
        synced.apply(*copy_chain(1)).converge()
        synced.standin.expire_bot()
        synced.standin.renew_bot("the.next.token")
        file.write_text("the.next.token")
        synced.apply(*copy_chain(3, 5)).round()
        assert synced.reconciler.breaker.pause_reason is None
        unauthorized = [request for request in synced.standin.requests if request.status == 401]
        assert 1 <= len(unauthorized) <= synced.rules.concurrency
        assert len({(request.path, request.query) for request in unauthorized}) == len(unauthorized)
        assert_matches_store(synced)


def test_expired_token_stops_requests_and_is_reported(tmp_path: Path) -> None:
    with OpenMetadataHarness() as synced:
        file = use_token_file(synced, tmp_path)
        synced.standin.expire_bot()
        synced.apply(*copy_chain(1)).round()
        assert "Expired token!" in (synced.reconciler.status().trouble or "")
        assert len([request for request in synced.standin.requests if request.status == 401]) == 1
        for _ in range(HOUR // 10):
            synced.clock.wait(10)
            synced.round()
        assert len([request for request in synced.standin.requests if request.status == 401]) <= 70
        assert synced.items_by(Outcome.DEAD) == []
        synced.standin.renew_bot("the.next.token")
        file.write_text("the.next.token")
        synced.clock.wait(61)
        synced.converge()
        assert synced.reconciler.status().trouble is None
        assert_matches_store(synced)


def test_edge_is_owned_after_two_pushes_with_unknown_result() -> None:
    """The first push reached the server without a response; the second did not reach it."""
    with OpenMetadataHarness() as synced:
        synced.apply(*copy_chain(1)).converge()
        sql_facets = ({"sql": facet(query=f"INSERT {number}")} for number in range(3))

        def push_next_sql(second: float) -> None:
            synced.apply(
                run_event(second=second, run=0, job="job0", inputs=[dataset("t0")], outputs=[dataset("t1")],
                          job_facets=next(sql_facets))
            )  # fmt: skip
            synced.round()

        synced.standin.faults.next(reset(applied=True), method="PUT", path="/v1/lineage", times=2)
        push_next_sql(5)
        synced.clock.wait(700)
        synced.standin.faults.next(reset(), method="GET", path="getLineageEdge", times=2)
        push_next_sql(6)
        synced.clock.wait(700)
        push_next_sql(7)
        synced.converge()
        assert synced.edges()[W + "t0", W + "t1"]["sqlQuery"] == "INSERT 2"
        assert_matches_store(synced)


def test_empty_token_file_creates_no_dead_letters(tmp_path: Path) -> None:
    with OpenMetadataHarness() as synced:
        file = use_token_file(synced, tmp_path)
        synced.apply(*copy_chain(1)).converge()
        synced.standin.expire_bot()
        synced.standin.renew_bot("the.next.token")
        file.write_text("")
        synced.apply(*copy_chain(3, 5)).round()
        assert synced.items_by(Outcome.DEAD) == []
        assert "contains no token" in (synced.reconciler.status().trouble or "")
        file.write_text("the.next.token")
        synced.converge()
        assert_matches_store(synced)
