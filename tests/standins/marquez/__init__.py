"""A stateful stand-in for a Marquez 0.51 server, with faults on demand."""

from tests.standins.faults import Fault, error, failing, html, reset, stall
from tests.standins.marquez.faults import half_written
from tests.standins.marquez.standin import Marquez

__all__ = ["Fault", "Marquez", "error", "failing", "half_written", "html", "reset", "stall"]
