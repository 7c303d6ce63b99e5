"""A target that is away, wants to be left alone, takes no token, or fails at one thing: nothing lost, no storm."""

import socket
from pathlib import Path
from typing import Any

import pytest

from bridge.sync.sync_item import Outcome
from connectors.openmetadata.auth import file_token
from tests.factories import columns, dataset, facet, field, run_event, schema, transformation
from tests.standins.journal import Seen
from tests.standins.openmetadata import Fault, error, expired_token, html, reset
from tests.sync import model
from tests.sync.openmetadata_harness import Synced

Json = dict[str, Any]

W = "warehouse.d.s."
HOUR = 3_600


def chain(length: int = 3, second: float = 0) -> list[Json]:
    """Jobs that make t1 of t0, t2 of t1, and so on."""
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


def assert_as_modelled(synced: Synced) -> None:
    found = model.seen(synced.standin)
    assert found == model.wanted(synced.store, waits=True, there=found.tables)
    assert synced.quiet() == {}


def always(synced: Synced, fault: Fault) -> None:
    synced.standin.faults.plan = lambda *_: fault


def writes(synced: Synced) -> list[Seen]:
    return [seen for seen in synced.standin.requests if seen.method != "GET"]


# --- away


@pytest.mark.parametrize("fault", [error(503), error(502), error(504), reset(), html(200), html(502)])
def test_a_target_that_is_away_is_asked_once_an_interval(fault: Fault) -> None:
    with Synced() as synced:
        synced.apply(*chain())
        always(synced, fault)
        synced.round()
        assert len(synced.standin.requests) <= 4
        probes = 0
        for _ in range(HOUR):
            before = len(synced.standin.requests)
            synced.clock.wait(1)
            synced.round()
            asked = len(synced.standin.requests) - before
            assert asked <= 2  # a probe, and the version where the server seems to be there
            probes += bool(asked)
        assert 58 <= probes <= 70
        assert writes(synced) == []
        assert synced.reconciler.status().trouble
        synced.standin.faults.clear()
        synced.apply(*chain(5, 9)).converge()
        assert synced.reconciler.status().trouble is None
        assert_as_modelled(synced)


