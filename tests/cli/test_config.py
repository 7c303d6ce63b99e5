"""`config show` and `config check`: settings in effect, their origin, and all mistakes."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from bridge.settings.model import Settings
from connectors.errors import ConfigError

SHA = hashlib.sha256(b"a key").hexdigest()
FILE = f"""\
org: blue
store: {{url: "postgresql://me:hunter2@db.example.com/lineage"}}
server:
  host: bridge.example.com
  api_keys:
    - {{name: spark, sha256: {SHA}, scopes: [ingest]}}
log: {{level: error}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bridge.yaml"
    path.write_text(FILE)
    return path


def config(*args: str | Path, **variables: str) -> Result:
    env = {f"LINEAGE_BRIDGE__{name}": value for name, value in variables.items()}
    return CliRunner(env=env).invoke(app, ["config", *map(str, args)], catch_exceptions=False)


def errors_of_config(*args: str | Path, **variables: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        config(*args, **variables)
    return str(error.value).splitlines()


def shown_settings(result: Result) -> dict[str, Any]:
    return dict(json.loads(result.stdout)["settings"])


def test_show_prints_every_setting_without_secrets(file: Path) -> None:
    result = config("show", "-c", file)
    lines = dict(line.split(": ", 1) for line in result.stdout.splitlines())
    assert lines.keys() == set(_names(Settings().model_dump()))
    assert lines["store.url"] == '"postgresql://me:***@db.example.com/lineage"'
    assert lines["server.api_keys"] == '[{"name": "spark", "sha256": "***", "scopes": ["ingest"]}]'
    assert lines["intake.max_group"] == "256"
    for secret in ("hunter2", SHA):
        assert secret not in result.output + config("show", "--origin", "--output", "json", "-c", file).output


def _names(content: dict[str, Any]) -> Iterator[str]:
    for key, value in content.items():
        yield from (f"{key}.{name}" for name in _names(value)) if isinstance(value, dict) else [key]


TARGET = """\
openmetadata:
  enabled: true
  server: {host: "https://om.example/api"}
  auth:
    jwt_token: hunter2
    client_secret: hunter2
  mappings: [{namespace: "postgres://*", service: pg, schema: "{schema}"}]
"""


@pytest.mark.parametrize(
    ("key", "value", "variables", "origin"),
    [
        ("enabled", "true", {}, "FILE:2"),
        ("server.host", '"https://om.example"', {}, "FILE:3"),
        ("server.api_version", '"v1"', {}, "default"),
        ("auth.jwt_token", '"***"', {}, "FILE:5"),
        ("auth.client_secret", '"***"', {}, "FILE:6"),
        ("auth.password", "null", {}, "default"),
        ("mappings", '[{"namespace": "postgres://*", "service": "pg", "database": null, "schema": "{schema}"}]', {}, "FILE:7"),
        ("auth.jwt_token", '"***"', {"AUTH__JWT_TOKEN": "hunter2"}, "LINEAGE_BRIDGE__OPENMETADATA__AUTH__JWT_TOKEN"),
        ("auth.password", '"***"', {"AUTH": '{"password": "hunter2"}'}, "LINEAGE_BRIDGE__OPENMETADATA__AUTH"),
        ("auth.jwt_token", '"***"', {"AUTH": '{"password": "hunter2"}'}, "FILE:5"),
        ("sync.track_lineage", "false", {"SYNC__TRACK_LINEAGE": "false"}, "LINEAGE_BRIDGE__OPENMETADATA__SYNC__TRACK_LINEAGE"),
    ],
)  # fmt: skip
def test_show_prints_nested_settings_with_origin(
    tmp_path: Path, key: str, value: str, variables: dict[str, str], origin: str
) -> None:
    path = tmp_path / "openmetadata.yaml"
    path.write_text(TARGET)
    result = config("show", "--origin", "-c", path, **{f"OPENMETADATA__{name}": of for name, of in variables.items()})
    assert f"openmetadata.{key}: {value}  # {origin.replace('FILE', str(path))}\n" in result.stdout
    assert "hunter2" not in result.output


def test_variable_of_section_is_origin_of_its_settings() -> None:
    env = {"OPENMETADATA": '{"auth": {"type": "basic"}, "rate": 5}'}
    output = json.loads(config("show", "--origin", "--output", "json", **env).stdout)
    assert {key for key, origin in output["origins"].items() if origin == "LINEAGE_BRIDGE__OPENMETADATA"} == {
        "openmetadata.auth.type",
        "openmetadata.rate",
    }
    assert output["settings"]["openmetadata"]["auth"]["type"] == "basic"


def test_json_output_is_valid_configuration_file(file: Path, tmp_path: Path) -> None:
    shown = shown_settings(config("show", "--output", "json", "-c", file))
    assert (shown["org"], shown["log"]) == ("blue", {"format": "console", "level": "error"})
    copy = tmp_path / "copy.yaml"
    copy.write_text(json.dumps(shown | {"server": {}}))
    assert shown_settings(config("show", "--output", "json", "-c", copy)) == shown | {
        "server": Settings().server.model_dump()
    }


@pytest.mark.parametrize(
    ("key", "variables", "origin"),
    [
        ("org", {}, "FILE:1"),
        ("store.url", {}, "FILE:2"),
        ("server.host", {}, "FILE:4"),
        ("server.api_keys", {}, "FILE:5"),
        ("server.port", {}, "default"),
        ("log.level", {}, "SECOND:2"),
        ("log.format", {}, "default"),
        ("server.port", {"SERVER__PORT": "17"}, "LINEAGE_BRIDGE__SERVER__PORT"),
        ("server.host", {"SERVER__HOST": "localhost"}, "LINEAGE_BRIDGE__SERVER__HOST"),
        ("log.level", {"LOG": '{"level": "debug"}'}, "LINEAGE_BRIDGE__LOG"),
        ("log.format", {"LOG": '{"level": "debug"}'}, "default"),
        ("log.level", {"LOG": '{"level": "debug"}', "LOG__LEVEL": "info"}, "LINEAGE_BRIDGE__LOG__LEVEL"),
        ("org", {"ORG": "red"}, "LINEAGE_BRIDGE__ORG"),
    ],
)
def test_show_prints_origin_of_settings(
    file: Path, tmp_path: Path, key: str, variables: dict[str, str], origin: str
) -> None:
    second = tmp_path / "second.yaml"
    second.write_text("log:\n  level: warning\n")
    files = ["-c", file, "-c", second]
    origins = json.loads(config("show", "--origin", "--output", "json", *files, **variables).stdout)["origins"]
    assert origins[key] == origin.replace("FILE", str(file)).replace("SECOND", str(second))
    lines = config("show", "--origin", *files, **variables).stdout.splitlines()
    assert [line.endswith(f"  # {origins[key]}") for line in lines if line.startswith(f"{key}:")] == [True]


def test_origin_of_secret_file_is_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "url"
    secret.write_text("sqlite:////tmp/secret.db\n")
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", "restored after the test")
    result = config("show", "--origin", STORE__URL_FILE=str(secret))
    assert 'store.url: "sqlite:////tmp/secret.db"  # LINEAGE_BRIDGE__STORE__URL_FILE\n' in result.stdout


@pytest.mark.parametrize(
    ("files", "message"),
    [(1, "configuration is valid: {} and the environment"), (0, "configuration is valid: no file")],
)
def test_check_accepts_valid_configuration(file: Path, files: int, message: str) -> None:
    result = config("check", *["-c", file] * files)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(message.format(file))


def test_check_reports_all_mistakes_of_files_and_variables(tmp_path: Path) -> None:
    first, second, torn = (tmp_path / name for name in ("first.yaml", "second.yaml", "torn.yaml"))
    first.write_text(
        "org: ${SURELY_NOT_SET}\nserver:\n  prt: 1\n  host: host.invalid\nintake: {tail: &x [a], tail: [b]}\n"
    )
    second.write_text("store:\n  url: mysql://me:hunter2@x\nlog:\n  level: !own x\nlegacy: {db2_url: 7}\n")
    torn.write_text("org: [\n")
    errors = errors_of_config(
        "check", "-c", first, "-c", second, "-c", torn, "-c", tmp_path / "absent.yaml",
        SERVER__PORT="many", INTAKE__MAX_GRUP="1", IDENTITY="x", ORG__NAME="x", INTAKE__MAX_GROUP_FILE="absent",
    )  # fmt: skip
    assert sorted(line.partition(": ")[0].replace(str(tmp_path), "") for line in errors) == sorted([
        "/first.yaml:1", "/first.yaml:5", "/second.yaml:4", "/torn.yaml is not YAML", "cannot read the configuration /absent.yaml",
        "cannot read the file in LINEAGE_BRIDGE__INTAKE__MAX_GROUP_FILE",
        "LINEAGE_BRIDGE__INTAKE__MAX_GRUP", "LINEAGE_BRIDGE__IDENTITY", "LINEAGE_BRIDGE__ORG__NAME",
        "/first.yaml:3", "/second.yaml:2", "LINEAGE_BRIDGE__SERVER__PORT", "/second.yaml:5",
    ])  # fmt: skip
    assert "hunter2" not in "".join(errors)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("server:\n  host: host.invalid\n  api_keys: ${SURELY_NOT_SET}\n", [":3: the environment variable"]),
        ("server:\n  api_keys:\n  - {name: a, scopes: [read], sha256: '${SURELY_NOT_SET}'}\n", [":3: the environment variable"]),
        ("server:\n  host: host.invalid\n  port: x\n", [":3: server.port", ":2: server.host host.invalid is reachable"]),
    ],
)  # fmt: skip
def test_check_omits_consequential_errors(tmp_path: Path, text: str, expected: list[str]) -> None:
    path = tmp_path / "bridge.yaml"
    path.write_text(text)
    lines = errors_of_config("check", "-c", path)
    assert len(lines) == len(expected)
    for line, message in zip(lines, expected, strict=True):
        assert line.startswith(f"{path}{message}")


def test_check_cites_no_file_for_host_from_environment(file: Path, tmp_path: Path) -> None:
    (error,) = errors_of_config("check", SERVER__HOST="host.invalid")
    assert error.startswith("server.host host.invalid is reachable from other machines, but server.api_keys is empty")


def test_check_does_not_change_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__PRT", "1")
    before = dict(os.environ)
    errors_of_config("check")
    assert dict(os.environ) == before
