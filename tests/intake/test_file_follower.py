"""Files that are followed: nothing is lost or split, whatever their writers, rotations and restarts do to them."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import StoreFull
from bridge.intake.file_ingester import FileIngester
from bridge.intake.open_files import OpenFiles
from bridge.intake.source import IntakeReport
from tests.factories import run_event
from tests.intake.follower_harness import LIMIT, MINUTES, Following, add, line, lines, once_each
from tests.stores import Store, as_bytes

# -- lines


def test_a_file_that_appears_and_grows_is_taken_once(following: Following, path: Path) -> None:
    assert not following.look()
    add(path, lines(1, 2))
    following.quiet()
    add(path, lines(*range(3, 20)))
    following.quiet()
    assert following.taken() == once_each(*range(1, 20))
    assert following.store.rows("SELECT DISTINCT source FROM run_event") == [(f"tail:{path}",)]
    assert len(following.counted) == 19


@pytest.mark.parametrize(
    ("content", "runs", "reasons"),
    [
        (lines(1) + line(2)[:-20], [1], []),
        (lines(1) + line(2)[:-1], [1, 2], []),
        (lines(1).replace(b"\n", b"\r\n") + b"\n \n" + lines(2), [1, 2], []),
        (lines(1) + b"garbage\n" + lines(2), [1, 2], ["not JSON: JSON is malformed: invalid character (byte 0)"]),
        (lines(1) + b"{}\n" + lines(2), [1, 2], ["is missing"]),
        (lines(1) + b"x" * 50_000 + b"\n" + lines(2), [1, 2],
         ["a line of more than 20000 bytes, which is the limit; its beginning is kept"]),
    ],
    ids=["torn", "no last end", "blank and carriage returns", "garbage", "no event", "over-long"],
)  # fmt: skip
def test_lines_are_taken_or_kept_as_rejected(
    following: Following, path: Path, content: bytes, runs: list[int], reasons: list[str]
) -> None:
    add(path, content)
    following.quiet()
    assert following.taken() == once_each(*runs)
    assert following.rejected() == reasons
    following.restart()
    following.quiet()
    assert following.taken() == once_each(*runs)


def test_a_torn_line_is_taken_when_it_is_whole(following: Following, path: Path) -> None:
    whole = as_bytes(run_event(run=2, job="ümläut"))
    middle = whole.index("ü".encode()) + 1
    add(path, line(1) + whole[:middle])
    following.quiet()
    assert following.taken() == once_each(1)
    following.restart()
    following.quiet()
    add(path, whole[middle:] + b"\n" + line(3))
    following.quiet()
    assert (following.taken(), following.rejected()) == (once_each(1, 2, 3), [])


def test_a_line_that_stays_torn_is_told_once_and_taken_when_it_is_whole(following: Following, path: Path) -> None:
    add(path, line(1) + line(2)[:-20])
    following.quiet()
    assert following.rejected() == []
    following.now += MINUTES
    following.quiet()
    following.now += MINUTES
    following.quiet()
    assert following.rejected() == [f"the last line has no end; it is taken when it has one (byte {len(line(1))})"]
    assert following.store.value("SELECT receipts FROM rejected_event") == 1
    add(path, line(2)[-20:])
    following.quiet()
    assert following.taken() == once_each(1, 2)
    add(path, line(3)[:-20])
    following.now += MINUTES
    following.quiet()
    following.now += MINUTES
    following.quiet()
    assert len(following.rejected()) == 2


def test_taking_once_does_not_wait_for_a_store_that_takes_nothing(following: Following, path: Path) -> None:
    path.write_bytes(lines(1, 2))
    following.writer.mood = StoreFull("no room")
    with pytest.raises(StoreFull):
        following.once()
    following.writer.mood = None
    following.once()
    assert following.taken() == once_each(1, 2)


def test_taking_once_ends_and_tells_of_a_torn_line(following: Following, path: Path) -> None:
    add(path, lines(*range(50)) + line(50)[:-20])
    following.once()
    assert following.taken() == once_each(*range(50))
    assert len(following.rejected()) == 1


def test_ingestion_and_tailing_go_on_where_the_other_stopped(following: Following, path: Path) -> None:
    add(path, lines(1, 2))
    FileIngester(following.store.reader, following.store.writer).ingest_file(path)
    add(path, lines(3))
    following.quiet()
    add(path, lines(4))
    assert FileIngester(following.store.reader, following.store.writer).ingest_file(path) == IntakeReport(
        accepted=1, resumed_at=len(lines(1, 2, 3))
    )
    assert following.taken() == once_each(1, 2, 3, 4)


# -- many files


def test_a_folder_is_followed_with_what_appears_in_it(folder: Following, tmp_path: Path) -> None:
    for number in range(300):
        add(tmp_path / f"{number}.json", as_bytes(run_event(run=number)))
    folder.quiet()
    add(tmp_path / "1.json", b"\n" + line(1000))
    (tmp_path / "deep").mkdir()
    add(tmp_path / "deep" / "late.log", line(1001))
    folder.quiet()
    assert folder.taken() == once_each(*range(300), 1000, 1001)
    assert len(folder.tailer._open_files._open) <= 200
    folder.now += MINUTES
    folder.quiet()
    assert folder.tailer._open_files._open == {}
    folder.restart()
    folder.quiet()
    assert folder.taken() == once_each(*range(300), 1000, 1001)


def test_idle_files_cost_a_look_at_their_status(
    folder: Following, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        add(tmp_path / f"{number}.json", as_bytes(run_event(run=number)))
    folder.quiet()
    folder.now += MINUTES
    folder.quiet()
    monkeypatch.setattr(OpenFiles, "open", None)
    assert not folder.look()


def test_files_that_have_no_name_any_more_are_closed_last(store: Store, tmp_path: Path) -> None:
    from bridge.intake.file_tracker import FollowedFile

    handles = OpenFiles(LIMIT, max_open=2)
    files = []
    for number in range(4):
        made = tmp_path / f"{number}"
        made.touch()
        status = made.stat()
        files.append(FollowedFile(made, str(made), (status.st_dev, status.st_ino)))
        handles.open(files[-1])
        files[0].is_deleted = True
    assert [handles.get(file.identity) is not None for file in files] == [True, False, False, True]
    handles.close_all()


def test_one_event_a_file_in_the_way_of_the_python_client(store: Store, tmp_path: Path) -> None:
    following = Following(store, tmp_path / "events")
    for number in range(3):
        add(tmp_path / f"events-20260101-10101{number}.000000.json", line(number))
    following.quiet()
    following.close()
    assert following.taken() == once_each(0, 1, 2)


def test_a_file_under_two_names_is_taken_once(folder: Following, path: Path) -> None:
    add(path, lines(1))
    path.with_name("current.ndjson").symlink_to(path)
    path.with_name("hard.ndjson").hardlink_to(path)
    folder.quiet()
    add(path, lines(2))
    folder.quiet()
    assert folder.taken() == once_each(1, 2)


# -- trouble


def test_a_file_that_cannot_be_read_stops_nobody_and_is_told_once(
    folder: Following, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    add(bad, lines(1))
    add(good, lines(2))
    opened = Path.open

    def refuse(path: Path, *words: object, **more: object) -> object:
        if path == bad:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *words, **more)  # type: ignore[call-overload]

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        folder.quiet()
        folder.quiet()
        assert folder.tailer.problems == {bad: "Permission denied"}
        assert folder.taken() == once_each(2)
    said = capsys.readouterr().out
    assert (said.count("file cannot be followed"), "bad.json" in said, "Permission denied" in said) == (1, True, True)
    folder.quiet()
    assert (folder.tailer.problems, folder.taken()) == ({}, once_each(1, 2))


def test_a_file_that_fails_while_it_is_read_stops_nobody(
    folder: Following, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    for one, run in ((bad, 1), (good, 2)):
        add(one, lines(run))
    folder.quiet()
    for one, run in ((bad, 3), (good, 4)):
        add(one, lines(run))
    inode, pread = bad.stat().st_ino, os.pread

    def fail(number: int, size: int, offset: int) -> bytes:
        if os.fstat(number).st_ino == inode:
            raise OSError(5, "Input/output error")
        return pread(number, size, offset)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", fail)
        folder.quiet()
        assert folder.tailer.problems == {bad: "Input/output error"}
    folder.quiet()
    assert (folder.tailer.problems, folder.taken()) == ({}, once_each(1, 2, 3, 4))


def test_a_packed_file_is_told(folder: Following, path: Path) -> None:
    path.write_bytes(b"\x1f\x8b packed")
    folder.quiet()
    assert folder.tailer.problems == {path: "packed: take it with `lineage-bridge ingest`"}


@pytest.mark.parametrize("seen", [False, True], ids=["new file", "known file"])
def test_a_group_that_the_store_does_not_take_is_tried_until_it_does(
    following: Following, path: Path, seen: bool
) -> None:
    if seen:
        add(path, lines(0))
        following.quiet()
    add(path, lines(*range(1, 9)))
    following.writer.mood = StoreFull("no room")

    def recover() -> None:
        if len(following.pauses) == 3:
            following.writer.mood = None

    following.on_pause = recover
    following.quiet()
    assert len(following.pauses) == 3
    assert following.taken() == once_each(*range(0 if seen else 1, 9))


def test_who_is_told_to_stop_while_the_store_takes_nothing_skips_nothing(following: Following, path: Path) -> None:
    add(path, lines(1))
    following.quiet()
    add(path, lines(2, 3))
    following.writer.mood = StoreFull("no room")
    following.on_pause = following.tailer.stop
    following.run()
    following.writer.mood = None
    following.restart()
    following.quiet()
    assert following.taken() == once_each(1, 2, 3)


def test_stopping_ends_after_the_group_under_way(following: Following, path: Path) -> None:
    add(path, lines(*range(20)))
    following.on_item = following.tailer.stop
    following.run()
    assert following.taken() == once_each(0, 1, 2)
    following.restart()
    following.on_item = lambda: None
    following.on_pause = following.tailer.stop
    following.run()
    assert following.taken() == once_each(*range(20))


# -- anything


class Writing:
    """A writer that appends pieces of lines, and those who rotate its file away under it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("ab", buffering=0)
        self._rest = b""
        self._stale = False
        self._ticks = 0
        self.written: set[int] = set()

    def write(self, size: int) -> None:
        """Write some bytes, beginning new lines as needed; a new file is only begun with a new line."""
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
        """Cut the file off between two lines: a line that is cut in two is lost by whoever cuts it."""
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
        """Let the file system's clock go on, as it does between two looks."""
        self._ticks += 1
        os.utime(self._file.fileno(), ns=(0, self._ticks))


