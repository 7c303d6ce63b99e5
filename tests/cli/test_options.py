"""Former option names are accepted, and help shows the new ones."""

import re

import pytest
from typer.testing import CliRunner

from bridge.cli.command_groups import COMMAND_GROUPS
from bridge.cli.main import app

RENAMED = [
    ("ingest", "--again", "--restart"),
    ("lineage", "--most", "--max-edges"),
    ("impact", "--most", "--max-edges"),
    ("process dag", "--most", "--max-dependencies"),
    ("process run", "--anew", "--rerun"),
    ("process submit", "--anew", "--rerun"),
    ("dead list", "--which", "--outcome"),
    ("dataset publish", "--first", "--expect-unpublished"),
    ("spark conf", "--spark", "--spark-version"),
    ("spark check", "--spark", "--spark-version"),
]


@pytest.mark.parametrize(("command", "old", "new"), RENAMED)
def test_help_shows_new_option_names_only(command: str, old: str, new: str) -> None:
    options = re.findall(r"--[\w-]+", CliRunner().invoke(app, [*command.split(), "--help"]).output)
    assert (old in options, new in options) == (False, True)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["lineage", "db", "a", "--most", "0"], "Invalid value for '--max-edges'"),
        (["impact", "db", "a", "--most=0"], "Invalid value for '--max-edges'"),
        (["process", "dag", "--most", "0"], "Invalid value for '--max-dependencies'"),
        (["dead", "list", "--which=lost"], "Invalid value for '--outcome'"),
        (["dataset", "publish", "--first=x"], "'--expect-unpublished' does not take a value"),
        (["process", "run", "--anew=x"], "'--rerun' does not take a value"),
        (["process", "submit", "--anew=x"], "'--rerun' does not take a value"),
        (["ingest", "--again=x"], "'--restart' does not take a value"),
        (["spark", "conf", "--spark"], "'--spark-version' requires an argument"),
        (["spark", "check", "--spark"], "'--spark-version' requires an argument"),
        (["spark", "check", "--", "--spark", "x"], "unexpected extra argument"),
    ],
)
def test_old_option_names_are_aliases(args: list[str], message: str) -> None:
    result = CliRunner().invoke(app, args)
    assert (result.exit_code, message in " ".join(result.output.split())) == (2, True), result.output


def test_help_lists_every_command_in_one_group() -> None:
    listed = [name for names in COMMAND_GROUPS.values() for name in names]
    commands = [info.name or info.callback.__name__ for info in app.registered_commands if info.callback]
    assert sorted(listed) == sorted([*commands, *(group.name for group in app.registered_groups if group.name)])
