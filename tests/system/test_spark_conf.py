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


def test_the_same_conf_is_printed_in_three_forms(cli: Cli) -> None:
    given = ("spark", "conf", "--transport", "composite", "--catalog", "iceberg", "--namespace", "it's prod")
    defaults = parse_defaults(cli(*given).out)
    words = shlex.split(cli(*given, "--as", "flags").out.replace("\\\n", ""))
    assert dict(word.split("=", 1) for word in words if word != "--conf") == defaults
    assert ast.literal_eval(cli(*given, "--as", "python").out) == defaults
    assert defaults[f"{PREFIX}namespace"] == "it's prod"


def test_it_is_written_for_the_owner_alone_and_never_over_a_file(cli: Cli, tmp_path: Path, key_file: Path) -> None:
    path = tmp_path / "spark-defaults.conf"
    done = cli("spark", "conf", "--api-key-file", key_file, "--write", path)
    assert (done.code, done.out, done.err) == (0, "", f"wrote {path}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert parse_defaults(path.read_text())[f"{PREFIX}transport.auth.apiKey"] == KEY
    again = cli("spark", "conf", "--write", path)
    assert again.code == 2
    assert "already exists: choose another path, or overwrite it with --force" in again.err
    path.chmod(0o644)
    assert cli("spark", "conf", "--write", path, "--force").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert KEY not in path.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--url", "localhost"], "spark.openlineage.transport.url is not a valid URL"),
        (["--parent", "air", "load", "7"], "spark.openlineage.parentRunId is no UUID"),
        (["--namespace", "[x]"], "spark.openlineage.namespace is read as a list"),
        (["--namespace", "x "], "Spark strips the surrounding whitespace of 'x '"),
        (["--spark-version", "3.4"], "Spark 3.4 is not supported with the listener"),
        (["--spark-version", "4.0", "--catalog", "delta"], "delta has no release for Spark 4.0"),
        (["--api-key-file", "no-such-file"], "cannot read the API key in no-such-file"),
        (["--api-key-file", "/dev/null"], "/dev/null contains no API key"),
        (
            ["--transport", "file", "--location", "events.ndjson"],
            "spark.openlineage.transport.location is no absolute path",
        ),
        (["--transport", "composite", "--location", "logs/e.ndjson"], "a_file.location is no absolute path"),
        (["--write", "no/such/folder"], "cannot write no/such/folder: No such file"),
    ],
)
def test_a_choice_that_cannot_work_is_refused(cli: Cli, words: list[str], said: str) -> None:
    done = cli("spark", "conf", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert said in done.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 0, "no problems in the configuration (service and job not tested)"),
        (["--url", "localhost"], 1, "spark.openlineage.transport.url is not a valid URL"),
        (["no.conf"], 2, "cannot read the conf no.conf: No such file"),
        (["no.conf", "--url", "http://h"], 2, "cannot be combined with CONF"),
        (["--spark-version", "3.4"], 2, "Spark 3.4 is not supported"),
    ],
)
def test_a_conf_is_only_looked_at(cli: Cli, words: list[str], code: int, said: str) -> None:
    done = cli("spark", "check", "--no-job", *words)
    assert done.code == code
    assert said in (done.err if code == 2 else done.out)


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["--location", "/x"], "--location"),
        (["--transport", "file", "--url", "http://h"], "--url"),
        (["--transport", "file", "--api-key-file", "key"], "--api-key-file"),
        (["--warehouse", "/w", "--catalog", "delta"], "--warehouse"),
        (["--warehouse", "/w", "--location", "/x"], "--location, --warehouse"),
    ],
)
def test_an_option_that_nothing_uses_is_refused(cli: Cli, words: list[str], unused: str) -> None:
    done = cli("spark", "conf", *words)
    assert (done.code, done.out) == (2, "")
    assert f"{unused} has no effect with this" in " ".join(done.err.replace("│", " ").split())
