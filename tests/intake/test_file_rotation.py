"""Files that are rotated, cut off or replaced while they are followed: each is taken to its end, and none again."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.intake.follower_harness import MINUTES, Following, add, line, lines, once_each


def rename(path: Path) -> None:
    path.rename(f"{path}.1")


def rename_in_place(path: Path) -> None:
    path.rename(path.with_name("events-2026-01-01.ndjson"))


def copy_and_truncate(path: Path) -> None:
    shutil.copy(path, f"{path}.1")
    os.truncate(path, 0)


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "stopped"])
@pytest.mark.parametrize("missed", [b"", lines(3, 4, 5, 6, 7)], ids=["all taken", "rest"])
@pytest.mark.parametrize("rotate", [rename, rename_in_place, copy_and_truncate])
def test_the_rest_of_a_rotated_file_is_taken_and_then_the_new_one(
    following: Following, path: Path, rotate: Callable[[Path], None], missed: bytes, restarted: bool
) -> None:
    add(path, lines(1, 2))
    following.quiet()
    if restarted:
        following.restart()
    add(path, missed)
    rotate(path)
    add(path, lines(8, 9))
    following.quiet()
    runs = [1, 2, *([3, 4, 5, 6, 7] if missed else []), 8, 9]
    assert following.taken() == once_each(*runs)
    following.restart()
    following.quiet()
    assert following.taken() == once_each(*runs)


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "stopped"])
def test_files_that_are_rotated_often_are_not_taken_again(following: Following, path: Path, restarted: bool) -> None:
    for number in range(5):
        for older in range(number - 1, 0, -1):
            Path(f"{path}.{older}").rename(f"{path}.{older + 1}")
        if number:
            path.rename(f"{path}.1")
        add(path, lines(2 * number, 2 * number + 1))
        following.quiet()
        if restarted:
            following.restart()
    assert following.taken() == once_each(*range(10))


def test_files_that_were_rotated_while_nobody_looked_are_all_taken(following: Following, path: Path) -> None:
    add(path, lines(1))
    following.quiet()
    following.stop()
    add(path, lines(2))
    path.rename(f"{path}.2")
    Path(f"{path}.1").write_bytes(lines(3))
    add(path, lines(4))
    following._start()
    following.quiet()
    assert following.taken() == once_each(1, 2, 3, 4)


def test_a_line_that_was_torn_when_its_file_was_rotated_is_taken(following: Following, path: Path) -> None:
    with path.open("ab", buffering=0) as writer:
        writer.write(line(1) + line(2)[:-20])
        following.quiet()
        rename(path)
        add(path, lines(3))
        following.quiet()
        writer.write(line(2)[-20:] + lines(4))
    following.quiet()
    assert (following.taken(), following.rejected()) == (once_each(1, 2, 3, 4), [])


@pytest.mark.parametrize("away", [Path.unlink, lambda path: path.rename(path.with_name("put away"))])
def test_what_is_open_is_read_on_when_it_has_no_name_any_more(
    following: Following, path: Path, away: Callable[[Path], object]
) -> None:
    add(path, lines(1))
    following.quiet()
    with path.open("ab", buffering=0) as writer:
        writer.write(lines(2))
        away(path)
        add(path, lines(3))
        following.quiet()
        writer.write(lines(4))
        following.quiet()
    assert following.taken() == once_each(1, 2, 3, 4)
    following.now += MINUTES
    following.quiet()
    assert len(following.tailer._tracker.files()) == 1
    following.restart()
    following.quiet()
    assert following.taken() == once_each(1, 2, 3, 4)


def test_a_file_that_is_away_for_a_moment_is_not_taken_again(following: Following, path: Path) -> None:
    add(path, lines(1))
    following.quiet()
    away = path.rename(path.with_name("away"))
    add(away, lines(2))
    following.quiet()
    away.rename(path)
    following.quiet()
    following.restart()
    following.quiet()
    assert following.taken() == once_each(1, 2)


@pytest.mark.parametrize("settled", [False, True], ids=["just read", "idle"])
@pytest.mark.parametrize("restarted", [False, True], ids=["running", "stopped"])
@pytest.mark.parametrize("in_place", [False, True], ids=["new file", "in place"])
@pytest.mark.parametrize(
    "again", [[4], [4, 5], [4, 5, 6, 7]], ids=["shorter", "as long", "longer"]
)  # fmt: skip
def test_a_file_that_was_replaced_begins_anew(
    following: Following, path: Path, again: list[int], in_place: bool, restarted: bool, settled: bool
) -> None:
    add(path, lines(1, 2))
    following.look()
    if settled:
        following.now += MINUTES
        following.quiet()
    if restarted:
        following.restart()
    if not in_place:
        path.unlink()
    path.write_bytes(lines(*again))
    if settled or restarted:
        os.utime(path, ns=(0, 1))
    following.quiet()
    assert following.taken() == once_each(1, 2, *again)


def test_a_file_that_was_rotated_while_nobody_looked_is_known_without_a_new_one(
    following: Following, path: Path
) -> None:
    add(path, lines(1))
    following.quiet()
    following.stop()
    add(path, lines(2))
    rename(path)
    following._start()
    following.quiet()
    assert following.taken() == once_each(1, 2)


def test_a_change_that_the_status_does_not_show_is_seen_by_the_next_look(following: Following, path: Path) -> None:
    for runs, tick in (([1, 2], 1), ([3, 4], 1), ([5, 6], 2), ([7, 8], 2)):
        path.write_bytes(lines(*runs))
        os.utime(path, ns=(0, tick))
        following.look()
    assert following.taken() == once_each(*range(1, 9))


def test_what_is_appended_while_a_short_file_is_read_does_not_make_it_another(
    following: Following, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pread, late = os.pread, [lines(3, 4), lines(2)]

    def grow(number: int, size: int, offset: int) -> bytes:
        read = pread(number, size, offset)
        if late and following.taken():
            add(path, late.pop())
        return read

    add(path, lines(1))
    following.quiet()
    monkeypatch.setattr(os, "pread", grow)
    add(path, lines(0))
    following.quiet()
    following.restart()
    following.quiet()
    assert (late, following.taken()) == ([], once_each(0, 1, 2, 3, 4))


def test_a_file_that_is_cut_off_while_it_is_read_begins_anew(following: Following, path: Path) -> None:
    add(path, lines(*range(1, 30)))

    def replace() -> None:
        following.on_item = lambda: None
        path.write_bytes(lines(*range(101, 140)))

    following.on_item = replace
    following.quiet()
    assert set(following.taken()) >= {1, *range(101, 140)}
    assert following.rejected() == []
