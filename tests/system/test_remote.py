"""Reading commands that ask a real service: they print what they print of its store, and say what is wrong."""

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

SECRET, UNREADING = "a key that reads", "a key that does not"
KEYS = [
    {"name": scope, "sha256": hashlib.sha256(key.encode()).hexdigest(), "scopes": [scope]}
    for key, scope in ((SECRET, "read"), (UNREADING, "ingest"))
]
READING = (
    "lineage", "impact", "runs", "show", "explain", "search", "events", "sync status", "sync explain", "dead list",
    "governance violations", "dataset versions", "dataset resolve", "dataset history", "dataset pins",
    "process list", "process dag",
)  # fmt: skip
#: Needs something that OpenMetadata refused.
READING_TOO = ("dead show",)
#: Speak to a service as a process does: tests/system/process.
PROCESSES = ("process plan", "process run", "process submit", "process clean")
#: What is about no name, or about none that could be unknown.
NAMELESS_NEVER = (
    "events", "sync status", "dead list", "governance violations", "dataset pins", "process list", "process dag",
)  # fmt: skip
WORDS = [
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
NAMELESS = [
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


class Asked(NamedTuple):
    """A store, the service on it, and the key that it wants."""

    store: str
    url: str
    key: str | None

    def local(self, words: str) -> Result:
        return self._run(words.split(), LINEAGE_BRIDGE__STORE__URL=self.store)

    def remote(self, words: str) -> Result:
        key = ["--api-key", self.key] if self.key else []
        return self._run([*words.split(), "--url", self.url, *key])

    def by_variables(self, words: str) -> Result:
        key = {"LINEAGE_BRIDGE_API_KEY": self.key} if self.key else {}
        return self._run(words.split(), LINEAGE_BRIDGE_URL=self.url, **key)

    def _run(self, words: list[str], **variables: str) -> Result:
        elsewhere = {"LINEAGE_BRIDGE__STORE__URL": "sqlite:////nowhere/store.db"}
        return CliRunner(env=elsewhere | variables).invoke(app, words, catch_exceptions=False)


@pytest.fixture(scope="module", params=[None, SECRET], ids=["open", "with keys"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    store = create_store_file(tmp_path_factory.mktemp("estate"))
    with closing(SqliteDatabase.for_writing(store)) as db:
        Store(db=db).apply_each(*SAMPLE_EVENTS, run_event(job="ö\n", second=30, run=30))
        SearchIndexer(db, "default").index_all()
        decide(db)
    settings = {"SERVER__API_KEYS": msgspec.json.encode(KEYS).decode()} if request.param else {}
    with Service(store, **settings) as service:
        yield Asked(f"sqlite:///{store}", f"http://127.0.0.1:{service.port}", request.param)


@pytest.mark.parametrize("words", WORDS)
def test_a_service_is_told_of_as_its_store_is(asked: Asked, words: str) -> None:
    mine = asked.local(words)
    assert (mine.exit_code, mine.stderr) == (0, "")
    assert mine.stdout_bytes
    for theirs in (asked.remote(words), asked.by_variables(words)):
        assert (theirs.exit_code, theirs.stderr, theirs.stdout_bytes) == (0, "", mine.stdout_bytes)


@pytest.mark.parametrize("words", NAMELESS)
def test_a_name_that_nobody_knows_is_told_alike(asked: Asked, words: str) -> None:
    mine, theirs = asked.local(words), asked.remote(words)
    assert (theirs.exit_code, theirs.stdout, theirs.stderr) == (1, "", mine.stderr)
    assert mine.stderr.startswith(("error: no ", "error: nothing found"))


def test_what_is_not_to_be_read_is_told_alike(asked: Asked) -> None:
    words = "dataset resolve db report --pin latest --partition day=2026-01-31"
    mine, theirs = asked.local(words), asked.remote(words)
    assert (theirs.exit_code, theirs.stdout, theirs.stderr) == (6, "", mine.stderr)
    assert "invalid: cut off" in mine.stderr


def test_every_reading_command_is_asked_here() -> None:
    asking = {
        " ".join(words) for words, one in COMMANDS.items() if any(each.name == "url" for each in one.parameters)
    }
    assert {words for words in asking if not words.startswith("spark ")} == {*READING, *READING_TOO, *PROCESSES}
    assert {name for name in READING if any(words.startswith(name) for words in WORDS)} == set(READING)
    unknown = {name for name in READING if any(words.startswith(name) for words in NAMELESS)}
    assert unknown | set(NAMELESS_NEVER) == set(READING)


def command(words: str, **variables: str) -> tuple[int, str, str]:
    """Run a command as a process of its own; gives its exit code, and what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "bridge", *words.split()],
        cwd=ROOT, env=os.environ | variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize(
    ("key", "said"),
    [
        (None, "Key required: send an API key"),
        ("wrong", "Unknown key: this API key is not in server.api_keys"),
        (UNREADING, "Not allowed: the key ingest lacks the scope read"),
        ("schlüssel", "an API key is printable ASCII"),
    ],
    ids=["none", "unknown", "no scope", "none that could be"],
)
def test_a_key_that_does_not_fit_is_told_with_the_remedy(asked: Asked, name: str, key: str | None, said: str) -> None:
    if asked.key is None or (name != "events" and key != "wrong"):
        return
    words = next(words for words in WORDS if words.startswith(name))
    given = {"LINEAGE_BRIDGE_API_KEY": key} if key else {}
    code, out, err = command(f"{words} --url {asked.url}", **given)
    assert (code, out) == (2, "")
    assert said in err
    assert err.endswith("(--api-key, or the variable LINEAGE_BRIDGE_API_KEY)\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", READING)
def test_nobody_there_is_told(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    words = next(words for words in WORDS if words.startswith(name))
    code, out, err = command(words, LINEAGE_BRIDGE_URL=f"http://127.0.0.1:{port}")
    assert (code, out) == (3, "")
    assert err == f"error: http://127.0.0.1:{port} does not respond: [Errno 111] Connection refused\n"


@pytest.mark.parametrize("url", ["127.0.0.1:8090", "ftp://127.0.0.1", "http://[", "http://", "http://a:b"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    code, out, err = command(f"runs --url {url}")
    assert (code, out) == (2, "")
    assert err == f"error: {url} is not a service URL such as http://127.0.0.1:8090\n"


@pytest.mark.parametrize(
    "words",
    [
        words
        for words in COMMANDS
        if words and words[0] != "spark" and " ".join(words) not in {*READING, *READING_TOO, *PROCESSES}
    ],
    ids=" ".join,
)
def test_all_other_commands_work_on_the_store_itself(words: tuple[str, ...]) -> None:
    assert [one.name for one in COMMANDS[words].parameters if one.name in {"url", "api_key"}] == []
    if not COMMANDS[words].is_group:
        done = CliRunner().invoke(app, [*words, "--url", "http://127.0.0.1:1"])
        assert (done.exit_code, "No such option" in done.stderr) == (2, True)
