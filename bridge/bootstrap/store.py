"""Opens the store, its writer and its search indexer."""

from bridge.settings.model import Settings
from bridge.store.connect import StoreUrl
from bridge.store.database import Database
from bridge.store.search.indexer import SearchIndexer
from bridge.store.symlink_graph import LinkRules, NeverLinkRule
from bridge.store.writer import Writer
from mappers.logical_job import FoldingRule


def make_writer(settings: Settings) -> Writer:
    """Open a writer on the store; creates or upgrades the store first."""
    return make_writer_on(settings, open_for_writing(settings))


def open_for_writing(settings: Settings) -> Database:
    return StoreUrl(settings.store.url).open_for_writing(settings.store.max_size_mb)


def make_writer_on(settings: Settings, db: Database) -> Writer:
    return Writer(
        db,
        settings.org,
        link_rules=LinkRules(
            tuple(NeverLinkRule(rule.namespace, rule.name) for rule in settings.identity.never_link),
            settings.identity.max_names,
            settings.identity.fold_files,
        ),
        keep_rejected=settings.intake.keep_rejected,
    )


def make_indexer(settings: Settings) -> SearchIndexer:
    """Open the search indexer on a separate connection."""
    store_url = StoreUrl(settings.store.url)
    return SearchIndexer(store_url.open_for_background_writes(settings.store.max_size_mb), settings.org)


def open_background_connection(settings: Settings) -> Database:
    return StoreUrl(settings.store.url).open_for_background_writes(settings.store.max_size_mb, durable=True)


def folding_rule(settings: Settings) -> FoldingRule:
    folding = settings.folding
    return FoldingRule(folding.job, folding.step, folding.retire_after_runs)


def open_store(settings: Settings) -> Database:
    """Open the store for reading; creates or upgrades the store first."""
    return StoreUrl(settings.store.url).open_for_reading()
