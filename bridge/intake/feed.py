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
from mappers.redaction import redact_command

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine


class FeedImporter:
    """Imports the rows of a table as runs."""

    def __init__(self, row_reader: FeedRowReader, writer: Writer, kind: FeedInputKind) -> None:
        self._row_reader = row_reader
        self._writer = writer
        self._kind = kind

    def import_rows(
        self, rows: Iterable[FeedRow], is_already_rejected: Callable[[RejectedInput], bool] = lambda _: False
    ) -> IntakeReport:
        """Import rows in batches.

        Rows that do not describe a run are stored as rejected inputs, unless `is_already_rejected` returns True.
        """
        inputs = (self._parse_row(row) for row in rows)
        new_inputs = (item for item in inputs if not (isinstance(item, RejectedInput) and is_already_rejected(item)))
        return IntakeReport(*write_bodies(new_inputs, self._writer))

    def _parse_row(self, row: FeedRow) -> list[IncomingEvent] | RejectedInput:
        """Parse a row into events, or reject it with its location."""
        parsed: list[IncomingEvent] | RejectedInput
        if isinstance(row.values, bytes):
            parsed = self._row_reader.reject(row.values, self._kind, InvalidInput(row.problem))
        else:
            normalized_row = normalize_row(row.values, ZoneInfo(self._kind.timezone))
            parsed = self._row_reader.read(
                msgspec.json.encode(normalized_row, enc_hook=str), self._kind, now_micros()
            )
        if isinstance(parsed, RejectedInput):
            return parsed._replace(reason=f"{row.location}: {parsed.reason}")
        return parsed


class FeedQuery(NamedTuple):
    """A polled query and its watermark column."""

    name: str
    url: str
    query: str
    watermark: str


class FeedPoller:
    """Polls a query for rows that are new since the last poll. Rows may be read twice without harm."""

    def __init__(self, query: FeedQuery, feed: FeedImporter, db: Database, org: str) -> None:
        self._query = query
        self._feed = feed
        self._db = db
        self._org = org
        self._watermarks = Watermarks(db, org)
        self._engine: Engine | None = None

    def poll(self) -> IntakeReport:
        """Run the query once.

        Raises Unreachable if the database does not respond, and ConfigError if the query is invalid.
        """
        previous_watermark = self._watermarks.get(self._query.name)
        rows = self._fetch_rows(previous_watermark)
        latest_watermark = self._latest_watermark(rows, previous_watermark)
        # Rows that overlap with the last poll are read again; rejected ones are not stored twice.
        feed_rows = (FeedRow(self._query.name, values) for values in rows)
        report = self._feed.import_rows(feed_rows, lambda item: is_rejected(self._db, self._org, item.payload_hash))
        if latest_watermark is not None:
            self._watermarks.set(self._query.name, latest_watermark)
        return report

    def _fetch_rows(self, watermark: Any) -> list[dict[str, Any]]:
        """Run the query with the watermark as the parameter `since`."""
        import sqlalchemy as sa  # noqa: PLC0415 - only polling needs it

        try:
            engine = self._engine = self._engine or sa.create_engine(self._query.url)
            self._require_sqlite_file(engine.url)
            with engine.connect() as connection:
                result = connection.execute(sa.text(self._query.query), {"since": watermark})
                return [dict(row) for row in result.mappings()]
        except (sa.exc.NoSuchModuleError, ImportError) as error:
            raise ConfigError(f"{self._query.name}: no driver for this URL is installed: {error}") from error
        except (sa.exc.OperationalError, sa.exc.InterfaceError) as error:
            raise Unreachable(f"{self._query.name}: {_first_line(error)}") from error
        except sa.exc.SQLAlchemyError as error:
            raise ConfigError(f"{self._query.name}: {_first_line(error)}") from error

    def _require_sqlite_file(self, url: "URL") -> None:
        """Raise Unreachable if the file does not exist, because SQLite would create an empty database."""
        file = url.database or ""
        if url.get_backend_name() != "sqlite" or file in {"", ":memory:"} or file.startswith("file:"):
            return
        if not Path(file).exists():
            raise Unreachable(f"{self._query.name}: unable to open database file {file}: it does not exist")

    def _latest_watermark(self, rows: list[dict[str, Any]], previous_watermark: Any) -> Any:
        """Return the greatest value of the watermark column.

        Raises ConfigError if the column is missing, or if its values cannot be compared or stored.
        """
        values = [value for value in map(self._watermark_value, rows) if value is not None]
        all_values = values if previous_watermark is None else [previous_watermark, *values]
        try:
            max(all_values, default=None)  # new values must be comparable with the stored watermark, too
        except TypeError as error:
            raise self._watermark_error("has values that cannot be compared", all_values) from error
        latest_watermark = max(values, default=None)
        if latest_watermark is not None and not isinstance(latest_watermark, VALUE_TYPES):
            raise self._watermark_error("has values of an unsupported type", values)
        return latest_watermark

    def _watermark_error(self, problem: str, values: list[Any]) -> ConfigError:
        name, column = self._query.name, self._query.watermark
        type_names = ", ".join(sorted({_type_name(value) for value in values}))
        return ConfigError(
            f"{name}: the watermark {column} {problem}: {type_names}. No row was stored and the position"
            f" is unchanged. Return one type from the query, for example CAST({column} AS TIMESTAMP) AS {column};"
            f" if the type of the column changed, poll under a name other than {name}"
        )

    def _watermark_value(self, row: Mapping[str, Any]) -> Any:
        column = self._query.watermark.lower()
        for name, value in row.items():
            if name.lower() == column:
                return value
        raise ConfigError(
            f"{self._query.name}: the query returns no column {self._query.watermark}; it has {', '.join(row)}"
        )

    def close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()


def _first_line(error: Exception) -> str:
    return redact_command(str(error).splitlines()[0])


def _type_name(value: Any) -> str:
    name = type(value).__name__
    return f"{name} with a time zone" if isinstance(value, datetime) and value.tzinfo else name
