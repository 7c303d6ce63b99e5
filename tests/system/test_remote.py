"""Commands with --url print the same as on the store itself, and report errors with a remedy."""

import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

import msgspec
import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.store.search.indexer import SearchIndexer
from bridge.store.sqlite import SqliteDatabase
from tests.api.service import create_store_file
from tests.commands import COMMANDS
from tests.factories import run_event, run_uuid
from tests.queries.decisions import decide
from tests.queries.sample_store import SAMPLE_EVENTS
from tests.stores import Store
from tests.system.service import ROOT, Service

pytestmark = pytest.mark.system

READ_KEY, INGEST_KEY = "a key that reads", "a key that does not"
KEYS = [
    {"name": scope, "sha256": hashlib.sha256(key.encode()).hexdigest(), "scopes": [scope]}
    for key, scope in ((READ_KEY, "read"), (INGEST_KEY, "ingest"))
]
READ_COMMANDS = (
    "lineage", "impact", "runs", "show", "explain", "search", "events", "sync status", "sync explain", "dead list",
    "governance violations", "dataset versions", "dataset resolve", "dataset history", "dataset pins",
    "process list", "process dag",
)  # fmt: skip
#: Needs an item that OpenMetadata rejected.
UNTESTED_READ_COMMANDS = ("dead show",)
#: Tested in tests/system/process.
PROCESS_COMMANDS = ("process plan", "process run", "process submit", "process clean")
#: Commands without a name argument that could be unknown.
COMMANDS_WITHOUT_NAME = (
    "events", "sync status", "dead list", "governance violations", "dataset pins", "process list", "process dag",
)  # fmt: skip
COMMAND_LINES = [
    "governance violations",
    "governance violations --output json",
    "lineage db clean",
    "lineage db/clean --direction both --columns",
    "lineage db clean --granularity run --output json",
    "lineage db clean --direction both --columns --output json",
    "lineage db clean --output mermaid",
    "lineage db report --output dot",
    "lineage db report --depth 1",
    "lineage db clean --as-of 2026-01-01T00:00:01",
    "lineage db clean --column mail",
    "lineage db clean --column mail --direction both --output json",
    "impact db raw",
    "impact db raw --output json",
    "runs",
    "runs --failed --output json",
    "runs jobs app2 --steps",
    "runs jobs app2 --steps --output json",
    "show db clean",
    "show db clean --output json",
    "show jobs app2",
    "show jobs app2 --job --output json",
    f"show {run_uuid(2)}",
    f"show {run_uuid(1)} --output json",
    "explain db clean",
    "explain db clean --from db raw",
    "explain db clean --column mail --output json",
    "search clean",
    "search --type job --output json",
    "events",
    "events --after 2 --limit 3 --output json",
    "sync status",
    "sync status --output json",
    "sync explain db clean",
    "sync explain jobs app2 --job --output json",
    "dead list --output json",
    "dataset versions db clean",
    "dataset versions db/clean --limit 1 --output json",
    "dataset resolve db clean",
    "dataset resolve db clean --pin january --output json",
    "dataset resolve db clean --as-of 2026-01-02",
    "dataset history db clean",
    "dataset history db clean --output json",
    "dataset pins",
    "dataset pins --expired --output json",
    "process list",
    "process list --output json",
    "process dag",
    "process dag --namespace jobs --output json",
    "process dag --output mermaid",
    "process dag --output dot",
]
UNKNOWN_NAMES = [
    "lineage db nothing",
    "impact nothing",
    "runs jobs nothing",
    "show db nothing",
    f"show {run_uuid(9)}",
    "explain db nothing",
    "search zzzzzz",
    "sync explain db nothing",
    "dataset versions db nothing",
    "dataset resolve db report",
    "dataset resolve db clean --pin nothing",
    "dataset history db nothing",
]


class ServedStore(NamedTuple):
    """A store, the service on it, and the key that the service requires."""

    store: str
    url: str
    key: str | None

    def local(self, arguments: str) -> Result:
        return self._run(arguments.split(), LINEAGE_BRIDGE__STORE__URL=self.store)

    def remote(self, arguments: str) -> Result:
        key = ["--api-key", self.key] if self.key else []
        return self._run([*arguments.split(), "--url", self.url, *key])

    def remote_by_environment(self, arguments: str) -> Result:
        key = {"LINEAGE_BRIDGE_API_KEY": self.key} if self.key else {}
        return self._run(arguments.split(), LINEAGE_BRIDGE_URL=self.url, **key)

    def _run(self, arguments: list[str], **variables: str) -> Result:
        defaults = {"LINEAGE_BRIDGE__STORE__URL": "sqlite:////nowhere/store.db"}
        return CliRunner(env=defaults | variables).invoke(app, arguments, catch_exceptions=False)


@pytest.fixture(scope="module", params=[None, READ_KEY], ids=["without keys", "with keys"])
def served_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedStore]:
    store = create_store_file(tmp_path_factory.mktemp("estate"))
    with closing(SqliteDatabase.for_writing(store)) as db:
        Store(db=db).apply_each(*SAMPLE_EVENTS, run_event(job="ö\n", second=30, run=30))
        SearchIndexer(db, "default").index_all()
        decide(db)
    settings = {"SERVER__API_KEYS": msgspec.json.encode(KEYS).decode()} if request.param else {}
    with Service(store, **settings) as service:
        yield ServedStore(f"sqlite:///{store}", f"http://127.0.0.1:{service.port}", request.param)


