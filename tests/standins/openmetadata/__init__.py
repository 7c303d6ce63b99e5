"""A strict, stateful stand-in for an OpenMetadata 2.0 server, with faults on demand."""

from tests.standins.faults import Fault, error, html, reset, stall
from tests.standins.openmetadata.faults import expired_token, failing_rows, lost_race
from tests.standins.openmetadata.standin import OpenMetadata

__all__ = [
    "Fault",
    "OpenMetadata",
    "error",
    "expired_token",
    "failing_rows",
    "html",
    "lost_race",
    "reset",
    "stall",
]
