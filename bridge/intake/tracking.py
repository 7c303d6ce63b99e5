"""Which file is which: known by its inode while we run, by its beginning after a restart or a change in place."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from bridge.intake.handles import Handles
from bridge.intake.position import fingerprint, is_same_file, stored_name
from bridge.intake.tracked import Tracked
from bridge.store.writer import Position
from connectors.openlineage.files import GZIP_MAGIC
from connectors.openlineage.tail import Batch, Identity
from connectors.openlineage.watch import Listing, Watch

#: After how long without a change a torn line is reported, and a file that has no name any more let go.
_SETTLED_SECONDS = 60.0


class Look(NamedTuple):
    """What a look at the files found: those not seen before, and positions whose content is elsewhere by now."""

    new: list[Tracked]
    strayed: list[Position]
    problems: dict[Path, str]

    def names(self) -> set[str]:
        """Name the positions that must be known to tell where the new files go on."""
        return {file.name for file in self.new} | {name for file in self.new for name in file.former_names()}


class Tracker:
    """Keeps sight of files while they are appended to, renamed, cut off and replaced."""

    def __init__(self, watch: Watch, handles: Handles, clock: Callable[[], float]) -> None:
        self._watch = watch
        self._handles = handles
        self._clock = clock
        self._files: dict[Identity, Tracked] = {}

    def files(self) -> list[Tracked]:
        """Give every file in sight."""
        return list(self._files.values())

    def look(self) -> Look:
        """Look which files there are and which have changed."""
        listing = self._watch.look()
        look = Look([], [], dict(listing.problems))
        present: dict[Identity, list[Path]] = {}
        for path, status in listing.files.items():
            present.setdefault((status.st_dev, status.st_ino), []).append(path)
        for file in self.files():
            if file.identity in present:
                self._see(file, present[file.identity], listing)
            else:
                self._see_nameless(file)
            if file.fresh:
                self._verify(file, look)
        for identity, paths in present.items():
            if identity not in self._files:
                status = listing.files[paths[0]]
                file = Tracked(paths[0], stored_name(paths[0]), identity, status.st_size, status.st_mtime_ns)
                file.changed_at = self._clock()
                look.new.append(file)
        return look

    def settle(self, look: Look, known: Mapping[str, Position]) -> list[Tracked]:
        """Find where the new files go on: each at its own position, else where the same content was left."""
        present = {file.name for file in self.files()} | {file.name for file in look.new}
        strayed = [*look.strayed, *(p for name, p in known.items() if name not in present)]
        own = {file.name: known[file.name] for file in look.new if file.name in known}
        settled, lost = [], []
        for file in look.new:
            try:
                beginning = self._handles.of(file).beginning()
                if beginning.startswith(GZIP_MAGIC):
                    look.problems[file.path] = "packed: take it with `lineage-bridge ingest`"
                    self._handles.close(file.identity)
                    continue
            except OSError as error:
                look.problems[file.path] = error.strerror or str(error)
                continue
            settled.append((file, beginning))
            position = own.get(file.name)
            if position is None or not file.resume(beginning, [position]):
                lost.append((file, beginning))
                strayed += [position] if position is not None else []
        for file, beginning in lost:
            file.unstored = file.resume(beginning, strayed)
        for file, _ in settled:
            self._files[file.identity] = file
        return [file for file, _ in settled]

    def read(self, file: Tracked, count: int) -> Batch | None:
        """Read on in a file; None when there is nothing to go on with now."""
        batch = self._handles.of(file).read(file.end, count)
        if batch is None or fingerprint(batch.beginning, file.end) != file.fingerprint:
            file.fresh = True  # cut off since the look: the next one begins anew
            return None
        file.due = batch.end != file.end
        return batch if file.due else None

    def torn(self, file: Tracked) -> bytes:
        """Give the beginning of a line that waits for its end, once for each line."""
        torn = self._handles.of(file).torn(file.end)
        file.told_torn = True
        return torn

    def is_settled(self, file: Tracked) -> bool:
        """Tell whether a file was not changed for so long that it may stay like this."""
        return not file.due and self._clock() - file.changed_at > _SETTLED_SECONDS

    def let_go(self, files: Iterable[Tracked]) -> None:
        """Close what need not stay open; forget files that have no name any more."""
        for file in files:
            self._handles.close(file.identity)
            if file.nameless:
                self._files.pop(file.identity, None)

    def _see(self, file: Tracked, paths: list[Path], listing: Listing) -> None:
        if file.path not in paths:
            file.path, file.name = paths[0], stored_name(paths[0])
            file.unstored = file.end > 0
        file.unstored |= file.nameless and file.end > 0
        file.nameless = False
        status = listing.files[file.path]
        self._notice(file, status.st_size, status.st_mtime_ns)

    def _see_nameless(self, file: Tracked) -> None:
        file.nameless, file.unstored = True, False
        handle = self._handles.opened(file.identity)
        try:
            status = handle.status() if handle is not None else None
        except OSError:  # gone from a server, too
            status = None
        if status is not None:
            self._notice(file, status.st_size, status.st_mtime_ns)
        else:
            self.let_go([file])
            file.fresh = False

    def _notice(self, file: Tracked, size: int, modified: int) -> None:
        if (size, modified) != (file.size, file.modified):
            file.size, file.modified, file.changed_at = size, modified, self._clock()
            file.due = file.fresh = True

    def _verify(self, file: Tracked, look: Look) -> None:
        """Begin anew when the file does not hold any more what was taken of it.

        Once more at the look after a change: a second change within one tick of the file system's clock
        that leaves the size as it was cannot be seen in the status.
        """
        file.fresh = file.due
        try:
            handle = self._handles.of(file)
            if is_same_file(file.position(), handle.beginning(), handle.status().st_size):
                return
        except OSError:
            file.fresh = True
            return  # whoever reads it meets the same, and tells
        look.strayed.append(file.position())
        file.take(0, b"")
        file.due = True
