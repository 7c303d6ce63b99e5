"""The one place where concrete parts are put together."""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

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
from bridge.intake.marquez import MarquezLog
from bridge.intake.marquez_model import MarquezModel
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
from bridge.store.run_log import forget_index
from bridge.store.writer import Writer
from bridge.sync.calls import Calls
from bridge.sync.items import Items
from bridge.sync.marquez.target import MarquezTarget
from bridge.sync.openmetadata.events import Events
from bridge.sync.openmetadata.rules import Rules as SyncRules
from bridge.sync.openmetadata.target import OpenMetadataTarget
from bridge.sync.queue import Queue
from bridge.sync.reconciler import Reconciler
from bridge.sync.target import Target
from bridge.sync.webhook.target import WebhookTarget
from bridge.sync.worker import Heartbeat, Worker
from bridge.target_names import TargetName, settings_of
from bridge.target_settings import MarquezSettings, WebhookSettings
from connectors.caller import Caller
from connectors.http import HttpSession, Timeouts
from connectors.marquez.client import Marquez
from connectors.openlineage.http import EventClient
from connectors.openmetadata import models
from connectors.openmetadata.client import OpenMetadata
from connectors.openmetadata.token import FixedToken, Token, client_token, file_token, login_token
from connectors.pace import Pace
from connectors.webhook.client import Webhook
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
    name: TargetName = TargetName.openmetadata,
    counted: Callable[[str], None] = lambda _: None,
    failed: Callable[[str], None] = lambda _: None,
    took: Callable[[float], None] = lambda _: None,
) -> Reconciler:
    """Open a connection of its own to the store, and make the part that keeps a target what the store says."""
    if name is TargetName.openmetadata:
        return _make_server(settings, counted, failed, took).reconciler
    watched = _watched(settings, name, counted, failed, took)
    items = Items(watched.db, settings.org, name, now_micros)
    make = _make_marquez_target if name is TargetName.marquez else _make_webhook_target
    return watched.reconciler(make(settings, watched, items), items)


class _Watched(NamedTuple):
    """What a reconciler needs beside its target: its store, and who counts what it does."""

    settings: Settings
    name: TargetName
    db: Database
    calls: Calls
    counted: Callable[[str], None]
    failed: Callable[[str], None]
    took: Callable[[float], None]

    def reconciler(self, target: Target, items: Items) -> Reconciler:
        """Make the reconciler of a target, which says that it lives over a connection of its own."""
        settings = settings_of(self.settings, self.name)
        beside, org = _open_beside(self.settings), self.settings.org
        heartbeat = Heartbeat(beside, Worker(beside, org, self.name, now_micros, items.worker.id))
        return Reconciler(
            self.db, org, target, items, now_micros, backoff=settings.retry_config.backoff_seconds,
            compare_seconds=settings.seconds, heartbeat=heartbeat, calls=self.calls, took=self.took,
        )  # fmt: skip


def _watched(
    settings: Settings,
    name: TargetName,
    counted: Callable[[str], None],
    failed: Callable[[str], None],
    took: Callable[[float], None],
) -> _Watched:
    calls = Calls(settings.org, name, now_micros)
    told = _both(calls.counted, counted), _both(calls.failed, failed)
    return _Watched(settings, name, _open_beside(settings), calls, *told, took)


def _make_server(
    settings: Settings, counted: Callable[[str], None], failed: Callable[[str], None], took: Callable[[float], None]
) -> Server:
    watched = _watched(settings, TargetName.openmetadata, counted, failed, took)
    client = make_openmetadata(settings.openmetadata, watched.counted, watched.failed)
    items = Items(watched.db, settings.org, OpenMetadataTarget.name, now_micros)
    target = OpenMetadataTarget(watched.db, settings.org, client, rules_of(settings), items, now_micros)
    return Server(target, watched.reconciler(target, items), items)


def _make_marquez_target(settings: Settings, watched: _Watched, items: Items) -> MarquezTarget:
    of = settings.marquez
    client = make_marquez(of, watched.counted, watched.failed)
    return MarquezTarget(watched.db, settings.org, client, items, of.concurrency)


def _make_webhook_target(settings: Settings, watched: _Watched, items: Items) -> WebhookTarget:
    of = settings.webhook
    client = Webhook(_caller(of, of.url or "", watched.counted, watched.failed))
    return WebhookTarget(watched.db, settings.org, client, items, folding_rule(settings), of.states)


def _caller(
    of: MarquezSettings | WebhookSettings, url: str, counted: Callable[[str], None], failed: Callable[[str], None]
) -> Caller:
    session = HttpSession(url, timeouts=_TARGET_TIMEOUTS, connections=of.concurrency)
    key = _secret(of.api_key)
    return Caller(session, counted, failed, api_key=key, concurrency=of.concurrency, pace=Pace(of.rate))


def make_marquez_log(
    settings: Settings, of: MarquezSettings, writer: Writer, since: int | None, lookback_seconds: float
) -> MarquezLog:
    """Make what takes the log of a Marquez server."""
    client = make_marquez(of)
    return MarquezLog(
        client, make_reader(settings), writer, now_micros, since=since, lookback_seconds=lookback_seconds
    )


def make_marquez_model(settings: Settings, of: MarquezSettings, writer: Writer) -> MarquezModel:
    """Make what takes from the lists of a Marquez server what its log lacks."""
    return MarquezModel(make_marquez(of), make_reader(settings), writer, _open_beside(settings), settings.org)


def make_marquez(
    settings: MarquezSettings,
    counted: Callable[[str], None] = lambda _: None,
    failed: Callable[[str], None] = lambda _: None,
) -> Marquez:
    """Make the client of a Marquez server."""
    url = settings.url
    if url is None:
        raise ConfigError("marquez.url is not set: name the server, such as http://127.0.0.1:5000")
    return Marquez(_caller(settings, url, counted, failed), attempts=settings.retry_config.max_attempts)


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


def forget_target(settings: Settings, name: TargetName) -> bool:
    """Make no more marks for a target; tells whether any were made until now."""
    with closing(_open_beside(settings)) as db:
        enabled = is_enabled(db, settings.org, name)
        if enabled:
            disable_target(db, settings.org, name)
            if name is TargetName.marquez:
                forget_index(db)
        return enabled


def open_queue(settings: Settings, name: TargetName) -> Queue:
    """Open what is to be pushed to a target, for a person to change."""
    return Queue(_open_beside(settings), settings.org, name, now_micros)


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
