"""What goes wrong with Marquez alone: an event that only the log takes."""

from tests.standins.faults import Fault


def half_written() -> Fault:
    """Write an event to the log, fail to tell the model, and answer 500 with a page."""
    return Fault(log_only=True)
