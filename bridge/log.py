"""Structured logging of the service to stderr."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from bridge.settings.model import LogSettings
from bridge.terminal import escape, escape_lines


def configure_log(settings: LogSettings) -> None:
    """Route all log lines through structlog, including the log lines of the web server."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    renderers: list[structlog.types.Processor] = (
        [structlog.processors.JSONRenderer()]
        if settings.format == "json"
        else [_escape_values, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    )
    shared_processors: list[structlog.types.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared_processors, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
            foreign_pre_chain=shared_processors,
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for logger_name in ("alembic", "httpx", "httpcore"):  # they log every plugin and every request
        logging.getLogger(logger_name).setLevel(max(level, logging.WARNING))


def _escape_values(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters in messages and values; only tracebacks have several lines."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = escape_lines(value) if name == "exception" else escape(value)
    return event
