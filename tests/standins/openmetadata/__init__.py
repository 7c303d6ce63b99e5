"""A strict, stateful stand-in for an OpenMetadata 2.0 server, with faults on demand."""

from tests.standins.openmetadata.faults import (
    Fault,
    error,
    expired_token,
    failing_rows,
    html,
    lost_race,
    reset,
    stall,
)
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
