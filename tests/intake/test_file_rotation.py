"""Files that are rotated, truncated or replaced are read completely, and once."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.intake.follower_harness import TEN_MINUTES, FollowerHarness, append, line, lines, received_once


def rename(path: Path) -> None:
    path.rename(f"{path}.1")


def rename_in_place(path: Path) -> None:
    path.rename(path.with_name("events-2026-01-01.ndjson"))


def copy_and_truncate(path: Path) -> None:
    shutil.copy(path, f"{path}.1")
    os.truncate(path, 0)


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "stopped"])
@pytest.mark.parametrize("rest", [b"", lines(3, 4, 5, 6, 7)], ids=["no rest", "rest"])
@pytest.mark.parametrize("rotate", [rename, rename_in_place, copy_and_truncate])
def test_rest_of_rotated_file_is_read_before_new_file(
    follower: FollowerHarness, path: Path, rotate: Callable[[Path], None], rest: bytes, restarted: bool
) -> None:
    append(path, lines(1, 2))
    follower.poll_until_idle()
    if restarted:
        follower.restart()
    append(path, rest)
    rotate(path)
    append(path, lines(8, 9))
    follower.poll_until_idle()
    runs = [1, 2, *([3, 4, 5, 6, 7] if rest else []), 8, 9]
    assert follower.receipts() == received_once(*runs)
    follower.restart()
    follower.poll_until_idle()
    assert follower.receipts() == received_once(*runs)


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "stopped"])
def test_repeatedly_rotated_files_are_read_once(follower: FollowerHarness, path: Path, restarted: bool) -> None:
    for number in range(5):
        for older in range(number - 1, 0, -1):
            Path(f"{path}.{older}").rename(f"{path}.{older + 1}")
        if number:
            path.rename(f"{path}.1")
        append(path, lines(2 * number, 2 * number + 1))
        follower.poll_until_idle()
        if restarted:
            follower.restart()
    assert follower.receipts() == received_once(*range(10))


def test_files_rotated_while_stopped_are_read(follower: FollowerHarness, path: Path) -> None:
    append(path, lines(1))
    follower.poll_until_idle()
    follower.stop()
    append(path, lines(2))
    path.rename(f"{path}.2")
    Path(f"{path}.1").write_bytes(lines(3))
    append(path, lines(4))
    follower._start()
    follower.poll_until_idle()
    assert follower.receipts() == received_once(1, 2, 3, 4)


def test_partial_line_of_rotated_file_is_ingested(follower: FollowerHarness, path: Path) -> None:
    with path.open("ab", buffering=0) as writer:
        writer.write(line(1) + line(2)[:-20])
        follower.poll_until_idle()
        rename(path)
        append(path, lines(3))
        follower.poll_until_idle()
        writer.write(line(2)[-20:] + lines(4))
    follower.poll_until_idle()
    assert (follower.receipts(), follower.rejected()) == (received_once(1, 2, 3, 4), [])


@pytest.mark.parametrize("remove", [Path.unlink, lambda path: path.rename(path.with_name("put away"))])
def test_open_file_is_read_after_removal_of_its_name(
    follower: FollowerHarness, path: Path, remove: Callable[[Path], object]
) -> None:
    append(path, lines(1))
    follower.poll_until_idle()
    with path.open("ab", buffering=0) as writer:
        writer.write(lines(2))
        remove(path)
        append(path, lines(3))
        follower.poll_until_idle()
        writer.write(lines(4))
        follower.poll_until_idle()
    assert follower.receipts() == received_once(1, 2, 3, 4)
    follower.now += TEN_MINUTES
    follower.poll_until_idle()
    assert len(follower.follower._tracker.files()) == 1
    follower.restart()
    follower.poll_until_idle()
    assert follower.receipts() == received_once(1, 2, 3, 4)


def test_temporarily_renamed_file_is_read_once(follower: FollowerHarness, path: Path) -> None:
    append(path, lines(1))
    follower.poll_until_idle()
    away = path.rename(path.with_name("away"))
    append(away, lines(2))
    follower.poll_until_idle()
    away.rename(path)
    follower.poll_until_idle()
    follower.restart()
    follower.poll_until_idle()
    assert follower.receipts() == received_once(1, 2)


@pytest.mark.parametrize("settled", [False, True], ids=["just read", "idle"])
@pytest.mark.parametrize("restarted", [False, True], ids=["running", "stopped"])
@pytest.mark.parametrize("in_place", [False, True], ids=["new file", "in place"])
@pytest.mark.parametrize(
    "replacement", [[4], [4, 5], [4, 5, 6, 7]], ids=["shorter", "as long", "longer"]
)  # fmt: skip
def test_replaced_file_is_read_from_start(
    follower: FollowerHarness, path: Path, replacement: list[int], in_place: bool, restarted: bool, settled: bool
) -> None:
    append(path, lines(1, 2))
    follower.poll()
    if settled:
        follower.now += TEN_MINUTES
        follower.poll_until_idle()
    if restarted:
        follower.restart()
    if not in_place:
        path.unlink()
    path.write_bytes(lines(*replacement))
    if settled or restarted:
        os.utime(path, ns=(0, 1))
    follower.poll_until_idle()
    assert follower.receipts() == received_once(1, 2, *replacement)


def test_file_rotated_while_stopped_is_recognized(follower: FollowerHarness, path: Path) -> None:
    append(path, lines(1))
    follower.poll_until_idle()
    follower.stop()
    append(path, lines(2))
    rename(path)
    follower._start()
    follower.poll_until_idle()
    assert follower.receipts() == received_once(1, 2)


def test_next_poll_finds_change_with_equal_status(follower: FollowerHarness, path: Path) -> None:
    for runs, tick in (([1, 2], 1), ([3, 4], 1), ([5, 6], 2), ([7, 8], 2)):
        path.write_bytes(lines(*runs))
        os.utime(path, ns=(0, tick))
        follower.poll()
    assert follower.receipts() == received_once(*range(1, 9))


def test_append_during_read_of_short_file_keeps_its_identity(
    follower: FollowerHarness, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pread, late = os.pread, [lines(3, 4), lines(2)]

    def grow(number: int, size: int, offset: int) -> bytes:
        content = pread(number, size, offset)
        if late and follower.receipts():
            append(path, late.pop())
        return content

    append(path, lines(1))
    follower.poll_until_idle()
    monkeypatch.setattr(os, "pread", grow)
    append(path, lines(0))
    follower.poll_until_idle()
    follower.restart()
    follower.poll_until_idle()
    assert (late, follower.receipts()) == ([], received_once(0, 1, 2, 3, 4))


def test_file_truncated_during_read_is_read_from_start(follower: FollowerHarness, path: Path) -> None:
    append(path, lines(*range(1, 30)))

    def replace() -> None:
        follower.on_item = lambda: None
        path.write_bytes(lines(*range(101, 140)))

    follower.on_item = replace
    follower.poll_until_idle()
    assert set(follower.receipts()) >= {1, *range(101, 140)}
    assert follower.rejected() == []
