"""The local file system, and the choice of a file system by path."""

import os
from pathlib import Path
from typing import Any

import pytest

from connectors.spark.file_system import FileSystems, LocalFileSystem
from tests.connectors.spark.file_system_cases import CASES, check_case


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
@pytest.mark.parametrize("case", CASES)
def test_local_files(tmp_path: Path, case: str, scheme: str) -> None:
    check_case(LocalFileSystem(), tmp_path, CASES[case], scheme)


def test_files_have_modification_time(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    os.utime(path, ns=(0, 1_234_567_890))
    assert [listed.changed_at for listed in LocalFileSystem().list_files(str(tmp_path))] == [1_234]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a").write_bytes(b"1")
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "day=1").symlink_to(tmp_path / "far", target_is_directory=True)
    assert [listed.path for listed in LocalFileSystem().list_files(f"{tmp_path}/near")] == [
        f"{tmp_path}/near/day=1/a"
    ]


def test_failed_write_keeps_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, path = LocalFileSystem(), f"{tmp_path}/a"
    files.write(path, b"old")

    def broken(_: int) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="no room"):
        files.write(path, b"new")
    assert files.read(path) == b"old"
    assert [listed.path for listed in files.list_files(str(tmp_path))] == [path], "the temporary file is hidden"


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("/lake/a", True), ("file:/lake/a", True), ("file:///lake/a", True), ("a/b", True),
        ("s3a://lake/a", False), ("hdfs://name:8020/a", False), ("abfss://c@a.dfs.core.windows.net/x", False),
    ],
)  # fmt: skip
def test_remote_files_use_spark(path: str, local: bool) -> None:
    def no_spark() -> Any:
        raise AssertionError("Spark was started")

    assert isinstance(FileSystems(no_spark).for_path(path), LocalFileSystem) is local
