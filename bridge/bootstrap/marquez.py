"""Builds the importers of Marquez history."""

from bridge.bootstrap.clients import make_marquez_client
from bridge.bootstrap.intake import make_event_reader
from bridge.bootstrap.store import open_background_connection
from bridge.clock import now_micros
from bridge.intake.marquez_log import MarquezLogSource
from bridge.intake.marquez_metadata import MarquezMetadataSource
from bridge.settings.model import Settings
from bridge.settings.targets import MarquezSettings
from bridge.store.writer import Writer


def make_marquez_log_importer(
    settings: Settings, marquez: MarquezSettings, writer: Writer, since: int | None, lookback_seconds: float
) -> MarquezLogSource:
    client = make_marquez_client(marquez)
    return MarquezLogSource(
        client, make_event_reader(settings), writer, now_micros, since=since, lookback_seconds=lookback_seconds
    )


def make_marquez_metadata_importer(
    settings: Settings, marquez: MarquezSettings, writer: Writer
) -> MarquezMetadataSource:
    return MarquezMetadataSource(
        make_marquez_client(marquez),
        make_event_reader(settings),
        writer,
        open_background_connection(settings),
        settings.org,
    )
