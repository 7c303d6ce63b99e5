"""The service's log: structured, to stderr."""

import logging
import sys

import structlog

from bridge.settings.model import LogSettings


def configure_log(settings: LogSettings) -> None:
    """Send all log lines through one form, the web server's included."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    render = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    shared: list[structlog.types.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=render, foreign_pre_chain=shared))
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for chatty in ("alembic", "httpx", "httpcore"):  # of every plugin, of every request
        logging.getLogger(chatty).setLevel(max(level, logging.WARNING))
