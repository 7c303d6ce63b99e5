"""`lineage-bridge spark conf` as a command."""

import ast
import shlex
import stat
from pathlib import Path

import pytest

from connectors.spark.conf import PREFIX
from connectors.spark.conf_format import parse_defaults
from tests.system.test_cli import Cli

pytestmark = pytest.mark.system

KEY = "s3cret-key"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    return path


def test_conf_is_printed_in_three_formats(cli: Cli) -> None:
    arguments = ("spark", "conf", "--transport", "composite", "--catalog", "iceberg", "--namespace", "it's prod")
    defaults = parse_defaults(cli(*arguments).out)
    flags = shlex.split(cli(*arguments, "--as", "flags").out.replace("\\\n", ""))
    assert dict(flag.split("=", 1) for flag in flags if flag != "--conf") == defaults
    assert ast.literal_eval(cli(*arguments, "--as", "python").out) == defaults
    assert defaults[f"{PREFIX}namespace"] == "it's prod"


def test_write_creates_private_file_and_overwrites_only_with_force(cli: Cli, tmp_path: Path, key_file: Path) -> None:
    path = tmp_path / "spark-defaults.conf"
    result = cli("spark", "conf", "--api-key-file", key_file, "--write", path)
    assert (result.code, result.out, result.err) == (0, "", f"wrote {path}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert parse_defaults(path.read_text())[f"{PREFIX}transport.auth.apiKey"] == KEY
    repeated = cli("spark", "conf", "--write", path)
    assert repeated.code == 2
    assert "already exists: choose another path, or overwrite it with --force" in repeated.err
    path.chmod(0o644)
    assert cli("spark", "conf", "--write", path, "--force").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert KEY not in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--url", "localhost"], "spark.openlineage.transport.url is not a valid URL"),
        (["--parent", "air", "load", "7"], "spark.openlineage.parentRunId is not a UUID"),
        (["--namespace", "[x]"], "spark.openlineage.namespace is parsed as a list"),
        (["--namespace", "x "], "Spark strips the surrounding whitespace of 'x '"),
        (["--spark-version", "3.4"], "Spark 3.4 is not supported with the listener"),
        (["--spark-version", "4.0", "--catalog", "delta"], "delta has no release for Spark 4.0"),
        (["--api-key-file", "no-such-file"], "cannot read the API key in no-such-file"),
        (["--api-key-file", "/dev/null"], "/dev/null contains no API key"),
        (
            ["--transport", "file", "--location", "events.ndjson"],
            "spark.openlineage.transport.location is not an absolute path",
        ),
        (["--transport", "composite", "--location", "logs/e.ndjson"], "a_file.location is not an absolute path"),
        (["--write", "no/such/folder"], "cannot write no/such/folder: No such file"),
    ],
)
def test_invalid_options_are_rejected(cli: Cli, arguments: list[str], message: str) -> None:
    result = cli("spark", "conf", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert message in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 0, "no problems in the configuration (service and job not tested)"),
        (["--url", "localhost"], 1, "spark.openlineage.transport.url is not a valid URL"),
        (["no.conf"], 2, "cannot read the conf no.conf: No such file"),
        (["no.conf", "--url", "http://h"], 2, "cannot be combined with CONF"),
        (["--spark-version", "3.4"], 2, "Spark 3.4 is not supported"),
    ],
)
def test_check_without_job(cli: Cli, arguments: list[str], code: int, message: str) -> None:
    result = cli("spark", "check", "--no-job", *arguments)
    assert result.code == code
    assert message in (result.err if code == 2 else result.out)


@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["--location", "/x"], "--location"),
        (["--transport", "file", "--url", "http://h"], "--url"),
        (["--transport", "file", "--api-key-file", "key"], "--api-key-file"),
        (["--warehouse", "/w", "--catalog", "delta"], "--warehouse"),
        (["--warehouse", "/w", "--location", "/x"], "--location, --warehouse"),
    ],
)
def test_unused_option_is_rejected(cli: Cli, arguments: list[str], unused: str) -> None:
    result = cli("spark", "conf", *arguments)
    assert (result.code, result.out) == (2, "")
    assert f"{unused} has no effect with this" in " ".join(result.err.replace("│", " ").split())
