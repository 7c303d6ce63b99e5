"""A version whose files vanish between write and publication is not published."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import JobFailed
from bridge.process.executor import PlanExecutor
from bridge.process.manifest import MANIFEST_NAME
from bridge.process.runner import ProcessRunner
from tests.system.process.spark_harness import SparkHarness, process_yaml

pytestmark = [
    pytest.mark.system("java", "spark"),
    pytest.mark.timeout(300),
    # Py4J leaves the sockets of its gateway to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def delete_files(folder: Path) -> None:
    for file in folder.glob("part-*"):
        file.unlink()


def truncate_files(folder: Path) -> None:
    for file in folder.glob("part-*"):
        file.write_bytes(b"")


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "folder deleted": shutil.rmtree,
    "folder moved": lambda folder: folder.rename(folder.with_name("moved")),
    "files deleted": delete_files,
    "files truncated": truncate_files,
    "manifest deleted": lambda folder: (folder / MANIFEST_NAME).unlink(),
}


def new_version(harness: SparkHarness) -> Path:
    [folder] = (harness.lake / "positions").glob("_version=*")
    return folder


def damage_after(monkeypatch: pytest.MonkeyPatch, owner: type, method: str, damage: Callable[[], object]) -> None:
    """Damage files after the first call of a method."""
    original = getattr(owner, method)

    def call_and_damage(*arguments: Any) -> Any:
        result = original(*arguments)
        monkeypatch.setattr(owner, method, original)
        damage()
        return result

    monkeypatch.setattr(owner, method, call_and_damage)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_vanished_version_is_not_published(
    harness: SparkHarness,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], Any],
) -> None:
    runner = harness.runner(harness.plan(process_yaml()))
    damage_after(monkeypatch, PlanExecutor, "commit", lambda: damage(new_version(harness)))
    with pytest.raises(JobFailed, match=r"the folder .*/positions/_version=\S+ is incomplete: .* run again"):
        runner.run()
    assert harness.published("positions") is None
    assert harness.state(runner._plan.run_id) == "FAIL"
    monkeypatch.undo()
    assert harness.run(process_yaml()).ended == "published"


def test_version_that_vanishes_after_the_last_event_is_not_published(
    harness: SparkHarness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = harness.runner(harness.plan(process_yaml()))
    original = ProcessRunner._publish
    monkeypatch.setattr(ProcessRunner, "_publish", lambda self: (shutil.rmtree(new_version(harness)), original(self)))
    with pytest.raises(JobFailed, match="is incomplete: it was deleted"):
        runner.run()
    assert harness.published("positions") is None


def test_existing_version_that_vanished_is_not_published(
    harness: SparkHarness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ProcessRunner, "_publish", lambda self: self._run_result("published", None))
    harness.run(process_yaml())
    monkeypatch.undo()
    shutil.rmtree(new_version(harness))
    with pytest.raises(JobFailed, match="of the existing version was deleted: --rerun creates a new version"):
        harness.run(process_yaml())
    assert harness.published("positions") is None
    assert harness.run(process_yaml(), rerun=True).ended == "published"


@pytest.mark.parametrize("options", [", format: files, options: {format: csv}", ", partition_by: [day]"])
def test_complete_versions_are_published(harness: SparkHarness, options: str) -> None:
    assert harness.run(process_yaml(options)).ended == "published"
    empty = process_yaml(options, sql="SELECT * FROM raw WHERE id < 0")
    assert harness.run(empty, "empty", rerun=True).ended == "published"