ACTS = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 900)),
    st.tuples(st.just("look"), st.integers(1, 9)),
    st.tuples(st.sampled_from(["rename", "copy", "restart", "settle"]), st.just(0)),
)


@pytest.mark.timeout(300)
@given(acts=st.lists(ACTS, max_size=30), in_folder=st.booleans())
def test_whatever_happens_all_that_was_written_is_taken_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]], in_folder: bool
) -> None:
    path = tmp_path_factory.mktemp("tail") / "events.ndjson"
    with Store() as store:
        following = Following(store, path.parent if in_folder else path, group=2)
        writing = Writing(path)
        for act, size in acts:
            if act == "write":
                writing.write(size)
            elif act == "look":
                stop_after = len(following.counted) + size
                following.on_item = lambda: len(following.counted) < stop_after or following.tailer.stop()  # noqa: B023
                following.look()
                if following.tailer._stopped.is_set():
                    following.restart()
            elif act == "settle":
                following.now += MINUTES
                following.look()
            else:
                {"rename": writing.rename, "copy": writing.copy_and_truncate, "restart": following.restart}[act]()
        writing.finish()
        following.restart()
        following.on_item = lambda: None
        following.quiet()
        assert following.taken().keys() == writing.written
        assert [reason for reason in following.rejected() if "no end" not in reason] == []
        following.close()
