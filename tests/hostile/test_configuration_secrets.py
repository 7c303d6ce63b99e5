"""No message repeats a secret of the configuration, whatever is wrong with it."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from bridge.cli.main import app
from bridge.governance.asset import AssetFile
from bridge.process.definition import ProcessDefinition
from bridge.settings.yaml_model import read_model
from connectors.errors import ConfigError
from connectors.http import HttpSession
from tests.commands import create_store
from tests.queries.sample_store import SAMPLE_EVENTS
from tests.settings.config_files import WriteConfig, load_error

SECRET = "SECRETXX"
MISTAKES = (
    "openmetadata: {auth: {password: 'SECRETXX",
    "openmetadata:\n  auth:\n    password: 'SECRETXX\n    username: ann\n",
    "openmetadata:\n  auth:\n    client_secret: !SECRETXX x\n",
    "openmetadata:\n  auth:\n    client_secret: !x SECRETXX\n",
    "openmetadata:\n  auth:\n    client_secret: !!int SECRETXX\n",
    "openmetadata:\n  auth:\n    client_secret: *SECRETXX\n",
    "openmetadata:\n  auth:\n    client_secret: @SECRETXX\n",
    'openmetadata:\n  auth:\n    client_secret: "\\SECRETXX"\n',
    "openmetadata:\n  auth:\n    client_secret: [SECRETXX, b\n",
    "openmetadata:\n  auth:\n    client_secret: [SECRETXX]\n",
    "openmetadata:\n  auth:\n    client_secret: {SECRETXX: 1}\n",
    "openmetadata:\n  auth:\n    client_secret: a: SECRETXX\n",
    "openmetadata:\n  auth:\n    client_secret SECRETXX\n",
    "openmetadata:\n  auth: client_secret=SECRETXX\n",
    "openmetadata:\n  auth: [SECRETXX]\n",
    "openmetadata:\n  auth: {client_secret: {x: SECRETXX}}\n",
    "openmetadata:\n  auth:\n    client_secret: SECRETXX\n   jwt_token: b\n",
    "openmetadata:\n  auth:\n\tclient_secret: SECRETXX\n",
    "openmetadata: password=SECRETXX\n",
    "openmetadata: [{auth: {password: SECRETXX}}]\n",
    "server: {api_keys: [SECRETXX]}\n",
    "server: {api_keys: SECRETXX}\n",
    "server: {api_keys: [[SECRETXX]]}\n",
    "server: {api_keys: [{name: a, sha256: SECRETXX, scopes: [ingest]}]}\n",
    "server: {api_keys: [{name: a, key: SECRETXX, scopes: [ingest]}]}\n",
    "server: {api_keys: [{name: a, sha256: [SECRETXX]}]}\n",
    "server: {api_keys: {SECRETXX: ingest}}\n",
    "marquez: {enabled: true, api_key: {SECRETXX: 1}}\n",
    "marquez: {url: 'http://u:SECRETXX@[x'}\n",
    "marquez: {url: 'http://u:SECRETXX@h'}\n",
    "webhook: {url: 'https://h/SECRETXX?x'}\n",
    "webhook: {url: [https://h/SECRETXX]}\n",
    "webhook: https://h/SECRETXX\n",
    "openmetadata: {server: {host: 'ftp://u:SECRETXX@h'}}\n",
    "openmetadata: {server: {host: 'u:SECRETXX@h:8585'}}\n",
    "store: {url: 'mysql://u:SECRETXX@h/d'}\n",
    "store: {url: 'postgresql://u:SECRETXX@x@h/d'}\n",
    "store: 'postgresql://u:SECRETXX@h/d'\n",
    "legacy: {db2_url: [SECRETXX]}\n",
    "server: {host: 'http://u:SECRETXX@h'}\nlog: {level: 'postgresql://u:SECRETXX@h'}\n",
    "password: SECRETXX\n",
    "- password: SECRETXX\n",
    "SECRETXX",
    "a: 'SECRETXX' b\n",
    "a: &SECRETXX 1\nb: &SECRETXX 2\n",
    "password: SECRETXX\x07\n",
)


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_files_do_not_repeat_secrets(write_config: WriteConfig, text: str) -> None:
    message = load_error(write_config(text))
    assert SECRET not in message
    assert ".yaml" in message


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SERVER__API_KEYS", "SECRETXX"),
        ("SERVER__API_KEYS", '["SECRETXX"]'),
        ("SERVER__API_KEYS", '[{"name": "SECRETXX", "sha256": "SECRETXX"}]'),
        ("OPENMETADATA", '{"auth": {"password": SECRETXX}}'),
        ("OPENMETADATA", '{"auth": "SECRETXX"}'),
        ("OPENMETADATA__AUTH", '{"password": ["SECRETXX"]}'),
        ("OPENMETADATA__AUTH", "password=SECRETXX"),
        ("STORE__URL", "mysql://u:SECRETXX@h/d"),
        ("WEBHOOK__URL", "https://h /SECRETXX"),
        ("MARQUEZ__URL", "http://u:SECRETXX@h"),
        ("SERVER__PORT", "postgresql://u:SECRETXX@h"),
    ],
)
def test_mistakes_in_variables_do_not_repeat_secrets(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(f"LINEAGE_BRIDGE__{variable}", value)
    assert SECRET not in load_error()


@pytest.mark.parametrize("model", [AssetFile, ProcessDefinition])
@pytest.mark.parametrize(
    "text",
    [
        "inputs:\n  a:\n    options: {password: 'SECRETXX\n",
        "inputs: {a: {format: jdbc, options: {password: [SECRETXX], url: 1}}}\n",
        "inputs: {a: {format: jdbc, options: [password, SECRETXX]}}\n",
        "inputs: {a: {format: jdbc, options: 'password=SECRETXX'}}\n",
        "inputs: {a: 'jdbc:x://h?password=SECRETXX'}\n",
        "inputs: {a: {path: ['postgresql://u:SECRETXX@h']}}\n",
        "assets: [{namespace: 'postgresql://u:SECRETXX@h', name: a, retention: x}]\n",
        "assets: 'postgresql://u:SECRETXX@h'\n",
        "assets: [{namespace: a, name: b, password: SECRETXX}]\n",
        "password: SECRETXX\nprocess: !x SECRETXX\n",
    ],
)
def test_mistakes_in_asset_and_process_files_do_not_repeat_secrets(
    tmp_path: Path, model: type[AssetFile] | type[ProcessDefinition], text: str
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_model(path, model)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    "url", ["http://u:SECRETXX@127.0.0.1:9", "http://u:SEC/SECRETXX@127.0.0.1:9", "http://SECRETXX@127.0.0.1:9", "u:SECRETXX@h", "http://u:SECRETXX@"]
)  # fmt: skip
@pytest.mark.parametrize(
    "command", [["runs", "--url"], ["marquez", "pull"], ["lineage", "db", "a", "--url"]], ids=str
)
def test_url_arguments_do_not_repeat_passwords(
    command: list[str], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", f"sqlite:///{tmp_path}/a.db")
    result = CliRunner().invoke(app, [*command, url])
    assert result.exception is not None
    assert SECRET not in result.output + str(result.exception)


def test_session_sends_the_password_that_it_does_not_show() -> None:
    requests: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200)

    session = HttpSession("http://u:SECRETXX@h/base/", transport=httpx.MockTransport(respond))
    session.request("GET", "/a")
    session.close()
    assert session.url == "http://***@h/base"
    assert requests[0].headers["Authorization"].startswith("Basic ")
    assert requests[0].url.path == "/base/a"


WEBHOOK = "webhook: {enabled: true, url: 'https://127.0.0.1:9/services/SECRETXX'}\n"


def test_path_of_webhook_is_not_shown(write_config: WriteConfig) -> None:
    path = str(write_config(WEBHOOK))
    for output in ("text", "json"):
        shown = CliRunner().invoke(app, ["config", "show", "--origin", "--output", output, "-c", path])
        assert SECRET not in shown.output
        assert "https://127.0.0.1:9/***" in shown.output


def test_path_of_webhook_is_neither_stored_nor_logged(
    write_config: WriteConfig, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A path that an earlier version stored is replaced, without sending everything again."""
    url = create_store(tmp_path, *SAMPLE_EVENTS)
    path = write_config(f"store: {{url: '{url}'}}\n{WEBHOOK}")
    sync = ["sync", "--once", "--output", "json", "-c", str(path)]
    CliRunner().invoke(app, sync)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as store:
        store.execute("UPDATE sync_target SET url = 'https://127.0.0.1:9/services/SECRETXX'")
        store.commit()
        result = CliRunner().invoke(app, sync)
        (stored_url,) = store.execute("SELECT url FROM sync_target").fetchone()
    assert SECRET not in result.output + str(result.exception) + str(capfd.readouterr())
    assert re.fullmatch(r"https://127\.0\.0\.1:9/\*\*\*-[0-9a-f]{12}", stored_url)


@pytest.mark.parametrize(
    "url", ["postgresql//u:SECRETXX@h/d", "nothing://u:SECRETXX@h/d", "postgresql://u:SECRETXX@127.0.0.1:9/d", "u:SECRETXX@h"]
)  # fmt: skip
def test_url_of_a_feed_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", f"sqlite:///{tmp_path}/a.db")
    poll = ["feed", "poll", "jobs", "--database", url, "--query", "SELECT 1 AS a", "--watermark", "a"]
    result = CliRunner().invoke(app, poll)
    assert result.exception is not None
    assert SECRET not in result.output + str(result.exception)