@pytest.mark.parametrize("arguments", COMMAND_LINES)
def test_remote_output_equals_local_output(served_store: ServedStore, arguments: str) -> None:
    local_result = served_store.local(arguments)
    assert (local_result.exit_code, local_result.stderr) == (0, "")
    assert local_result.stdout_bytes
    for remote_result in (served_store.remote(arguments), served_store.remote_by_environment(arguments)):
        assert (remote_result.exit_code, remote_result.stderr, remote_result.stdout_bytes) == (
            0,
            "",
            local_result.stdout_bytes,
        )


@pytest.mark.parametrize("arguments", UNKNOWN_NAMES)
def test_unknown_name_is_same_error_as_local(served_store: ServedStore, arguments: str) -> None:
    local_result, remote_result = served_store.local(arguments), served_store.remote(arguments)
    assert (remote_result.exit_code, remote_result.stdout, remote_result.stderr) == (1, "", local_result.stderr)
    assert local_result.stderr.startswith(("error: no ", "error: nothing found"))


def test_invalid_version_is_same_error_as_local(served_store: ServedStore) -> None:
    arguments = "dataset resolve db report --pin latest --partition day=2026-01-31"
    local_result, remote_result = served_store.local(arguments), served_store.remote(arguments)
    assert (remote_result.exit_code, remote_result.stdout, remote_result.stderr) == (6, "", local_result.stderr)
    assert "invalid: cut off" in local_result.stderr


def test_every_command_with_url_is_tested() -> None:
    with_url = {
        " ".join(path)
        for path, entry in COMMANDS.items()
        if any(parameter.name == "url" for parameter in entry.parameters)
    }
    assert {arguments for arguments in with_url if not arguments.startswith("spark ")} == {
        *READ_COMMANDS,
        *UNTESTED_READ_COMMANDS,
        *PROCESS_COMMANDS,
    }
    assert {name for name in READ_COMMANDS if any(arguments.startswith(name) for arguments in COMMAND_LINES)} == set(
        READ_COMMANDS
    )
    with_unknown_name = {
        name for name in READ_COMMANDS if any(arguments.startswith(name) for arguments in UNKNOWN_NAMES)
    }
    assert with_unknown_name | set(COMMANDS_WITHOUT_NAME) == set(READ_COMMANDS)


def run_command(arguments: str, **variables: str) -> tuple[int, str, str]:
    """Run a command as a process; return exit code, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "bridge", *arguments.split()],
        cwd=ROOT, env=os.environ | variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", READ_COMMANDS)
@pytest.mark.parametrize(
    ("key", "message"),
    [
        (None, "Key required: send an API key"),
        ("wrong", "Unknown key: this API key is not in server.api_keys"),
        (INGEST_KEY, "Not allowed: the key ingest lacks the scope read"),
        ("schlüssel", "the API key contains characters other than printable ASCII"),
    ],
    ids=["missing", "unknown", "missing scope", "not ASCII"],
)
def test_rejected_key_is_reported_with_remedy(
    served_store: ServedStore, name: str, key: str | None, message: str
) -> None:
    if served_store.key is None or (name != "events" and key != "wrong"):
        return
    arguments = next(arguments for arguments in COMMAND_LINES if arguments.startswith(name))
    variables = {"LINEAGE_BRIDGE_API_KEY": key} if key else {}
    code, out, err = run_command(f"{arguments} --url {served_store.url}", **variables)
    assert (code, out) == (2, "")
    assert message in err
    assert err.endswith("(--api-key, or the variable LINEAGE_BRIDGE_API_KEY)\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", READ_COMMANDS)
def test_unreachable_service_is_reported(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    arguments = next(arguments for arguments in COMMAND_LINES if arguments.startswith(name))
    code, out, err = run_command(arguments, LINEAGE_BRIDGE_URL=f"http://127.0.0.1:{port}")
    assert (code, out) == (3, "")
    assert err == f"error: http://127.0.0.1:{port} does not respond: [Errno 111] Connection refused\n"


@pytest.mark.parametrize("url", ["127.0.0.1:8090", "ftp://127.0.0.1", "http://[", "http://", "http://a:b"])
def test_invalid_service_url_is_reported(url: str) -> None:
    code, out, err = run_command(f"runs --url {url}")
    assert (code, out) == (2, "")
    assert err == f"error: {url} is not a service URL such as http://127.0.0.1:8090\n"


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in COMMANDS
        if path
        and path[0] != "spark"
        and " ".join(path) not in {*READ_COMMANDS, *UNTESTED_READ_COMMANDS, *PROCESS_COMMANDS}
    ],
    ids=" ".join,
)
def test_other_commands_have_no_url_option(path: tuple[str, ...]) -> None:
    assert [parameter.name for parameter in COMMANDS[path].parameters if parameter.name in {"url", "api_key"}] == []
    if not COMMANDS[path].is_group:
        result = CliRunner().invoke(app, [*path, "--url", "http://127.0.0.1:1"])
        assert (result.exit_code, "No such option" in result.stderr) == (2, True)
