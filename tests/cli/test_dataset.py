"""`dataset`: publish, roll back, resolve, pin and invalidate versions."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bridge.cli.main import app
from tests.commands import create_store
from tests.factories import run_uuid
from tests.versions.version_store import version

DatasetCli = Callable[..., Result]
LAKE = "s3://lake"
FAR_FUTURE = "2099-12-31"


@pytest.fixture
def dataset_cli(tmp_path: Path, restore_logging: None) -> DatasetCli:
    """Run commands on a store with two datasets of two versions each, and a live table."""
    events = [
        version(f"sales/{name}", f"v{number}", 10 * offset + number, namespace=LAKE, days=days)
        for offset, (name, days) in enumerate((("daily", ()), ("weekly", ("mon",))))
        for number in (1, 2)
    ]
    live = version("t", "p1", 30, namespace="postgres://db.example.com:5432")
    url = create_store(tmp_path, *events, live)

    def run(args: str) -> Result:
        environment = {"LINEAGE_BRIDGE__STORE__URL": url, "LOGNAME": "ann"}
        return CliRunner(env=environment).invoke(app, ["dataset", *args.split()], catch_exceptions=False)

    return run


def test_publish_and_rollback_print_versions(dataset_cli: DatasetCli) -> None:
    published = dataset_cli(
        "publish s3://lake/sales/daily v1 s3://lake/sales/weekly latest --expect-unpublished --why ready"
    )
    assert (published.exit_code, published.stderr) == (0, "")
    assert published.stdout.splitlines() == [
        "s3://lake sales/daily: v1 is published, was not published",
        "s3://lake sales/weekly: v2 is published, was not published",
        "publication 1",
    ]
    again = dataset_cli(
        "publish s3://lake/sales/daily v2 s3://lake/sales/weekly v2 --expected v1 --expected v2 --by bob"
    )
    assert again.stdout.splitlines() == [
        "s3://lake sales/daily: v2 is published, was v1",
        "s3://lake sales/weekly: v2 is published, unchanged",
        "publication 3",
    ]
    entries = [line.split("  ") for line in dataset_cli("history s3://lake sales/daily").stdout.splitlines()]
    assert [(entry[0], *entry[2:]) for entry in entries] == [
        ("3", "publish", "v1 -> v2", "by bob"),
        ("1", "publish", "- -> v1", "by ann: ready"),
    ]
    rolled_back = dataset_cli("rollback s3://lake/sales/daily --expected v2")
    assert rolled_back.stdout.splitlines() == ["s3://lake sales/daily: v1 is published, was v2", "publication 4"]
    dataset_cli("rollback s3://lake/sales/daily --to v2")
    assert (
        dataset_cli("rollback --publication 5").stdout.splitlines()[0]
        == "s3://lake sales/daily: v1 is published, was v2"
    )


def test_resolve_prints_version(dataset_cli: DatasetCli) -> None:
    dataset_cli("publish s3://lake/sales/daily v1")
    lines = dataset_cli("resolve s3://lake sales/daily").stdout.splitlines()
    assert lines[0] == "s3://lake sales/daily: version v1"
    assert lines[1].startswith("  how: published 20")
    assert lines[1].endswith(" by ann (publication 1)")
    assert lines[2:6] == [
        "  path: s3://lake/sales/daily", f"  run: {run_uuid(1)}", "  produced: 2026-01-01T00:00:01.000000Z", "  rows: 1",
    ]  # fmt: skip
    resolved = json.loads(dataset_cli("resolve s3://lake/sales/daily --pin latest --output json").stdout)
    assert (resolved["tag"], resolved["by"], resolved["rows"]) == ("v2", "latest", 2)
    assert "  how: latest" in dataset_cli("resolve s3://lake/sales/daily --pin as_of:2026-01-01T00:00:01").stdout
    assert "version v2" in dataset_cli("resolve s3://lake/sales/weekly --pin latest --partition day=mon").stdout
    assert "  partitions: day=mon" in dataset_cli("resolve s3://lake/sales/weekly --pin v1").stdout


def test_live_table_is_marked(dataset_cli: DatasetCli) -> None:
    note = "a live table, changed in place: its current content may differ from this version"
    assert note in dataset_cli("publish postgres://db.example.com:5432/t p1").stdout
    assert note in dataset_cli("resolve postgres://db.example.com:5432/t").stdout


def test_versions_show_publication_pins_and_invalidation(dataset_cli: DatasetCli) -> None:
    dataset_cli("publish s3://lake/sales/daily v1")
    dataset_cli(f"pin january s3://lake/sales/daily v1 --until {FAR_FUTURE} --why audit")
    dataset_cli("invalidate s3://lake/sales/daily v2 --reason late")
    second, first = dataset_cli("versions s3://lake sales/daily").stdout.splitlines()
    assert second == "v2  2026-01-01T00:00:02.000000Z by jobs job, 2 rows  (latest; invalid: late)"
    assert first == "v1  2026-01-01T00:00:01.000000Z by jobs job, 1 row  (published; pinned as january)"
    assert (
        dataset_cli("versions s3://lake sales/daily --limit 1").stdout.splitlines()[-1]
        == "… results truncated: raise --limit"
    )
    assert " of day=mon" in dataset_cli("versions s3://lake/sales/weekly").stdout


def test_pins_are_created_listed_and_removed(dataset_cli: DatasetCli) -> None:
    line = f"january  s3://lake sales/daily  version v1  until {FAR_FUTURE}T00:00:00.000000Z  by ann: audit"
    pinned = dataset_cli(
        f"pin january s3://lake/sales/daily v1 s3://lake/sales/weekly v2 --until {FAR_FUTURE} --why audit"
    )
    assert (pinned.exit_code, pinned.stdout.splitlines()[0]) == (0, line)
    assert sorted(dataset_cli("pins").stdout.splitlines()) == sorted(pinned.stdout.splitlines())
    assert dataset_cli("unpin january s3://lake/sales/weekly").exit_code == 0
    assert dataset_cli("pins").stdout.splitlines() == [line]
    dataset_cli("unpin january")
    assert dataset_cli("pins").stdout == ""
    pin = json.loads(dataset_cli("pin week s3://lake/sales/daily v1 --days 7 --output json").stdout)["pins"][0]
    assert pin["until"] > pin["at"]


def test_invalidate_warns_about_published_version(dataset_cli: DatasetCli) -> None:
    dataset_cli("publish s3://lake/sales/weekly v2")
    invalidated = dataset_cli("invalidate s3://lake/sales/weekly v2 --partition day=mon --reason late")
    assert invalidated.stdout.splitlines() == [
        "s3://lake sales/weekly: partition day=mon of version v2 is invalid: late",
        "  it is published, so reads fail from now on: publish another version, or roll back",
    ]
    assert "  invalid partition day=mon: late" in dataset_cli("resolve s3://lake/sales/weekly").stdout
    assert dataset_cli("resolve s3://lake/sales/weekly --partition day=mon").exit_code == 6
    revalidated = dataset_cli("invalidate s3://lake/sales/weekly v2 --partition day=mon --valid")
    assert revalidated.stdout == "s3://lake sales/weekly: partition day=mon of version v2 is valid again\n"


@pytest.mark.parametrize(
    ("args", "code", "message"),
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
def test_errors_have_exit_codes(dataset_cli: DatasetCli, args: str, code: int, message: str) -> None:
    dataset_cli("publish s3://lake/sales/daily v1")
    result = dataset_cli(args)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_accepts_dataset_uuid(dataset_cli: DatasetCli) -> None:
    id_ = json.loads(dataset_cli("resolve s3://lake/sales/daily --pin v1 --output json").stdout)["dataset"]["id"]
    assert dataset_cli(f"publish {id_} v1").exit_code == 0
