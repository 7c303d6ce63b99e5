"""Stores for tests: copies of one migrated template in memory, or a PostgreSQL database; with writer and queries."""

import re
import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Self

import msgspec

from bridge.intake.child_process import ChildProcess
from bridge.intake.event_reader import EventReader
from bridge.intake.large_events import AsyncEventReader
from bridge.intake.legacy import LegacyReader
from bridge.queries.query import A, Query, QueryContext, StoreQueryService
from bridge.settings.model import LogSettings
from bridge.store.canonical_export import export_canonical
from bridge.store.database import Database
from bridge.store.dirty_marks import enable_target
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.lineage.graph import Edge, LineageGraph
from bridge.store.postgres import PostgresDatabase
from bridge.store.schema import upgrade_postgres, upgrade_sqlite
from bridge.store.sqlite import SqliteDatabase
from bridge.store.symlink_graph import LinkRules, NeverLinkRule
from bridge.store.tables import metadata
from bridge.store.writer import Writer
from mappers.legacy.names import LegacyNamespaces
from mappers.logical_job import FoldingRule, Granularity
from mappers.openlineage.event import EventLimits
from mappers.openlineage.row_builder import MappingOptions
from tests.postgres import server

Json = dict[str, Any]

_PLACEHOLDER = re.compile(r"\?(?!\d)")


@cache
def template_connection() -> sqlite3.Connection:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "template.db"
        upgrade_sqlite(path)
        template = sqlite3.connect(":memory:", check_same_thread=False)
        source = sqlite3.connect(path)
        source.backup(template)
        source.close()
    return template


def empty_store() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    template_connection().backup(connection)
    return connection


def as_bytes(event: Json | bytes) -> bytes:
    return event if isinstance(event, bytes) else msgspec.json.encode(event)


@cache
def shared_postgres() -> PostgresDatabase:
    """Open a migrated, empty database on the server of this process."""
    url = server().new_database("shared")
    upgrade_postgres(url, "shared")
    return PostgresDatabase(url, writing=True)


def empty_postgres() -> PostgresDatabase:
    """Empty the shared database."""
    db = shared_postgres()
    with db.transaction():
        for table in metadata.sorted_tables:
            if table.name != "ol_schema_version":
                db.execute(f"DELETE FROM {table.name}")
    return db


class Store:
    """A store with its writer, and helpers to write to it and query it."""

    def __init__(
        self,
        org: str = "default",
        never_link: Sequence[NeverLinkRule] = (),
        max_names: int = 500,
        targets: Iterable[str] = (),
        db: Database | None = None,
    ) -> None:
        self.db: Database = db or SqliteDatabase(empty_store())
        self.org = org
        self.reader = EventReader(MappingOptions(org), EventLimits(), clock=lambda: 0)
        self.writer = Writer(self.db, org, link_rules=LinkRules(tuple(never_link), max_names))
        for target in targets:
            enable_target(self.db, org, target, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.db.embedded:
            self.db.close()

    def read(self, event: Json | bytes, *, historical: bool = False) -> IncomingEvent | RejectedInput:
        return self.reader.read(as_bytes(event), "test", historical=historical)

    def async_reader(self) -> AsyncEventReader:
        """Return a reader for an event loop. Its child process ends when it is idle."""
        return AsyncEventReader(
            ChildProcess(LogSettings()), self.reader, LegacyReader(self.reader, LegacyNamespaces())
        )

    def apply(self, *events: Json | bytes) -> Self:
        """Write all events as one group; each of them must be mapped."""
        items = [self.read(event) for event in events]
        assert all(isinstance(item, IncomingEvent) and item.failure is None for item in items), items
        self.writer.write(items)
        return self

    def apply_each(self, *events: Json | bytes) -> Self:
        """Write each event as a separate group."""
        for event in events:
            self.apply(event)
        return self

    def export(self) -> bytes:
        return b"".join(export_canonical(self.db, self.org))

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        numbers = count(1)
        return self.db.fetch_all(_PLACEHOLDER.sub(lambda _: f"?{next(numbers)}", query), *values)

    def value(self, query: str, *values: Any) -> Any:
        rows = self.rows(query, *values)
        assert len(rows) == 1, rows
        return rows[0][0]

    def ask(self, query: Query[A], rule: FoldingRule = FoldingRule()) -> A:
        return StoreQueryService(QueryContext(self.db, self.org, rule)).run(query)

    def graph(self, granularity: Granularity = "job", rule: FoldingRule = FoldingRule()) -> LineageGraph:
        return LineageGraph(self.db, self.org, granularity, rule)

    def upstream(self, name: str, granularity: Granularity = "job", namespace: str = "db") -> set[tuple[str, ...]]:
        """Return the edges into a dataset as (source, job, step, evidence)."""
        graph = self.graph(granularity)
        group = graph.find_dataset(namespace, name)
        assert group is not None, f"no dataset {namespace} {name}"
        return {_describe(graph, edge) for edge in graph.upstream([group])}


def _describe(graph: LineageGraph, edge: Edge) -> tuple[str, ...]:
    source = graph.dataset_name(edge.source).name if edge.source else "?"
    job = graph.job_name(edge.job).name if edge.job else ""
    return source, job, edge.step, edge.evidence
