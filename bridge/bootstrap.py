"""The one place where concrete parts are put together."""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from pydantic import SecretStr

from bridge.catalogue.question import Catalogue, StoreCatalogue, View
from bridge.catalogue.remote import ServiceCatalogue
from bridge.governance.adopting import Adopting
from bridge.governance.applying import Stewardship
from bridge.governance.contracts import Contracts
from bridge.governance.steward import Server, Steward
from bridge.governance.watching import Watching
from bridge.intake.gate import Gate
from bridge.intake.legacy import LegacyReader
from bridge.intake.reading import Reader
from bridge.intake.rows import RowReader
from bridge.intake.tail import Item, Tailer
from bridge.intake.transfer import Import
from bridge.openmetadata_settings import OpenMetadataSettings, TargetAuth, TargetGovernance
from bridge.orders.order import Desk
from bridge.process.link import Link, ServiceLink, StoreLink
from bridge.registry.registry import Registry
from bridge.settings import Settings
from bridge.store.classes import NeverLink
from bridge.store.database import Database
from bridge.store.indexing import Indexer
from bridge.store.location import StoreLocation
from bridge.store.marks import disable_target, is_enabled
from bridge.store.writer import Writer
from bridge.sync.calls import Calls
from bridge.sync.items import Items
from bridge.sync.openmetadata.events import Events
from bridge.sync.openmetadata.rules import Rules as SyncRules
from bridge.sync.openmetadata.target import OpenMetadataTarget
from bridge.sync.queue import Queue
from bridge.sync.reconciler import Reconciler
from bridge.sync.worker import Heartbeat, Worker
from connectors.http import HttpSession, Timeouts
from connectors.openlineage.http import EventClient
from connectors.openmetadata import models
from connectors.openmetadata.client import OpenMetadata
from connectors.openmetadata.pace import Pace
from connectors.openmetadata.token import FixedToken, Token, client_token, file_token, login_token
from mappers.errors import ConfigError
from mappers.folding import FoldingRule
from mappers.legacy.names import LegacyNames
from mappers.openlineage.event import Limits
from mappers.openlineage.statements import Rules
from mappers.openmetadata.governance import Vocabulary
from mappers.openmetadata.places import Layout, Mapping

_TARGET_TIMEOUTS = Timeouts(connect=5.0, read=30.0, write=30.0, pool=30.0)


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


def make_row_reader(settings: Settings) -> RowReader:
    """Make the reader of rows that the settings ask for."""
    reader = make_reader(settings)
    return RowReader(reader, make_legacy_reader(settings, reader))


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


def make_openmetadata(
    settings: OpenMetadataSettings,
    counted: Callable[[str], None] = lambda _: None,
    failed: Callable[[str], None] = lambda _: None,
) -> OpenMetadata:
    """Make the client of the OpenMetadata server that the settings name."""
    host = settings.server.host
    if host is None:
        raise ConfigError("openmetadata.server.host is not set: name the server, such as https://om.example.com")
    return OpenMetadata(
        HttpSession(host, timeouts=_TARGET_TIMEOUTS, connections=settings.concurrency),
        _token(settings.auth, host),
        counted,
        failed,
        attempts=settings.retry_config.max_attempts,
        concurrency=settings.concurrency,
        pace=Pace(settings.rate),
        check=models.check,
    )


def _token(auth: TargetAuth, host: str) -> Token:
    """Prove who one is as the settings say; a login has its own connection: who waits for it has one."""
    gap = auth.gap()
    if gap is not None:
        raise ConfigError(f"openmetadata.auth.{gap.key} {gap.said}")
    if auth.type == "basic":
        login = HttpSession(host, timeouts=_TARGET_TIMEOUTS, connections=1)
        return login_token(login, auth.username or "", _secret(auth.password))
    if auth.type == "oauth":
        tokens = HttpSession(auth.token_url or "", timeouts=_TARGET_TIMEOUTS, connections=1)
        return client_token(tokens, auth.client_id or "", _secret(auth.client_secret), auth.scope)
    return file_token(auth.token_file) if auth.token_file else FixedToken(_secret(auth.jwt_token).strip())


def _secret(value: SecretStr | None) -> str:
    return value.get_secret_value() if value else ""


def make_reconciler(
    settings: Settings,
    counted: Callable[[str], None] = lambda _: None,
    failed: Callable[[str], None] = lambda _: None,
    took: Callable[[float], None] = lambda _: None,
) -> Reconciler:
    """Open a connection of its own to the store, and make the part that keeps OpenMetadata what the store says."""
    return _make_server(settings, counted, failed, took).reconciler


def _make_server(
    settings: Settings, counted: Callable[[str], None], failed: Callable[[str], None], took: Callable[[float], None]
) -> Server:
    name, org = OpenMetadataTarget.name, settings.org
    calls = Calls(org, name, now_micros)
    client = make_openmetadata(settings.openmetadata, _both(calls.counted, counted), _both(calls.failed, failed))
    db = _open_beside(settings)
    items = Items(db, org, name, now_micros)
    target = OpenMetadataTarget(db, org, client, rules_of(settings), items, now_micros)
    beside = _open_beside(settings)
    heartbeat = Heartbeat(beside, Worker(beside, org, name, now_micros, items.worker.id))
    backoff = settings.openmetadata.retry_config.backoff_seconds
    every = settings.openmetadata.sync.seconds
    reconciler = Reconciler(
        db, org, target, items, now_micros,
        backoff=backoff, compare_seconds=every, heartbeat=heartbeat, calls=calls, took=took,
    )  # fmt: skip
    return Server(target, reconciler, items)


