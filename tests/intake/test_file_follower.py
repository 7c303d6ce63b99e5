"""Followed files: no line is lost or split, despite partial writes, rotations and restarts."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import StoreFull
from bridge.intake.file_ingester import FileIngester
from bridge.intake.open_files import OpenFiles
from bridge.intake.source import IntakeReport
from tests.factories import run_event
from tests.intake.follower_harness import MAX_LINE, TEN_MINUTES, FollowerHarness, append, line, lines, received_once
from tests.stores import Store, as_bytes

# -- lines


def test_new_and_growing_file_is_read_once(follower: FollowerHarness, path: Path) -> None:
    assert not follower.poll()
    append(path, lines(1, 2))
    follower.poll_until_idle()
    append(path, lines(*range(3, 20)))
    follower.poll_until_idle()
    assert follower.receipts() == received_once(*range(1, 20))
    assert follower.store.rows("SELECT DISTINCT source FROM run_event") == [(f"tail:{path}",)]
    assert len(follower.counted) == 19


@pytest.mark.parametrize(
    ("content", "runs", "reasons"),
    [
        (lines(1) + line(2)[:-20], [1], []),
        (lines(1) + line(2)[:-1], [1, 2], []),
        (lines(1).replace(b"\n", b"\r\n") + b"\n \n" + lines(2), [1, 2], []),
        (lines(1) + b"garbage\n" + lines(2), [1, 2], ["not JSON: JSON is malformed: invalid character (byte 0) (line 2)"]),
        (lines(1) + b"{}\n" + lines(2), [1, 2], ["is missing (line 2)"]),
        (lines(1) + b"x" * 50_000 + b"\n" + lines(2), [1, 2],
         ["the line exceeds the limit of 20000 bytes; only its beginning is kept (line 2)"]),
    ],
    ids=["partial line", "no last line end", "blank lines and carriage returns", "garbage", "not an event", "over-long line"],
)  # fmt: skip
def test_lines_are_ingested_or_rejected(
    follower: FollowerHarness, path: Path, content: bytes, runs: list[int], reasons: list[str]
) -> None:
    append(path, content)
    follower.poll_until_idle()
    assert follower.receipts() == received_once(*runs)
    assert follower.rejected() == reasons
    follower.restart()
    follower.poll_until_idle()
    assert follower.receipts() == received_once(*runs)


def copy_and_truncate(path: Path) -> None:
    shutil.copy(path, f"{path}.1")
    os.truncate(path, 0)


@pytest.mark.parametrize(
    ("change", "number"),
    [
        (lambda follower, path: None, 9),
        (lambda follower, path: follower.restart(), 9),
        (lambda follower, path: path.rename(f"{path}.1"), 4),
        (lambda follower, path: copy_and_truncate(path), 4),
    ],
    ids=["running", "restarted", "renamed", "truncated"],
)
def test_rejected_line_has_its_number(
    follower: FollowerHarness, path: Path, change: Callable[[FollowerHarness, Path], None], number: int
) -> None:
    append(path, lines(1) + b"\ngarbage\n" + lines(*range(2, 4)))
    follower.poll_until_idle()
    change(follower, path)
    follower.poll_until_idle()
    append(path, lines(*range(4, 7)) + b"x\n")
    follower.poll_until_idle()
    assert [reason.rpartition(" (line ")[2] for reason in follower.rejected()] == ["3)", f"{number})"]


def test_lines_of_a_large_resumed_file_are_counted(follower: FollowerHarness, path: Path) -> None:
    path.write_bytes(lines(1) + b"\n" * (3 << 20))
    follower.poll_until_idle()
    follower.restart()
    append(path, b"x\n")
    follower.poll_until_idle()
    assert follower.rejected()[0].endswith(f"(line {(3 << 20) + 2})")


def test_partial_line_is_ingested_when_complete(follower: FollowerHarness, path: Path) -> None:
    event = as_bytes(run_event(run=2, job="ümläut"))
    middle = event.index("ü".encode()) + 1
    append(path, line(1) + event[:middle])
    follower.poll_until_idle()
    assert follower.receipts() == received_once(1)
    follower.restart()
    follower.poll_until_idle()
    append(path, event[middle:] + b"\n" + line(3))
    follower.poll_until_idle()
    assert (follower.receipts(), follower.rejected()) == (received_once(1, 2, 3), [])


def test_persistent_partial_line_is_reported_once(follower: FollowerHarness, path: Path) -> None:
    append(path, line(1) + line(2)[:-20])
    follower.poll_until_idle()
    assert follower.rejected() == []
    follower.now += TEN_MINUTES
    follower.poll_until_idle()
    follower.now += TEN_MINUTES
    follower.poll_until_idle()
    assert follower.rejected() == ["the last line is incomplete; it is read once it ends with a line break (line 2)"]
    assert follower.store.value("SELECT receipts FROM rejected_event") == 1
    append(path, line(2)[-20:])
    follower.poll_until_idle()
    assert follower.receipts() == received_once(1, 2)
    append(path, line(3)[:-20])
    follower.now += TEN_MINUTES
    follower.poll_until_idle()
    follower.now += TEN_MINUTES
    follower.poll_until_idle()
    assert len(follower.rejected()) == 2


def test_read_all_does_not_wait_for_full_store(follower: FollowerHarness, path: Path) -> None:
    path.write_bytes(lines(1, 2))
    follower.writer.error = StoreFull("no room")
    with pytest.raises(StoreFull):
        follower.read_all()
    follower.writer.error = None
    follower.read_all()
    assert follower.receipts() == received_once(1, 2)


def test_read_all_reports_partial_line(follower: FollowerHarness, path: Path) -> None:
    append(path, lines(*range(50)) + line(50)[:-20])
    follower.read_all()
    assert follower.receipts() == received_once(*range(50))
    assert len(follower.rejected()) == 1


def test_ingester_and_follower_share_positions(follower: FollowerHarness, path: Path) -> None:
    append(path, lines(1, 2))
    FileIngester(follower.store.reader, follower.store.writer).ingest_file(path)
    append(path, lines(3))
    follower.poll_until_idle()
    append(path, lines(4))
    assert FileIngester(follower.store.reader, follower.store.writer).ingest_file(path) == IntakeReport(
        accepted=1, resumed_at=len(lines(1, 2, 3))
    )
    assert follower.receipts() == received_once(1, 2, 3, 4)


# -- many files


def test_folder_is_followed_with_new_files(folder_follower: FollowerHarness, tmp_path: Path) -> None:
    for number in range(300):
        append(tmp_path / f"{number}.json", as_bytes(run_event(run=number)))
    folder_follower.poll_until_idle()
    append(tmp_path / "1.json", b"\n" + line(1000))
    (tmp_path / "deep").mkdir()
    append(tmp_path / "deep" / "late.log", line(1001))
    folder_follower.poll_until_idle()
    assert folder_follower.receipts() == received_once(*range(300), 1000, 1001)
    assert len(folder_follower.follower._open_files._open) <= 200
    folder_follower.now += TEN_MINUTES
    folder_follower.poll_until_idle()
    assert folder_follower.follower._open_files._open == {}
    folder_follower.restart()
    folder_follower.poll_until_idle()
    assert folder_follower.receipts() == received_once(*range(300), 1000, 1001)


def test_idle_files_are_not_opened(
    folder_follower: FollowerHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        append(tmp_path / f"{number}.json", as_bytes(run_event(run=number)))
    folder_follower.poll_until_idle()
    folder_follower.now += TEN_MINUTES
    folder_follower.poll_until_idle()
    monkeypatch.setattr(OpenFiles, "open", None)
    assert not folder_follower.poll()


def test_deleted_files_stay_open_longest(store: Store, tmp_path: Path) -> None:
    from bridge.intake.file_tracker import FollowedFile

    handles = OpenFiles(MAX_LINE, max_open=2)
    files = []
    for number in range(4):
        path = tmp_path / f"{number}"
        path.touch()
        status = path.stat()
        files.append(FollowedFile(path, str(path), (status.st_dev, status.st_ino)))
        handles.open(files[-1])
        files[0].is_deleted = True
    assert [handles.get(file.identity) is not None for file in files] == [True, False, False, True]
    handles.close_all()


def test_one_event_per_file_as_written_by_python_client(store: Store, tmp_path: Path) -> None:
    follower = FollowerHarness(store, tmp_path / "events")
    for number in range(3):
        append(tmp_path / f"events-20260101-10101{number}.000000.json", line(number))
    follower.poll_until_idle()
    follower.close()
    assert follower.receipts() == received_once(0, 1, 2)


def test_linked_file_is_read_once(folder_follower: FollowerHarness, path: Path) -> None:
    append(path, lines(1))
    path.with_name("current.ndjson").symlink_to(path)
    path.with_name("hard.ndjson").hardlink_to(path)
    folder_follower.poll_until_idle()
    append(path, lines(2))
    folder_follower.poll_until_idle()
    assert folder_follower.receipts() == received_once(1, 2)


# -- failures


def test_unreadable_file_is_reported_once(
    folder_follower: FollowerHarness,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    append(bad, lines(1))
    append(good, lines(2))
    open_ = Path.open

    def refuse(path: Path, *args: object, **kwargs: object) -> object:
        if path == bad:
            raise PermissionError(13, "Permission denied", str(path))
        return open_(path, *args, **kwargs)  # type: ignore[call-overload]

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        folder_follower.poll_until_idle()
        folder_follower.poll_until_idle()
        assert folder_follower.follower.problems == {bad: "Permission denied"}
        assert folder_follower.receipts() == received_once(2)
    output = capsys.readouterr().out
    assert (output.count("file cannot be followed"), "bad.json" in output, "Permission denied" in output) == (
        1,
        True,
        True,
    )
    folder_follower.poll_until_idle()
    assert (folder_follower.follower.problems, folder_follower.receipts()) == ({}, received_once(1, 2))


def test_read_error_does_not_affect_other_files(
    folder_follower: FollowerHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    for file, run in ((bad, 1), (good, 2)):
        append(file, lines(run))
    folder_follower.poll_until_idle()
    for file, run in ((bad, 3), (good, 4)):
        append(file, lines(run))
    inode, pread = bad.stat().st_ino, os.pread

    def fail(number: int, size: int, offset: int) -> bytes:
        if os.fstat(number).st_ino == inode:
            raise OSError(5, "Input/output error")
        return pread(number, size, offset)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", fail)
        folder_follower.poll_until_idle()
        assert folder_follower.follower.problems == {bad: "Input/output error"}
    folder_follower.poll_until_idle()
    assert (folder_follower.follower.problems, folder_follower.receipts()) == ({}, received_once(1, 2, 3, 4))


def test_gzipped_file_is_reported(folder_follower: FollowerHarness, path: Path) -> None:
    path.write_bytes(b"\x1f\x8b packed")
    folder_follower.poll_until_idle()
    assert folder_follower.follower.problems == {path: "compressed file: load it with `lineage-bridge ingest`"}


@pytest.mark.parametrize("known", [False, True], ids=["new file", "known file"])
def test_group_is_retried_until_store_accepts_it(follower: FollowerHarness, path: Path, known: bool) -> None:
    if known:
        append(path, lines(0))
        follower.poll_until_idle()
    append(path, lines(*range(1, 9)))
    follower.writer.error = StoreFull("no room")

    def recover() -> None:
        if len(follower.pauses) == 3:
            follower.writer.error = None

    follower.on_pause = recover
    follower.poll_until_idle()
    assert len(follower.pauses) == 3
    assert follower.receipts() == received_once(*range(0 if known else 1, 9))


def test_stop_while_store_is_full_skips_nothing(follower: FollowerHarness, path: Path) -> None:
    append(path, lines(1))
    follower.poll_until_idle()
    append(path, lines(2, 3))
    follower.writer.error = StoreFull("no room")
    follower.on_pause = follower.follower.stop
    follower.run()
    follower.writer.error = None
    follower.restart()
    follower.poll_until_idle()
    assert follower.receipts() == received_once(1, 2, 3)


def test_stop_ends_after_current_group(follower: FollowerHarness, path: Path) -> None:
    append(path, lines(*range(20)))
    follower.on_item = follower.follower.stop
    follower.run()
    assert follower.receipts() == received_once(0, 1, 2)
    follower.restart()
    follower.on_item = lambda: None
    follower.on_pause = follower.follower.stop
    follower.run()
    assert follower.receipts() == received_once(*range(20))


# -- random actions


class RotatingWriter:
    """Appends pieces of lines to a file, and rotates it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("ab", buffering=0)
        self._rest = b""
        self._stale = False
        self._ticks = 0
        self.written: set[int] = set()

    def write(self, size: int) -> None:
        """Write some bytes; a new file starts with a new line."""
        while size:
            if not self._rest:
                self._reopen()
                run = len(self.written)
                self.written.add(run)
                self._rest = line(run)
            piece, self._rest = self._rest[:size], self._rest[size:]
            self._file.write(piece)
            size -= len(piece)
        self._tick()

    def finish(self) -> None:
        if self._rest:
            self.write(len(self._rest))
        self._file.close()

    def rename(self) -> None:
        if self._stale or not self.path.exists():
            return
        self._shift()
        self.path.rename(f"{self.path}.1")
        self._stale = True

    def copy_and_truncate(self) -> None:
        """Truncate the file, but only between lines; otherwise the truncation itself loses one."""
        if self._stale or self._rest:
            return
        self._shift()
        shutil.copy(self.path, f"{self.path}.1")
        os.truncate(self.path, 0)
        self._tick()

    def _shift(self) -> None:
        for number in range(99, 0, -1):
            older = Path(f"{self.path}.{number}")
            if older.exists():
                older.rename(f"{self.path}.{number + 1}")

    def _reopen(self) -> None:
        if self._stale:
            self._file.close()
            self._file = self.path.open("ab", buffering=0)
            self._stale = False

    def _tick(self) -> None:
        """Advance the modification time, as between two polls."""
        self._ticks += 1
        os.utime(self._file.fileno(), ns=(0, self._ticks))


