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
    settings: Settings, of: MarquezSettings, writer: Writer, since: int | None, lookback_seconds: float
) -> MarquezLogSource:
    """Make what takes the log of a Marquez server."""
    client = make_marquez_client(of)
    return MarquezLogSource(
        client, make_event_reader(settings), writer, now_micros, since=since, lookback_seconds=lookback_seconds
    )


def make_marquez_metadata_importer(settings: Settings, of: MarquezSettings, writer: Writer) -> MarquezMetadataSource:
    """Make what takes from the lists of a Marquez server what its log lacks."""
    return MarquezMetadataSource(
        make_marquez_client(of),
        make_event_reader(settings),
        writer,
        open_background_connection(settings),
        settings.org,
    )
