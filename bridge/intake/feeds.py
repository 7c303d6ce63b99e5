"""Tables of runs into the store: files of rows, and queries that are asked again for what is new."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from bridge.intake.legacy import Delivery, LegacyReader
from bridge.intake.reading import now_micros
from bridge.intake.taking import take_bodies
from bridge.store.watermarks import Watermarks
from bridge.store.writer import Incoming, Rejected, Writer
from connectors.autosys.files import read_text
from mappers.errors import ConfigError, RefusedEvent, Unreachable
from mappers.legacy.contracts import Contract
from mappers.legacy.feed import body_of_row

if TYPE_CHECKING:
    from sqlalchemy import Engine


class Taken(NamedTuple):
    """What became of rows: how many were taken, and how many are kept as refused, with the reasons."""

    rows: int = 0
    rejected: int = 0

    def plus(self, other: "Taken") -> "Taken":
        """Add two up."""
        return Taken(self.rows + other.rows, self.rejected + other.rejected)


class Feed:
    """Takes rows through the door of legacy jobs."""

    def __init__(self, legacy: LegacyReader, writer: Writer, technology: str, zone: tzinfo) -> None:
        self._legacy = legacy
        self._writer = writer
        self._technology = technology
        self._zone = zone

    def take(self, rows: Iterable[Mapping[str, Any]], *, historical: bool = False) -> Taken:
        """Take rows, group by group; one that is no run is kept with the reason."""
        delivery = Delivery(Contract.RUN_EVENT, historical)
        return Taken(*take_bodies((self._read(row, delivery) for row in rows), self._writer))

    def _read(self, row: Mapping[str, Any], delivery: Delivery) -> list[Incoming] | Rejected:
        try:
            body = body_of_row(row, self._technology, self._zone)
        except RefusedEvent as error:
            return self._legacy.refuse(
                msgspec.json.encode({str(key): one for key, one in row.items()}, enc_hook=str), delivery, error
            )
        return self._legacy.read(msgspec.json.encode(body, enc_hook=str), delivery, now_micros())


def rows_of(file: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a file: CSV with a header, a JSON array of objects, or an object a line."""
    text = read_text(file).text.lstrip("\ufeff")
    try:
        if text.lstrip().startswith("["):
            yield from msgspec.json.decode(text, type=list[dict[str, Any]])
        elif text.lstrip().startswith("{"):
            for line in filter(str.strip, text.splitlines()):
                yield msgspec.json.decode(line, type=dict[str, Any])
        else:
            yield from csv.DictReader(io.StringIO(text))
    except (msgspec.DecodeError, csv.Error) as error:
        raise ConfigError(f"{file}: {error}") from error


class Poll(NamedTuple):
    """A query that is asked again: its name, and the column that says what is new."""

    name: str
    url: str
    query: str
    watermark: str


class Poller:
    """Asks a query for what is new since it was last asked; what is asked twice does no harm."""

    def __init__(self, poll: Poll, feed: Feed, watermarks: Watermarks) -> None:
        self._poll = poll
        self._feed = feed
        self._watermarks = watermarks
        self._engine: Engine | None = None

    def once(self) -> Taken:
        """Ask once; raises Unreachable when the database does not answer, ConfigError when the query is none."""
        import sqlalchemy as sa  # noqa: PLC0415 - only who polls needs it

        since = self._watermarks.get(self._poll.name)
        try:
            engine = self._engine = self._engine or sa.create_engine(self._poll.url)
            with engine.connect() as connected:
                answer = connected.execute(sa.text(self._poll.query), {"since": since})
                found = [dict(row) for row in answer.mappings()]
        except (sa.exc.NoSuchModuleError, ImportError) as error:
            raise ConfigError(f"{self._poll.name}: no driver for this address is installed: {error}") from error
        except (sa.exc.OperationalError, sa.exc.InterfaceError) as error:
            raise Unreachable(f"{self._poll.name}: {_first_line(error)}") from error
        except sa.exc.SQLAlchemyError as error:
            raise ConfigError(f"{self._poll.name}: {_first_line(error)}") from error
        marks = [self._mark(row) for row in found]
        taken = self._feed.take(found)
        newest = max((mark for mark in marks if mark is not None), default=None)
        if newest is not None:
            self._watermarks.put(self._poll.name, newest)
        return taken

    def _mark(self, row: Mapping[str, Any]) -> Any:
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
