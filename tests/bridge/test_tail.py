"""Files that are followed: nothing is lost or split, whatever their writers, rotations and restarts do to them."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.intake.gate import Gate
from bridge.intake.handles import Handles
from bridge.intake.ingest import Ingestion, Report
from bridge.intake.tail import Item, Tailer
from bridge.store.writer import Incoming, Position, Rejected
from mappers.errors import StoreFull, TransientError
from tests.factories import run_event
from tests.stores import Store, as_bytes

LIMIT = 20_000
MINUTES = 600.0


def line(run: int) -> bytes:
    return as_bytes(run_event(run=run)) + b"\n"


def lines(*runs: int) -> bytes:
    return b"".join(map(line, runs))


def add(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


class MoodyStore:
    """A writer that takes nothing while it has a mood."""

    embedded = True

    def __init__(self, store: Store) -> None:
        self._writer = store.writer
        self.mood: TransientError | None = None

    def wait_for_lock(self, seconds: float) -> None:
        assert seconds == 0

    def position(self, path: str) -> Position | None:
        if self.mood is not None:
            raise self.mood
        return self._writer.position(path)

    def write(self, group: Sequence[Incoming | Rejected], positions: Sequence[Position]) -> None:
        if self.mood is not None:
            raise self.mood
        self._writer.write(group, positions)


class Following:
    """A tailer on a store, run round by round; time passes when it is told to."""

    def __init__(self, store: Store, *places: Path | str, group: int = 3) -> None:
        self.store = store
        self.places = [str(place) for place in places]
        self.group = group
        self.writer = MoodyStore(store)
        self.now = 0.0
        self.pauses: list[float] = []
        self.on_pause: Callable[[], None] = lambda: None
        self.counted: list[Item] = []
        self.on_item: Callable[[], None] = lambda: None
        self._runner = asyncio.Runner()
        self._start()

    def _start(self) -> None:
        self.gate = Gate(self.writer, max_group=100, max_waiting=1000, probe_seconds=1000)  # type: ignore[arg-type]
        self.tailer = Tailer(
            self.places, self.store.reader, self.gate, max_line=LIMIT, group=self.group,
            counted=self._count, clock=lambda: self.now, pause=self._pause,
        )  # fmt: skip

    def _count(self, item: Item) -> None:
        self.counted.append(item)
        self.on_item()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.on_pause()

    def look(self) -> bool:
        return self._runner.run(self.tailer.round())

    def quiet(self) -> None:
        """Look until there is nothing new, and once more for what one look cannot see."""
        while self.look() or self.look():
            pass

    def once(self) -> None:
        self._runner.run(self.tailer.once())

    def run(self) -> None:
        self._runner.run(self.tailer.run())

    def restart(self) -> None:
        self.stop()
        self._start()

    def stop(self) -> None:
        self._runner.run(self.gate.close())
        self.tailer.close()

    def close(self) -> None:
        self.stop()
        self._runner.close()

    def taken(self) -> dict[int, int]:
        """Give the runs that are in the store, each with how often it was taken."""
        runs = self.store.rows("SELECT r.run_uuid, e.receipts FROM run_event e JOIN ol_run r USING (org_id, run_id)")
        return {int(uuid[-12:], 16): receipts for uuid, receipts in runs}

    def rejected(self) -> list[str]:
        return [reason for (reason,) in self.store.rows("SELECT reason FROM rejected_event ORDER BY reason")]


def once_each(*runs: int) -> dict[int, int]:
    return dict.fromkeys(runs, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.ndjson"


@pytest.fixture
def following(store: Store, path: Path) -> Iterator[Following]:
    made = Following(store, path)
    yield made
    made.close()


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Iterator[Following]:
    made = Following(store, tmp_path)
    yield made
    made.close()


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
    Ingestion(following.store.reader, following.store.writer).file(path)
    add(path, lines(3))
    following.quiet()
    add(path, lines(4))
    assert Ingestion(following.store.reader, following.store.writer).file(path) == Report(
        accepted=1, resumed_at=len(lines(1, 2, 3))
    )
    assert following.taken() == once_each(1, 2, 3, 4)


# -- rotation, truncation, replacement


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
    assert len(folder.tailer._handles._open) <= 200
    folder.now += MINUTES
    folder.quiet()
    assert folder.tailer._handles._open == {}
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
    monkeypatch.setattr(Handles, "of", None)
    assert not folder.look()


def test_files_that_have_no_name_any_more_are_closed_last(store: Store, tmp_path: Path) -> None:
    from bridge.intake.tracked import Tracked

    handles = Handles(LIMIT, most=2)
    files = []
    for number in range(4):
        made = tmp_path / f"{number}"
        made.touch()
        status = made.stat()
        files.append(Tracked(made, str(made), (status.st_dev, status.st_ino)))
        handles.of(files[-1])
        files[0].nameless = True
    assert [handles.opened(file.identity) is not None for file in files] == [True, False, False, True]
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
    assert (said.count("cannot be tailed"), "bad.json" in said, "Permission denied" in said) == (1, True, True)
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
