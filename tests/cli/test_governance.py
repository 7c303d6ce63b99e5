"""What `governance` does and prints, against a stand-in of OpenMetadata."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_sync import COPY, Shell
from tests.governance.asset_harness import asset, governed, write_asset
from tests.standins.openmetadata import OpenMetadata
from tests.sync.other_writers import Person

PLAN = """\
db t  ({place}/t.yaml)
  ~ store         tags: a
  ~ openmetadata  tags: LineageBridge.a
nowhere *
  ? pending: no dataset matches this pattern yet
plan: 1 of 1 datasets differ, 1 assets pending
"""


@pytest.fixture
def shell(tmp_path: Path, log: None) -> Iterator[Shell]:
    with OpenMetadata() as standin:
        made = Shell(tmp_path, standin, COPY)
        made("sync --once")
        yield made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found = tmp_path / "assets"
    found.mkdir()
    write_asset(found, governed("t", tags=["a"]))
    return found


def tags(shell: Shell) -> list[str]:
    table = Person(shell.standin).ask("GET", "tables/name/warehouse.d.s.t?fields=tags")
    return [one["tagFQN"] for one in table["tags"]]


def test_a_plan_says_each_thing_in_a_line_of_its_own(shell: Shell, place: Path) -> None:
    (place / "waits.yaml").write_text("asset: {name: '*', namespace: nowhere}", encoding="utf-8")
    done = shell(f"governance plan {place}")
    assert (done.exit_code, done.stdout) == (0, PLAN.format(place=place))


def test_a_push_changes_what_differs_and_diff_tells(shell: Shell, place: Path) -> None:
    assert shell(f"governance diff {place}").exit_code == 5
    done = shell(f"governance push {place}")
    assert (done.exit_code, done.stdout) == (
        0, "pushed      db t\ndatasets: 1 pushed; 1 changed in the store, 0 assets pending\n"
    )  # fmt: skip
    assert shell(f"governance diff {place}").exit_code == 0
    assert tags(shell) == ["LineageBridge.a"]


@pytest.mark.parametrize(
    "broken", ["asset: [", None], ids=["a file that cannot be read", "a place that is not there"]
)
def test_nothing_is_taken_back_because_a_file_cannot_be_read(shell: Shell, place: Path, broken: str | None) -> None:
    shell(f"governance push {place}")
    if broken:
        (place / "t.yaml").write_text(broken, encoding="utf-8")
    asked = place if broken else place / "nowhere"
    assert "--prune removes its metadata" in shell(f"governance plan --prune {asked}").stdout
    done = shell(f"governance push --prune {asked}")
    assert done.exit_code == 1
    assert "--prune is ignored until all files are valid" in done.stderr
    assert tags(shell) == ["LineageBridge.a"]
    (place / "t.yaml").unlink()
    assert shell(f"governance push --prune {place}").exit_code == 0
    assert tags(shell) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [({"SERVER__HOST": "http://127.0.0.1:1"}, "does not answer"), ({"AUTH__JWT_TOKEN": "wrong"}, "Invalid token")],
)
def test_what_a_push_could_not_do_is_told_with_the_reason(
    shell: Shell, place: Path, given: dict[str, str], said: str
) -> None:
    done = shell(f"governance push {place}", **given)
    assert (done.exit_code, done.stdout.startswith("pending     db t: ")) == (1, True)
    assert said in done.stdout
    assert shell(f"governance push {place}").stdout.startswith("datasets: 1 pushed;")
    assert tags(shell) == ["LineageBridge.a"]


def test_a_pull_writes_what_was_changed_and_tells_what_it_cannot(shell: Shell, place: Path) -> None:
    write_asset(place, asset("t", description="old", governance={"retention_days": 90}))
    shell(f"governance push {place}")
    Person(shell.standin).patch("table", "warehouse.d.s.t", {"/description": "new", "/retentionPeriod": "P1M"})
    done = shell(f"governance pull --dry-run {place}")
    assert (done.exit_code, "-  description: old\n+  description: new\n" in done.stdout) == (1, True)
    assert done.stdout.endswith("1 files would be changed\n")
    assert "a retention of P1M is not a whole number of days" in done.stderr
    assert shell(f"governance pull {place}").stdout.endswith("1 files changed\n")
    assert "description: new" in (place / "t.yaml").read_text(encoding="utf-8")
    told = json.loads(shell(f"governance diff {place} --output json").stdout)
    assert told["datasets"][0]["store"] == {"description": "new"}
    assert told["datasets"][0]["openmetadata"] == {}
