"""What `dataset` does and prints: versions, what is published, pinned and not to be read."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from tests.commands import url_of
from tests.factories import run_uuid
from tests.versions.version_store import version

Do = Callable[..., Result]
LAKE = "s3://lake"
FAR = "2099-12-31"


@pytest.fixture
def do(tmp_path: Path, log: None) -> Do:
    """Do commands, one after the other, on a store of two datasets of two versions, and a live table."""
    events = [
        version(f"sales/{name}", f"v{number}", 10 * offset + number, namespace=LAKE, days=days)
        for offset, (name, days) in enumerate((("daily", ()), ("weekly", ("mon",))))
        for number in (1, 2)
    ]
    live = version("t", "p1", 30, namespace="postgres://db.example.com:5432")
    url = url_of(tmp_path, *events, live)

    def done(words: str) -> Result:
        environment = {"LINEAGE_BRIDGE__STORE__URL": url, "LOGNAME": "ann"}
        return CliRunner(env=environment).invoke(app, ["dataset", *words.split()], catch_exceptions=False)

    return done


def test_what_is_published_is_printed(do: Do) -> None:
    made = do("publish s3://lake/sales/daily v1 s3://lake/sales/weekly latest --expect-unpublished --why ready")
    assert (made.exit_code, made.stderr) == (0, "")
    assert made.stdout.splitlines() == [
        "s3://lake sales/daily: v1 is published, was not published",
        "s3://lake sales/weekly: v2 is published, was not published",
        "publication 1",
    ]
    again = do("publish s3://lake/sales/daily v2 s3://lake/sales/weekly v2 --expected v1 --expected v2 --by bob")
    assert again.stdout.splitlines() == [
        "s3://lake sales/daily: v2 is published, was v1",
        "s3://lake sales/weekly: v2 is published, unchanged",
        "publication 3",
    ]
    told = [line.split("  ") for line in do("history s3://lake sales/daily").stdout.splitlines()]
    assert [(one[0], *one[2:]) for one in told] == [
        ("3", "publish", "v1 -> v2", "by bob"),
        ("1", "publish", "- -> v1", "by ann: ready"),
    ]
    back = do("rollback s3://lake/sales/daily --expected v2")
    assert back.stdout.splitlines() == ["s3://lake sales/daily: v1 is published, was v2", "publication 4"]
    do("rollback s3://lake/sales/daily --to v2")
    assert do("rollback --publication 5").stdout.splitlines()[0] == "s3://lake sales/daily: v1 is published, was v2"


def test_a_version_is_resolved(do: Do) -> None:
    do("publish s3://lake/sales/daily v1")
    lines = do("resolve s3://lake sales/daily").stdout.splitlines()
    assert lines[0] == "s3://lake sales/daily: version v1"
    assert lines[1].startswith("  how: published 20")
    assert lines[1].endswith(" by ann (publication 1)")
    assert lines[2:6] == [
        "  path: s3://lake/sales/daily", f"  run: {run_uuid(1)}", "  produced: 2026-01-01T00:00:01.000000Z", "  rows: 1",
    ]  # fmt: skip
    found = json.loads(do("resolve s3://lake/sales/daily --pin latest --output json").stdout)
    assert (found["tag"], found["by"], found["rows"]) == ("v2", "latest", 2)
    assert "  how: latest" in do("resolve s3://lake/sales/daily --pin as_of:2026-01-01T00:00:01").stdout
    assert "version v2" in do("resolve s3://lake/sales/weekly --pin latest --partition day=mon").stdout
    assert "  partitions: day=mon" in do("resolve s3://lake/sales/weekly --pin v1").stdout


def test_a_live_table_is_marked_so(do: Do) -> None:
    note = "a live table, changed in place: its current content may differ from this version"
    assert note in do("publish postgres://db.example.com:5432/t p1").stdout
    assert note in do("resolve postgres://db.example.com:5432/t").stdout


def test_versions_tell_what_was_decided(do: Do) -> None:
    do("publish s3://lake/sales/daily v1")
    do(f"pin january s3://lake/sales/daily v1 --until {FAR} --why audit")
    do("invalidate s3://lake/sales/daily v2 --reason late")
    second, first = do("versions s3://lake sales/daily").stdout.splitlines()
    assert second == "v2  2026-01-01T00:00:02.000000Z by jobs job, 2 rows  (latest; invalid: late)"
    assert first == "v1  2026-01-01T00:00:01.000000Z by jobs job, 1 rows  (published; pinned as january)"
    assert (
        do("versions s3://lake sales/daily --limit 1").stdout.splitlines()[-1] == "… results truncated: raise --limit"
    )
    assert " of day=mon" in do("versions s3://lake/sales/weekly").stdout


def test_pins_are_made_listed_and_removed(do: Do) -> None:
    line = f"january  s3://lake sales/daily  version v1  until {FAR}T00:00:00.000000Z  by ann: audit"
    made = do(f"pin january s3://lake/sales/daily v1 s3://lake/sales/weekly v2 --until {FAR} --why audit")
    assert (made.exit_code, made.stdout.splitlines()[0]) == (0, line)
    assert sorted(do("pins").stdout.splitlines()) == sorted(made.stdout.splitlines())
    assert do("unpin january s3://lake/sales/weekly").exit_code == 0
    assert do("pins").stdout.splitlines() == [line]
    do("unpin january")
    assert do("pins").stdout == ""
    days = json.loads(do("pin week s3://lake/sales/daily v1 --days 7 --output json").stdout)["pins"][0]
    assert days["until"] > days["at"]


def test_what_is_published_and_invalid_is_told(do: Do) -> None:
    do("publish s3://lake/sales/weekly v2")
    marked = do("invalidate s3://lake/sales/weekly v2 --partition day=mon --reason late")
    assert marked.stdout.splitlines() == [
        "s3://lake sales/weekly: partition day=mon of version v2 is invalid: late",
        "  it is published, and reads are denied from now on: publish another version, or roll back",
    ]
    assert "  invalid of day=mon: late" in do("resolve s3://lake/sales/weekly").stdout
    assert do("resolve s3://lake/sales/weekly --partition day=mon").exit_code == 6
    lifted = do("invalidate s3://lake/sales/weekly v2 --partition day=mon --valid")
    assert lifted.stdout == "s3://lake sales/weekly: partition day=mon of version v2 is valid again\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("publish s3://lake/sales/daily v2 --expected v2", 6, "version 'v1' is published, not 'v2'"),
        ("publish s3://lake/sales/daily v2 --expect-unpublished", 6, "'v1' is published, but none was expected"),
        ("publish s3://lake/sales/daily v9", 1, "no version 'v9'"),
        ("publish s3://lake/nothing v1", 1, "no dataset 's3://lake/nothing'"),
        ("publish s3://lake/sales/daily", 2, "missing version for dataset s3://lake/sales/daily"),
        ("publish s3://lake/sales/daily v1 --expected v1 --expected v2", 2, "specify --expected once per dataset"),
        (
            "publish s3://lake/sales/daily v1 --expected v1 --expect-unpublished",
            2,
            "specify --expected once per dataset, or --expect-unpublished",
        ),
        ("rollback s3://lake/sales/daily", 6, "nothing was published before version 'v1'"),
        ("rollback", 2, "specify datasets or --publication, not both"),
        ("rollback s3://lake/sales/daily --publication 1", 2, "specify datasets or --publication, not both"),
        ("rollback --publication 1 --to v1", 2, "specify datasets or --publication, not both"),
        ("rollback --publication 9", 1, "no publication 9"),
        ("rollback s3://lake/sales/daily --expected v1 --expected v2", 2, "specify --expected once per dataset"),
        (
            "pin p s3://lake/sales/daily v1 --until 2099-01-01 --days 2",
            2,
            "--until and --days are mutually exclusive",
        ),
        (f"pin {'p' * 201} s3://lake/sales/daily v1", 2, "length <= 200"),
        ("unpin nothing", 1, "no pin 'nothing'"),
        ("resolve s3://lake/sales/weekly", 1, "no version of the dataset is published"),
        ("resolve s3://lake/nothing", 1, "no dataset"),
        ("invalidate s3://lake/sales/daily v1", 2, "specify either --reason or --valid"),
        ("invalidate s3://lake/sales/daily v1 --valid", 1, "is not marked invalid"),
    ],
)
def test_what_cannot_be_done_ends_with_its_code(do: Do, words: str, code: int, said: str) -> None:
    do("publish s3://lake/sales/daily v1")
    done = do(words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_dataset_is_named_by_its_uuid_too(do: Do) -> None:
    id_ = json.loads(do("resolve s3://lake/sales/daily --pin v1 --output json").stdout)["dataset"]["id"]
    assert do(f"publish {id_} v1").exit_code == 0
