"""`sync`, `verify`, `dead` and `marquez pull` against a stand-in of Marquez."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app as command
from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.session import ThrottledSession
from tests.commands import create_store
from tests.factories import Json, dataset, run_event
from tests.standins.marquez import Marquez as StandIn
from tests.standins.marquez import error
from tests.stores import as_bytes

RUN = run_event(inputs=[dataset("in")], outputs=[dataset("out")])
Shell = Callable[..., Result]


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn() as running:
        yield running


@pytest.fixture
def shell(standin: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restore_logging: None) -> Shell:
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", create_store(tmp_path))
    monkeypatch.setenv("LINEAGE_BRIDGE__MARQUEZ__ENABLED", "true")
    monkeypatch.setenv("LINEAGE_BRIDGE__MARQUEZ__URL", standin.url)

    def run(*args: str, events: tuple[Json, ...] = ()) -> Result:
        if events:
            file = tmp_path / "events.ndjson"
            file.write_bytes(b"\n".join(map(as_bytes, events)))
            assert CliRunner().invoke(command, ["ingest", str(file)]).exit_code == 0
        return CliRunner().invoke(command, list(args))

    return run


def test_sync_and_verify(shell: Shell) -> None:
    pushed = shell("sync", "--once", events=(RUN,))
    assert (pushed.exit_code, pushed.stdout.splitlines()[-1]) == (
        0,
        "Marquez is in sync: not compared with the server yet; `sync --compare` compares it now",
    )
    assert shell("sync", "status").stdout.splitlines()[0] == "marquez responding"
    verified = shell("verify")
    assert (verified.exit_code, verified.stdout) == (
        0, "Marquez:\n  1 compared, 0 differences; requests: dataset 1, job 1, run 1\n",
    )  # fmt: skip


def test_verify_reports_changes_by_other_writers(shell: Shell, standin: StandIn) -> None:
    shell("sync", "--once", events=(RUN,))
    client = MarquezClient(ThrottledSession(HttpSession(standin.url)))
    client.send(run_event(second=9, run=9, outputs=[dataset("theirs")]))
    client.close()
    verified = shell("verify", "marquez")
    assert verified.exit_code == 1
    assert "run  jobs job  its job lacks input db in" in verified.stdout


def test_rejected_run_is_listed_with_reason(shell: Shell) -> None:
    bad = run_event(run=3, job="bad", outputs=[dataset("x", "a b")])
    pushed = shell("sync", "--once", events=(RUN, bad))
    assert pushed.exit_code == 1
    listed = shell("dead", "list")
    assert "would break all lists of Marquez permanently" in listed.stdout
    verified = shell("verify", "--output", "json")
    assert verified.exit_code == 1
    (missing,) = json.loads(verified.stdout)["marquez"]["not_there"]
    assert (missing["kind"], missing["name"]) == ("run", "jobs bad")


def test_sync_explain_of_entities_without_own_item(shell: Shell) -> None:
    shell("sync", "--once", events=(RUN,))
    assert "has no entity of its own; it is sent with its runs" in shell("sync", "explain", "db", "out").stdout
    assert "job: unwanted" in shell("sync", "explain", "jobs", "job", "--job").stdout


def test_dry_run_sends_nothing(shell: Shell, standin: StandIn) -> None:
    planned = shell("sync", "--dry-run", events=(RUN,))
    assert planned.exit_code == 0, planned.output
    assert "+ create run jobs job  (1 event)" in planned.stdout
    assert not [request for request in standin.requests if request.method == "POST"]


def test_unavailable_server_is_an_error(shell: Shell, standin: StandIn) -> None:
    standin.faults.plan = lambda *_: error(503, "away")
    pushed = shell("sync", "--once", events=(RUN,))
    assert pushed.exit_code == 3
    assert "error: " in pushed.stderr
    assert "503 away" in pushed.stderr


def test_pull_imports_events_and_tags(shell: Shell, standin: StandIn) -> None:
    client = MarquezClient(ThrottledSession(HttpSession(standin.url)))
    client.send(RUN)
    client.add_tag("db", "out", "PII")
    client.close()
    pulled = shell("marquez", "pull")
    assert (pulled.exit_code, pulled.stdout) == (
        0, "1 event imported\n1 missing definition imported\n",
    )  # fmt: skip
    assert "SUCCESS" in shell("runs", "jobs", "job").stdout
    assert shell("sync", "--once").exit_code == 0
    assert not [
        request
        for request in standin.requests
        if request.path.endswith("/lineage") and b"reconstructed" in request.body
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["marquez", "pull", "--since", "yesterday"],
            "--since yesterday: not a timestamp (example: 2026-11-01T00:00:00Z)",
        ),
        (["marquez", "pull", "nowhere"], "nowhere is not a service URL"),
        (["marquez", "pull", "http://127.0.0.1:1"], "http://127.0.0.1:1 does not respond"),
        (["sync", "--once", "--target", "webhook"], "webhook.enabled is false: set it to true"),
    ],
)
def test_errors(shell: Shell, args: list[str], message: str) -> None:
    assert message in failure_output(shell(*args))


def failure_output(result: Result) -> str:
    """Output of a failed command, with its exception."""
    assert result.exit_code
    return f"{result.output}{result.exception}"


def test_missing_url_is_an_error(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINEAGE_BRIDGE__MARQUEZ__ENABLED")
    monkeypatch.delenv("LINEAGE_BRIDGE__MARQUEZ__URL")
    assert "marquez.url is not set: name the server" in failure_output(shell("marquez", "pull"))
    assert "no target is enabled" in failure_output(shell("verify"))
    monkeypatch.setenv("LINEAGE_BRIDGE__MARQUEZ__ENABLED", "true")
    assert "marquez.url" in failure_output(shell("verify"))
