"""Structured logging of the service to stderr."""

import logging
import sys

import structlog

from bridge.settings.model import LogSettings


def configure_log(settings: LogSettings) -> None:
    """Route all log lines through structlog, including the log lines of the web server."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    renderer = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    shared_processors: list[structlog.types.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared_processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared_processors))
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for logger_name in ("alembic", "httpx", "httpcore"):  # they log every plugin and every request
        logging.getLogger(logger_name).setLevel(max(level, logging.WARNING))
