"""Faults specific to Marquez."""

from tests.standins.faults import Fault


def half_written() -> Fault:
    """Write the event to the log but not to the model, and respond 500 with an HTML page."""
    return Fault(log_only=True)
