"""Event sources under the contract tests: how to add input and simulate failures."""

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
from tests.sync.crashes import CrashingDatabase, CrashInjector


class Case:
    """An event source and a store that imports from it."""

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
        """Reopen the source, as a restarted process does."""
        if hasattr(self, "source"):
            self.source.close()
        self.crash_injector = CrashInjector()
        db = CrashingDatabase(self.store.db, self.crash_injector)
        self.source = self.open(db, Writer(db, "default"))

    @abstractmethod
    def open(self, db: Database, writer: Writer) -> EventSource: ...

    @abstractmethod
    def put(self, numbers: Sequence[int]) -> None:
        """Add complete runs to the source, in this order."""

    @abstractmethod
    def put_invalid_input(self) -> None:
        """Add input that is not an event."""

    @abstractmethod
    def stop_responding(self) -> None: ...

    @abstractmethod
    def respond_again(self) -> None: ...

    def runs(self) -> list[int]:
        """Numbers of the complete runs in the store."""
        rows = self.store.rows("SELECT run_uuid FROM ol_run WHERE event_type = 'COMPLETE'")
        return sorted(self.number(uuid) for (uuid,) in rows)

    def number(self, uuid: str) -> int:
        return int(uuid[-12:], 16)

    def rejected(self) -> list[str]:
        return [reason for (reason,) in self.store.rows("SELECT reason FROM rejected_event")]


class FileCase(Case):
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

    def put_invalid_input(self) -> None:
        with self._path.open("ab") as file:
            file.write(b"{}\n")

    def stop_responding(self) -> None:
        self._path.rename(self.folder / "away")

    def respond_again(self) -> None:
        (self.folder / "away").rename(self._path)


class FeedCase(Case):
    name = "feed"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._path = folder / "runs.db"
        self._moved_path = folder / "away.db"
        self._run("CREATE TABLE runs (run_id TEXT, name TEXT, status TEXT, start_time TEXT, end_time TEXT)")

    def open(self, db: Database, writer: Writer) -> EventSource:
        rows = FeedRowReader(self.store.reader, make_legacy_reader(Settings(), self.store.reader))
        query = "SELECT * FROM runs WHERE :since IS NULL OR coalesce(end_time, :since) >= :since"
        poll = FeedQuery("runs", f"sqlite:///file:{self._path}?mode=ro&uri=true", query, "end_time")
        return FeedPoller(poll, FeedImporter(rows, writer, FeedInputKind("RUNMGR")), db, "default")

    def put(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._put(run_uuid(number), "SUCCESS", at(number % 60))

    def put_invalid_input(self) -> None:
        self._put(run_uuid(999), None, None)

    def stop_responding(self) -> None:
        self.source.close()
        self._path.rename(self._moved_path)

    def respond_again(self) -> None:
        self._moved_path.rename(self._path)

    def _put(self, run: str, status: str | None, end: str | None) -> None:
        self._run("INSERT INTO runs VALUES (?, 'job', ?, ?, ?)", run, status, end, end)

    def _run(self, sql: str, *values: object) -> None:
        with closing(sqlite3.connect(self._path)) as db, db:
            db.execute(sql, values)


class MarquezCase(Case):
    name = "marquez"

    def __enter__(self) -> Self:
        self.standin = MarquezStandIn()
        self.standin.__enter__()
        self._client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)))
        return super().__enter__()

    def __exit__(self, *failed: object) -> None:
        self._client.close()
        super().__exit__(*failed)
        self.standin.__exit__(*failed)

    def open(self, db: Database, writer: Writer) -> EventSource:
        client = MarquezClient(ThrottledSession(HttpSession(self.standin.url)), sleep=lambda _: None)
        return MarquezLogSource(
            client, self.store.reader, writer, lambda: 1_800_000_000_000_000, lookback_seconds=1e9
        )

    def put(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._client.send(run_event(second=number % 60, run=number))

    def put_invalid_input(self) -> None:
        self._client.send({**run_event(run=998), "job": {"namespace": "jobs", "name": "x"}, "run": {"runId": "x"}})

    def stop_responding(self) -> None:
        self.standin.faults.plan = lambda *_: error(503, "away")

    def respond_again(self) -> None:
        self.standin.faults.clear()


SOURCES: tuple[Callable[[Path], Case], ...] = (FileCase, FeedCase, MarquezCase)
