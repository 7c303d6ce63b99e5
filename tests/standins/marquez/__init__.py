"""A stateful stand-in for a Marquez 0.51 server, with faults on demand."""

from tests.standins.faults import Fault, error, html, random_faults, reset, stall
from tests.standins.marquez.faults import half_written
from tests.standins.marquez.standin import Marquez

__all__ = ["Fault", "Marquez", "error", "half_written", "html", "random_faults", "reset", "stall"]
