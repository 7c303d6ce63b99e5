"""The one place where concrete parts are put together."""

import gc
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from bridge.intake.gate import Gate
from bridge.intake.reading import Reader
from bridge.intake.tail import Item, Tailer
from bridge.settings import Settings
from bridge.store.checkpointer import Checkpointer
from bridge.store.classes import NeverLink
from bridge.store.schema import prepare
from bridge.store.sqlite import open_reader, open_writer, store_path, transient
from bridge.store.writer import Writer
from mappers.errors import StoreBusy, StoreMismatch
from mappers.openlineage.event import Limits
from mappers.openlineage.statements import Rules

_PAGE_BYTES = 4096


def calm_collector() -> None:
    """Let the garbage collector look less often: events leave no cycles, and it would look at every cache."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def make_reader(settings: Settings) -> Reader:
    """Make the reader of events that the settings ask for."""
    intake = settings.intake
    return Reader(
        Rules(settings.org, frozenset(intake.noise_facets)),
        Limits(intake.max_datasets, intake.max_facets),
    )


def make_tailer(
    settings: Settings, places: Sequence[str], reader: Reader, gate: Gate, counted: Callable[[Item], None]
) -> Tailer:
    """Make the part that follows files."""
    intake = settings.intake
    return Tailer(
        places,
        reader,
        gate,
        max_line=int(intake.max_unpacked_mb * (1 << 20)),
        poll_seconds=intake.tail_poll_seconds,
        counted=counted,
    )


def prepare_store(settings: Settings) -> Path:
    """Make the store or bring it up to date; raises an error that names its file when that cannot be done."""
    path = store_path(settings.store.url)
    try:
        prepare(path)
    except (sqlite3.DatabaseError, OSError) as error:
        reason = f"the store {path} cannot be used: {error}"
        if isinstance(error, sqlite3.OperationalError) and transient(error) is not None:
            raise StoreBusy(reason) from error
        raise StoreMismatch(f"{reason}. Choose another file with store.url") from error
    return path


def make_writer(settings: Settings) -> Writer:
    """Open the store for writing, made or brought up to date first."""
    path = prepare_store(settings)
    limit = settings.store.max_size_mb
    return Writer(
        open_writer(path, max_pages=limit * (1 << 20) // _PAGE_BYTES if limit else None),
        settings.org,
        never_link=[NeverLink(rule.namespace, rule.name) for rule in settings.identity.never_link],
        keep_rejected=settings.intake.keep_rejected,
        checkpointer=Checkpointer(path),
    )


def open_store(settings: Settings) -> sqlite3.Connection:
    """Open the store for reading, made or brought up to date first."""
    return open_reader(prepare_store(settings))