def _both(first: Callable[[str], None], second: Callable[[str], None]) -> Callable[[str], None]:
    def told(kind: str) -> None:
        first(kind)
        second(kind)

    return told


@contextmanager
def make_steward(settings: Settings, counted: Callable[[str], None] = lambda _: None) -> Iterator[Steward]:
    """Open the store for asset files, and OpenMetadata where it is enabled."""
    with closing(make_writer(settings)) as writer, closing(_open_beside(settings)) as db:
        server = _make_server(settings, counted, *[lambda _: None] * 2) if settings.openmetadata.enabled else None
        items = server.items if server else Items(db, settings.org, OpenMetadataTarget.name, now_micros)
        stewardship = Stewardship(db, settings.org, items, make_reader(settings), writer, now_micros)
        try:
            yield Steward(stewardship, server)
        finally:
            if server:
                server.reconciler.close()


@contextmanager
def make_watching(
    settings: Settings, counted: Callable[[str], None], failed: Callable[[str], None]
) -> Iterator[Watching]:
    """Open connections of its own to the store, and make the part that keeps asset files and contracts true."""
    of, org, name = settings.governance, settings.org, OpenMetadataTarget.name
    with closing(make_writer(settings)) as writer, closing(_open_beside(settings)) as db:
        reader, items = make_reader(settings), Items(db, org, name, now_micros)
        stewardship = Stewardship(db, org, items, reader, writer, now_micros)
        contracts = Contracts(db, org, reader, writer) if of.contracts else None
        watching = Watching([Path(place) for place in of.assets], stewardship, contracts, time.monotonic)
        if not settings.openmetadata.enabled:
            yield watching
            return
        with closing(make_openmetadata(settings.openmetadata, counted, failed)) as client:
            events = Events(db, org, name, client, items, now_micros)
            words = vocabulary_of(settings.openmetadata.governance)
            patches = Path(of.patches) if of.patches else None
            adopting = Adopting(stewardship, items, words, of.remote_changes, patches)
            watching.listen(events, adopting, settings.openmetadata.sync.seconds)
            yield watching


def open_registry(settings: Settings) -> Registry:
    """Open the store for what is decided of versions; it is there already."""
    return Registry(_open_beside(settings), settings.org, now_micros)


def open_desk(settings: Settings, signer: str | None = None) -> Desk:
    """Open the registry for orders, which are done as somebody."""
    registry = open_registry(settings)
    return Desk(registry, registry.graph, signer)


def open_link(settings: Settings, url: str | None, api_key: str | None) -> Link:
    """Let a process speak to the service at an address, or to the store of the settings, made first."""
    if url is not None:
        return ServiceLink(EventClient(url, api_key=api_key))
    writer = make_writer(settings)
    return StoreLink(open_catalogue(settings), open_desk(settings), make_reader(settings), writer)


def forget_openmetadata(settings: Settings) -> bool:
    """Make no more marks for OpenMetadata; tells whether any were made until now."""
    with closing(_open_beside(settings)) as db:
        enabled = is_enabled(db, settings.org, OpenMetadataTarget.name)
        if enabled:
            disable_target(db, settings.org, OpenMetadataTarget.name)
        return enabled


def open_queue(settings: Settings) -> Queue:
    """Open what is to be pushed to OpenMetadata, for a person to change."""
    return Queue(_open_beside(settings), settings.org, OpenMetadataTarget.name, now_micros)


def _open_beside(settings: Settings) -> Database:
    return StoreLocation(settings.store.url).open_beside(settings.store.max_size_mb, durable=True)


def now_micros() -> int:
    """Give the time, in microseconds."""
    return time.time_ns() // 1_000


def rules_of(settings: Settings) -> SyncRules:
    """Give the rules by which OpenMetadata is kept."""
    of, sync = settings.openmetadata, settings.openmetadata.sync
    return SyncRules(
        layout=layout_of(of),
        folding=folding_rule(settings),
        create=of.create,
        unresolved=of.unresolved,
        register_on_completion=sync.register_on_completion,
        update_on_schema_change=sync.update_on_schema_change,
        track_lineage=sync.track_lineage,
        track_column_lineage=sync.track_column_lineage,
        publish_quality_results=sync.publish_quality_results,
        publish_profiling_metrics=sync.publish_profiling_metrics,
        batch_size=of.batch_size,
        concurrency=of.concurrency,
        service_description=of.service.description,
        most_deletions=of.most_deletions,
        sync_governance_metadata=sync.sync_governance_metadata,
        words=vocabulary_of(of.governance),
        conflicts=of.governance.conflicts,
        conflicts_of=tuple(sorted(of.governance.conflicts_of.items())),
    )


def vocabulary_of(governance: TargetGovernance) -> Vocabulary:
    """Give what plain words of asset files are called in OpenMetadata."""
    tags = tuple(sorted((word.lower(), name) for word, name in governance.tags.items()))
    return Vocabulary(governance.classification, governance.glossary, governance.access_classification, tags)


def layout_of(settings: OpenMetadataSettings) -> Layout:
    """Give what decides where datasets lie in OpenMetadata."""
    mappings = (Mapping(one.namespace, one.service, one.database, one.schema_) for one in settings.mappings)
    return Layout(tuple(mappings), settings.service.name, settings.paths_as)


def folding_rule(settings: Settings) -> FoldingRule:
    """Give the rule by which the settings fold actions."""
    folding = settings.folding
    return FoldingRule(folding.job, folding.step, folding.retire_after_runs)


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
