"""The files of this machine, and who is asked for which."""

import os
from pathlib import Path
from typing import Any

import pytest

from connectors.spark.file_system import FileSystems, LocalFileSystem
from tests.connectors.spark.file_system_cases import CASES, prove


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
@pytest.mark.parametrize("case", CASES)
def test_files_of_this_machine(tmp_path: Path, case: str, scheme: str) -> None:
    prove(LocalFileSystem(), tmp_path, CASES[case], scheme)


def test_a_file_is_told_with_the_time_of_its_change(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"1")
    os.utime(file, ns=(0, 1_234_567_890))
    assert [one.changed for one in LocalFileSystem().files(str(tmp_path))] == [1_234]


def test_links_are_followed_as_spark_follows_them(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a").write_bytes(b"1")
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "day=1").symlink_to(tmp_path / "far", target_is_directory=True)
    assert [one.path for one in LocalFileSystem().files(f"{tmp_path}/near")] == [f"{tmp_path}/near/day=1/a"]


def test_a_write_that_breaks_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, path = LocalFileSystem(), f"{tmp_path}/a"
    files.write(path, b"old")

    def broken(_: int) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="no room"):
        files.write(path, b"new")
    assert files.read(path) == b"old"
    assert [one.path for one in files.files(str(tmp_path))] == [path], "what was begun is hidden"


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("/lake/a", True), ("file:/lake/a", True), ("file:///lake/a", True), ("a/b", True),
        ("s3a://lake/a", False), ("hdfs://name:8020/a", False), ("abfss://c@a.dfs.core.windows.net/x", False),
    ],
)  # fmt: skip
def test_spark_is_asked_for_files_that_are_elsewhere(path: str, local: bool) -> None:
    def no_spark() -> Any:
        raise AssertionError("Spark was asked for")

    assert isinstance(FileSystems(no_spark).for_path(path), LocalFileSystem) is local
