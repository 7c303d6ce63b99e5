"""Every source, as the contract tries it: how something is put into it, and how it can be made to fail."""

import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Self

import msgspec

from bridge.bootstrap.intake import make_legacy_reader
from bridge.intake.feed import FeedImporter, FeedPoller, FeedQuery
from bridge.intake.feed_rows import FeedInputKind, FeedRowReader
from bridge.intake.file_ingester import EventFileSource, FileIngester
from bridge.intake.marquez_log import MarquezLogSource
from bridge.intake.source import EventSource
from bridge.settings.model import Settings
from bridge.store.database import Database
from bridge.store.writer import Writer
from connectors.http import HttpSession
from connectors.marquez.client import MarquezClient
from connectors.session import ThrottledSession
from tests.factories import at, run_event, run_uuid
from tests.standins.faults import error
from tests.standins.marquez import Marquez as MarquezStandIn
from tests.stores import Store
from tests.sync.crashes import MortalDatabase, Mortality


class Case:
    """A source and a store that takes from it."""

    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store()

    def __enter__(self) -> Self:
        self.store.__enter__()
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()
        self.store.__exit__()

    def connect(self) -> None:
        """Begin anew, as after the death of a process."""
        if hasattr(self, "source"):
            self.source.close()
        self.mortality = Mortality()
        db = MortalDatabase(self.store.db, self.mortality)
        self.source = self.open(db, Writer(db, "default"))

    @abstractmethod
    def open(self, db: Database, writer: Writer) -> EventSource:
        """Open the source."""

    @abstractmethod
    def put(self, numbers: Sequence[int]) -> None:
        """Put complete runs into it, in this order."""

    @abstractmethod
    def put_nonsense(self) -> None:
        """Put something into it that is no event."""

    @abstractmethod
    def go_away(self) -> None:
        """Let it not answer."""

    @abstractmethod
    def come_back(self) -> None:
        """Let it answer again."""

    def runs(self) -> list[int]:
        """List the runs that the store knows as complete."""
        rows = self.store.rows("SELECT run_uuid FROM ol_run WHERE event_type = 'COMPLETE'")
        return sorted(self.number(uuid) for (uuid,) in rows)

    def number(self, uuid: str) -> int:
        return int(uuid[-12:], 16)

    def rejected(self) -> list[str]:
        return [reason for (reason,) in self.store.rows("SELECT reason FROM rejected_event")]


class FileCase(Case):
    """A file of events."""

    name = "file"

    @property
    def _path(self) -> Path:
        return self.folder / "events.ndjson"

    def open(self, db: Database, writer: Writer) -> EventSource:
        self._path.touch()
        return EventFileSource(FileIngester(self.store.reader, writer), self._path)

    def put(self, numbers: Sequence[int]) -> None:
        with self._path.open("ab") as file:
            for number in numbers:
                file.write(msgspec.json.encode(run_event(second=number % 60, run=number)) + b"\n")

    def put_nonsense(self) -> None:
        with self._path.open("ab") as file:
            file.write(b"{}\n")

    def go_away(self) -> None:
        self._path.rename(self.folder / "away")

    def come_back(self) -> None:
        (self.folder / "away").rename(self._path)


class FeedCase(Case):
    """A query over a table of runs."""

    name = "feed"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._place = folder / "runs.db"
        self._moved = folder / "away.db"
        self._run("CREATE TABLE runs (run_id TEXT, name TEXT, status TEXT, start_time TEXT, end_time TEXT)")

    def open(self, db: Database, writer: Writer) -> EventSource:
        rows = FeedRowReader(self.store.reader, make_legacy_reader(Settings(), self.store.reader))
        query = "SELECT * FROM runs WHERE :since IS NULL OR coalesce(end_time, :since) >= :since"
        poll = FeedQuery("runs", f"sqlite:///file:{self._place}?mode=ro&uri=true", query, "end_time")
        return FeedPoller(poll, FeedImporter(rows, writer, FeedInputKind("RUNMGR")), db, "default")

    def put(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._put(run_uuid(number), "SUCCESS", at(number % 60))

    def put_nonsense(self) -> None:
        self._put(run_uuid(999), None, None)

    def go_away(self) -> None:
        self.source.close()
        self._place.rename(self._moved)

    def come_back(self) -> None:
        self._moved.rename(self._place)

    def _put(self, run: str, status: str | None, end: str | None) -> None:
        self._run("INSERT INTO runs VALUES (?, 'job', ?, ?, ?)", run, status, end, end)

    def _run(self, sql: str, *values: object) -> None:
        with closing(sqlite3.connect(self._place)) as db, db:
            db.execute(sql, values)


class MarquezCase(Case):
    """The log of a Marquez."""

    name = "marquez"

    def __enter__(self) -> Self:
        self.standin = MarquezStandIn()
        self.standin.__enter__()
        self._teller = MarquezClient(ThrottledSession(HttpSession(self.standin.url)))
        return super().__enter__()

    def __exit__(self, *failed: object) -> None:
        self._teller.close()
        super().__exit__(*failed)
        self.standin.__exit__(*failed)

    def open(self, db: Database, writer: Writer) -> EventSource:
        client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)), sleep=lambda _: None)
        return MarquezLogSource(
            client, self.store.reader, writer, lambda: 1_800_000_000_000_000, lookback_seconds=1e9
        )

    def put(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._teller.send(run_event(second=number % 60, run=number))

    def put_nonsense(self) -> None:
        self._teller.send({**run_event(run=998), "job": {"namespace": "jobs", "name": "x"}, "run": {"runId": "x"}})

    def go_away(self) -> None:
        self.standin.faults.plan = lambda *_: error(503, "away")

    def come_back(self) -> None:
        self.standin.faults.clear()


SOURCES: tuple[Callable[[Path], Case], ...] = (FileCase, FeedCase, MarquezCase)
