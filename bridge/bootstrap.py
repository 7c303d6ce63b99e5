"""The one place where concrete parts are put together."""

import gc
from collections.abc import Callable, Sequence

from bridge.catalogue.question import Catalogue, StoreCatalogue, View
from bridge.catalogue.remote import ServiceCatalogue
from bridge.intake.gate import Gate
from bridge.intake.legacy import LegacyReader
from bridge.intake.reading import Reader
from bridge.intake.tail import Item, Tailer
from bridge.intake.transfer import Import
from bridge.settings import Settings
from bridge.store.classes import NeverLink
from bridge.store.database import Database
from bridge.store.indexing import Indexer
from bridge.store.location import StoreLocation
from bridge.store.writer import Writer
from connectors.openlineage.http import EventClient
from mappers.folding import FoldingRule
from mappers.legacy.names import LegacyNames
from mappers.openlineage.event import Limits
from mappers.openlineage.statements import Rules


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


def make_legacy_reader(settings: Settings, reader: Reader) -> LegacyReader:
    """Make the reader of legacy bodies that the settings ask for."""
    return LegacyReader(reader, LegacyNames(**settings.legacy.model_dump()))


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


def make_writer(settings: Settings) -> Writer:
    """Open the store for writing, made or brought up to date first."""
    return _writer(settings, _open_writing(settings))


def make_import(settings: Settings) -> Import:
    """Open the store for what another one held, made or brought up to date first."""
    db = _open_writing(settings)
    return Import(make_reader(settings), _writer(settings, db), db, settings.org)


def _open_writing(settings: Settings) -> Database:
    return StoreLocation(settings.store.url).open_writing(settings.store.max_size_mb)


def _writer(settings: Settings, db: Database) -> Writer:
    return Writer(
        db,
        settings.org,
        never_link=[NeverLink(rule.namespace, rule.name) for rule in settings.identity.never_link],
        keep_rejected=settings.intake.keep_rejected,
    )


def make_indexer(settings: Settings) -> Indexer:
    """Open a connection of its own to the store, and make the part that keeps the search index."""
    location = StoreLocation(settings.store.url)
    return Indexer(location.open_beside(settings.store.max_size_mb), settings.org)


def folding_rule(settings: Settings) -> FoldingRule:
    """Give the rule by which the settings fold actions."""
    return FoldingRule(settings.folding.job, settings.folding.step)


def make_view(settings: Settings, db: Database) -> View:
    """Look at a store as the settings say."""
    return View(db, settings.org, folding_rule(settings))


def open_catalogue(settings: Settings) -> Catalogue:
    """Open the store for questions."""
    return StoreCatalogue(make_view(settings, open_store(settings)))


def open_service(url: str, api_key: str | None) -> Catalogue:
    """Ask the service at an address instead."""
    return ServiceCatalogue(EventClient(url, api_key=api_key))


def open_store(settings: Settings) -> Database:
    """Open the store for reading, made or brought up to date first."""
    return StoreLocation(settings.store.url).open_reading()