def test_a_target_that_refuses_connections_is_asked_once_an_interval() -> None:
    with socket.socket() as nobody, Synced() as synced:
        nobody.bind(("127.0.0.1", 0))
        synced.connect(url=f"http://127.0.0.1:{nobody.getsockname()[1]}")
        synced.apply(*chain()).round()
        before = sum(synced.calls.values())
        for _ in range(HOUR // 5):
            synced.clock.wait(5)
            synced.round()
        assert sum(synced.calls.values()) - before <= 70
        synced.connect()
        synced.converge()
        assert_as_modelled(synced)


def test_what_waited_comes_in_the_order_in_which_it_is_needed() -> None:
    with Synced() as synced:
        synced.apply(*chain())
        always(synced, error(503))
        synced.round()
        synced.standin.faults.clear()
        synced.clock.wait(HOUR)
        begun = len(synced.standin.requests)
        synced.converge()
        sent = [
            seen.route.removeprefix("/api/v1/") for seen in synced.standin.requests[begun:] if seen.method == "PUT"
        ]
        order = [
            "services/databaseServices", "databases", "databaseSchemas", "tables/bulk", "services/pipelineServices",
            "pipelines/bulk", "lineage", "pipelines/{fqn}/status/bulk",
        ]  # fmt: skip
        assert list(dict.fromkeys(sent)) == order


@pytest.mark.parametrize("route", ["/lineage", "/tables/name", "/tables/bulk", "/services/"])
@pytest.mark.parametrize("fault", [error(503), reset(), html(200), expired_token()])
def test_a_target_that_goes_away_in_the_middle_meets_no_storm(route: str, fault: Fault) -> None:
    """What is under way fails; what is still to come is not even asked for."""
    with Synced() as synced:
        synced.apply(*chain(120)).converge()
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
        gone: list[int] = []

        def plan(number: int, method: str, path: str) -> Fault | None:
            if route in path:
                gone.append(number)
            return fault if gone else None

        synced.standin.faults.plan = plan
        synced.round()
        if gone:
            assert len(synced.standin.requests) - gone[0] <= 3 * synced.rules.concurrency
        synced.standin.faults.clear()
        synced.standin.renew_bot("another.bot.token")
        synced.connect()
        synced.converge()
        assert_as_modelled(synced)


@pytest.mark.parametrize("status", [429, 503])
def test_a_target_is_left_alone_as_long_as_it_asks_for(status: int) -> None:
    with Synced() as synced:
        synced.apply(*chain(1))
        synced.standin.faults.next(error(status, retry_after=120))
        synced.round()
        asked = len(synced.standin.requests)
        for _ in range(119):
            synced.clock.wait(1)
            synced.apply(run_event(outputs=[dataset("t1", schema=schema("k"))]))
            synced.round()
        if status == 503:  # one that is busy with one thing may be asked for another
            assert len(synced.standin.requests) == asked
        assert synced.entities("table") == {}
        synced.clock.wait(2)
        synced.converge()
        assert_as_modelled(synced)


# --- one thing that fails


def failing(name: str, status: int) -> Any:
    """Fail whatever names this table, and nothing else."""

    def plan(standin: Any) -> Any:
        def of(number: int, method: str, path: str) -> Fault | None:
            (seen,) = (one for one in standin.requests if one.number == number)
            named = f"{W}{name}".encode() in seen.body or f'"{name}"'.encode() in seen.body
            return error(status, "no such luck") if method == "PUT" and named else None

        return of

    return plan


def test_five_failures_of_one_thing_make_it_dead_and_the_others_go_on() -> None:
    with Synced() as synced:
        synced.apply(*chain(4), *chain(4, 1))
        synced.standin.faults.plan = failing("poison", 500)(synced.standin)
        synced.apply(run_event(run=99, job="last", outputs=[dataset("poison", schema=schema("k"))]))
        synced.round()
        assert len(synced.entities("table")) == 5
        assert len(synced.edges()) == 4
        synced.converge()
        (dead,) = synced.items_by(Outcome.DEAD)
        assert dead.kind == "dataset"
        assert "no such luck" in (dead.reason or "")
        assert dead.record["request"]["name"] == "poison"
        tries = [seen for seen in synced.standin.requests if b'"poison"' in seen.body and seen.status == 500]
        assert len({seen.body for seen in tries}) <= 5  # with all others, with fewer and fewer, alone
        assert synced.quiet() == {}
        synced.apply(run_event(second=5, run=98, outputs=[dataset("t1", schema=schema("k", "w"))])).converge()
        assert len(synced.entities("table")[W + "t1"]["columns"]) == 2
        synced.standin.faults.clear()
        synced.queue.retry([(item.kind, item.key) for item in synced.items_by(Outcome.DEAD)])
        synced.converge()
        assert_as_modelled(synced)


@pytest.mark.parametrize("status", [400, 403, 422])
def test_one_that_is_refused_is_dead_at_once_and_the_others_go_on(status: int) -> None:
    with Synced() as synced:
        synced.apply(*chain(4))
        synced.apply(run_event(run=99, job="last", outputs=[dataset("poison", schema=schema("k"))]))
        synced.standin.faults.plan = failing("poison", status)(synced.standin)
        synced.round()
        assert len(synced.entities("table")) == 5
        (dead,) = synced.items_by(Outcome.DEAD)
        assert str(status) in (dead.reason or "")
        alone = [seen for seen in synced.standin.requests if seen.body.count(b'"databaseSchema"') == 1]
        assert len([seen for seen in alone if seen.status == status]) == 1
        synced.apply(run_event(second=5, run=99, job="last", outputs=[dataset("poison", schema=schema("k"))]))
        assert synced.quiet() == {"put statuses": 1}


def test_a_parent_that_is_refused_is_asked_for_once() -> None:
    """A bot that may make no service is told so once, and not for every table."""
    with Synced() as synced:
        synced.apply(*chain(30))
        synced.standin.faults.next(
            error(403, "not yours"), method="PUT", path="/services/databaseServices", times=999
        )
        synced.round()
        assert len([seen for seen in synced.standin.requests if "/services/databaseServices" in seen.path]) <= 2
        dead = [item for item in synced.items_by(Outcome.DEAD) if item.kind == "dataset"]
        assert len(dead) == 31
        synced.standin.faults.clear()
        synced.queue.retry([(item.kind, item.key) for item in dead])
        synced.converge()
        assert_as_modelled(synced)


@pytest.mark.parametrize("status", [409, 412])
@pytest.mark.parametrize("times", [1, 3, 999])
def test_what_others_change_at_the_same_time_is_tried_a_few_times(status: int, times: int) -> None:
    with Synced() as synced:
        about = {"documentation": facet(description="first")}
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k"), **about)])).converge()
        path, method = ("/tables", "PATCH") if status == 412 else ("/tables/bulk", "PUT")
        synced.standin.faults.next(error(status), method=method, path=path, times=times)
        about = {"documentation": facet(description="second")}
        synced.apply(run_event(second=5, run=2, outputs=[dataset("t", schema=schema("k"), **about)])).converge()
        assert len([seen for seen in synced.standin.requests if seen.status == status]) <= min(times, 15)
        assert len(synced.items_by(Outcome.DEAD)) == (times == 999)
        if times < 999:
            assert synced.entities("table")[W + "t"]["description"] == "second"


def test_an_edge_that_was_ahead_of_its_table_is_written_again() -> None:
    """The server drops columns that it does not know yet, without a word."""
    with Synced() as synced:
        synced.apply(*chain(1)).converge()
        synced.standin.faults.next(error(500), method="PUT", path="/tables/bulk", times=6)  # both, and each alone
        lineage = columns({"w": [field("t0", "w", transformation())]})
        read = dataset("t0", schema=schema("k", "w"))
        written = dataset("t1", schema=schema("k", "w"), columnLineage=lineage)
        synced.apply(run_event(second=5, run=9, job="job0", inputs=[read], outputs=[written]))
        synced.round()
        assert synced.edges()[W + "t0", W + "t1"]["columnsLineage"] == []
        synced.converge()
        assert len(synced.edges()[W + "t0", W + "t1"]["columnsLineage"]) == 1
        assert_as_modelled(synced)


def test_an_edge_of_a_job_waits_for_the_job_no_longer_than_it_must() -> None:
    with Synced() as synced:
        synced.standin.faults.next(error(500), method="PUT", path="/pipelines/bulk", times=2)
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k"))])).round()
        assert synced.edges() == {}
        synced.converge()
        assert set(synced.edges()) == {("runs.job", W + "t")}


def test_what_was_refused_although_it_was_made_is_still_ours() -> None:
    with Synced() as synced:
        synced.standin.faults.next(error(400, applied=True), method="PUT", path="/tables/bulk")
        synced.apply(run_event(outputs=[dataset("t", schema=schema("k"))])).converge()
        (dead,) = synced.items_by(Outcome.DEAD)
        synced.queue.retry([(dead.kind, dead.key)])
        synced.apply(run_event(second=5, run=2, outputs=[dataset("t", schema=schema("k", "v"))])).converge()
        assert len(synced.entities("table")[W + "t"]["columns"]) == 2
        assert_as_modelled(synced)


# --- the token


def token_in_a_file(synced: Synced, folder: Path) -> Path:
    """Let the token be read from a file; gives the file."""
    file = folder / "token"
    file.write_text(synced.standin.bot_token)
    synced.connect(token=file_token(file))
    return file


def test_a_token_that_was_rotated_is_read_anew(tmp_path: Path) -> None:
    with Synced() as synced:
        file = token_in_a_file(synced, tmp_path)
        synced.apply(*chain(1)).converge()
        synced.standin.expire_bot()
        synced.standin.renew_bot("the.next.token")
        file.write_text("the.next.token")
        synced.apply(*chain(3, 5)).round()
        assert synced.reconciler.breaker.pause_reason is None
        refused = [seen for seen in synced.standin.requests if seen.status == 401]
        assert 1 <= len(refused) <= synced.rules.concurrency
        assert len({(seen.path, seen.query) for seen in refused}) == len(refused)
        assert_as_modelled(synced)


def test_a_target_that_takes_no_token_is_left_alone_and_says_so(tmp_path: Path) -> None:
    with Synced() as synced:
        file = token_in_a_file(synced, tmp_path)
        synced.standin.expire_bot()
        synced.apply(*chain(1)).round()
        assert "Expired token!" in (synced.reconciler.status().trouble or "")
        assert len([seen for seen in synced.standin.requests if seen.status == 401]) == 1
        for _ in range(HOUR // 10):
            synced.clock.wait(10)
            synced.round()
        assert len([seen for seen in synced.standin.requests if seen.status == 401]) <= 70
        assert synced.items_by(Outcome.DEAD) == []
        synced.standin.renew_bot("the.next.token")
        file.write_text("the.next.token")
        synced.clock.wait(61)
        synced.converge()
        assert synced.reconciler.status().trouble is None
        assert_as_modelled(synced)


def test_what_is_under_way_when_the_process_dies_twice_is_still_ours() -> None:
    """The words of the first try reached the server; those of the second never did."""
    with Synced() as synced:
        synced.apply(*chain(1)).converge()
        said = ({"sql": facet(query=f"INSERT {number}")} for number in range(3))

        def again(second: float) -> None:
            synced.apply(
                run_event(second=second, run=0, job="job0", inputs=[dataset("t0")], outputs=[dataset("t1")],
                          job_facets=next(said))
            )  # fmt: skip
            synced.round()

        synced.standin.faults.next(reset(applied=True), method="PUT", path="/v1/lineage", times=2)
        again(5)
        synced.clock.wait(700)
        synced.standin.faults.next(reset(), method="GET", path="getLineageEdge", times=2)
        again(6)
        synced.clock.wait(700)
        again(7)
        synced.converge()
        assert synced.edges()[W + "t0", W + "t1"]["sqlQuery"] == "INSERT 2"
        assert_as_modelled(synced)


def test_a_token_file_that_is_empty_for_a_moment_makes_nothing_dead(tmp_path: Path) -> None:
    with Synced() as synced:
        file = token_in_a_file(synced, tmp_path)
        synced.apply(*chain(1)).converge()
        synced.standin.expire_bot()
        synced.standin.renew_bot("the.next.token")
        file.write_text("")
        synced.apply(*chain(3, 5)).round()
        assert synced.items_by(Outcome.DEAD) == []
        assert "holds no token" in (synced.reconciler.status().trouble or "")
        file.write_text("the.next.token")
        synced.converge()
        assert_as_modelled(synced)