ACTIONS = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 900)),
    st.tuples(st.just("poll"), st.integers(1, 9)),
    st.tuples(st.sampled_from(["rename", "copy", "restart", "settle"]), st.just(0)),
)


@pytest.mark.timeout(300)
@given(actions=st.lists(ACTIONS, max_size=30), in_folder=st.booleans())
def test_all_written_lines_are_ingested(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, int]], in_folder: bool
) -> None:
    path = tmp_path_factory.mktemp("tail") / "events.ndjson"
    with Store() as store:
        follower = FollowerHarness(store, path.parent if in_folder else path, group=2)
        writer = RotatingWriter(path)
        for action, size in actions:
            if action == "write":
                writer.write(size)
            elif action == "poll":
                stop_after = len(follower.counted) + size
                follower.on_item = lambda: len(follower.counted) < stop_after or follower.follower.stop()  # noqa: B023
                follower.poll()
                if follower.follower._stopped.is_set():
                    follower.restart()
            elif action == "settle":
                follower.now += TEN_MINUTES
                follower.poll()
            else:
                {"rename": writer.rename, "copy": writer.copy_and_truncate, "restart": follower.restart}[action]()
        writer.finish()
        follower.restart()
        follower.on_item = lambda: None
        follower.poll_until_idle()
        assert follower.receipts().keys() == writer.written
        assert [reason for reason in follower.rejected() if "incomplete" not in reason] == []
        follower.close()
