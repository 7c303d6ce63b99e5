"""Imports runs from tables: files of rows, and polled queries."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from bridge.clock import now_micros
from bridge.intake.batch import write_bodies
from bridge.intake.feed_files import FeedRow
from bridge.intake.feed_rows import FeedInputKind, FeedRowReader
from bridge.intake.source import IntakeReport
from bridge.store.database import Database
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.failed_inputs import is_rejected
from bridge.store.watermarks import VALUE_TYPES, Watermarks
from bridge.store.writer import Writer
from connectors.errors import ConfigError, Unreachable
from mappers.errors import InvalidInput
from mappers.legacy.feed import normalize_row

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine


class FeedImporter:
    """Takes the rows of a table through the door of legacy jobs."""

    def __init__(self, rows: FeedRowReader, writer: Writer, delivery: FeedInputKind) -> None:
        self._rows = rows
        self._writer = writer
        self._delivery = delivery

    def import_rows(
        self, rows: Iterable[FeedRow], is_known: Callable[[RejectedInput], bool] = lambda _: False
    ) -> IntakeReport:
        """Take rows, group by group; one that is no run is kept with the reason, unless it is known as such."""
        found = (self._read(row) for row in rows)
        news = (one for one in found if not (isinstance(one, RejectedInput) and is_known(one)))
        return IntakeReport(*write_bodies(news, self._writer))

    def _read(self, row: FeedRow) -> list[IncomingEvent] | RejectedInput:
        if isinstance(row.values, bytes):
            found: list[IncomingEvent] | RejectedInput = self._rows.reject(
                row.values, self._delivery, InvalidInput(row.problem)
            )
        else:
            plain = normalize_row(row.values, ZoneInfo(self._delivery.timezone))
            found = self._rows.read(msgspec.json.encode(plain, enc_hook=str), self._delivery, now_micros())
        return found._replace(reason=f"{row.place}: {found.reason}") if isinstance(found, RejectedInput) else found


class FeedQuery(NamedTuple):
    """A query that is asked again: its name, and the column that says what is new."""

    name: str
    url: str
    query: str
    watermark: str


class FeedPoller:
    """Asks a query for what is new since it was last asked; what is asked twice does no harm."""

    def __init__(self, poll: FeedQuery, feed: FeedImporter, db: Database, org: str) -> None:
        self._poll = poll
        self._feed = feed
        self._db = db
        self._org = org
        self._watermarks = Watermarks(db, org)
        self._engine: Engine | None = None

    def poll(self) -> IntakeReport:
        """Ask once; raises Unreachable when the database does not answer, ConfigError when the query is none."""
        since = self._watermarks.get(self._poll.name)
        found = self._ask(since)
        newest = self._latest_watermark(found, since)
        # What overlaps comes again: a row that is listed as refused is the same row, as often as it is read.
        rows = (FeedRow(self._poll.name, values) for values in found)
        taken = self._feed.import_rows(rows, lambda one: is_rejected(self._db, self._org, one.payload_hash))
        if newest is not None:
            self._watermarks.set(self._poll.name, newest)
        return taken

    def _ask(self, since: Any) -> list[dict[str, Any]]:
        import sqlalchemy as sa  # noqa: PLC0415 - only who polls needs it

        try:
            engine = self._engine = self._engine or sa.create_engine(self._poll.url)
            self._require_sqlite_file(engine.url)
            with engine.connect() as connected:
                answer = connected.execute(sa.text(self._poll.query), {"since": since})
                return [dict(row) for row in answer.mappings()]
        except (sa.exc.NoSuchModuleError, ImportError) as error:
            raise ConfigError(f"{self._poll.name}: no driver for this address is installed: {error}") from error
        except (sa.exc.OperationalError, sa.exc.InterfaceError) as error:
            raise Unreachable(f"{self._poll.name}: {_first_line(error)}") from error
        except sa.exc.SQLAlchemyError as error:
            raise ConfigError(f"{self._poll.name}: {_first_line(error)}") from error

    def _require_sqlite_file(self, url: "URL") -> None:
        """Raise Unreachable where a file is named that is not there: SQLite would make an empty database of it."""
        file = url.database or ""
        if url.get_backend_name() != "sqlite" or file in {"", ":memory:"} or file.startswith("file:"):
            return
        if not Path(file).exists():
            raise Unreachable(f"{self._poll.name}: unable to open database file {file}: it is not there")

    def _latest_watermark(self, found: list[dict[str, Any]], since: Any) -> Any:
        """Give the greatest value of the watermark; raises ConfigError where there is none, or it cannot be kept."""
        marks = [mark for mark in map(self._watermark_value, found) if mark is not None]
        every = marks if since is None else [since, *marks]
        try:
            max(every, default=None)
        except TypeError as error:
            raise self._unusable("has values that cannot be compared", every) from error
        newest = max(marks, default=None)
        if newest is not None and not isinstance(newest, VALUE_TYPES):
            raise self._unusable("has values that cannot be kept", marks)
        return newest

    def _unusable(self, why: str, marks: list[Any]) -> ConfigError:
        name, column = self._poll.name, self._poll.watermark
        kinds = ", ".join(sorted({_type_name(one) for one in marks}))
        return ConfigError(
            f"{name}: the watermark {column} {why}: {kinds}. Nothing was taken, and it is asked from where it was."
            f" Let the query give one type, such as CAST({column} AS TIMESTAMP) AS {column};"
            f" where the column has another type than it had, poll under another name than {name}"
        )

    def _watermark_value(self, row: Mapping[str, Any]) -> Any:
        wanted = self._poll.watermark.lower()
        for name, value in row.items():
            if name.lower() == wanted:
                return value
        raise ConfigError(f"{self._poll.name}: the query gives no column {self._poll.watermark}: {', '.join(row)}")

    def close(self) -> None:
        """Close the connections."""
        if self._engine is not None:
            self._engine.dispose()


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _type_name(mark: Any) -> str:
    name = type(mark).__name__
    return f"{name} with a time zone" if isinstance(mark, datetime) and mark.tzinfo else name
