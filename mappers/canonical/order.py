"""Who wins when two statements disagree: rank, then event time, then content."""

from enum import IntEnum
from struct import Struct

_ORDER = Struct(">BQ16s")
_MOMENT = Struct(">Q16s")
_SHIFT = 1 << 63


class Rank(IntEnum):
    """How much a statement weighs, whatever its time."""

    MENTION = 10
    INPUT = 20
    JOB_EVENT = 30
    OUTPUT = 40
    STEWARD = 50


def order(rank: int, micros: int, content: bytes) -> bytes:
    """Encode (rank, event time, content hash) so that comparing bytes compares all three."""
    return _ORDER.pack(rank, micros + _SHIFT, content)


def micros_of(order: bytes) -> int:
    """Read the event time of an order."""
    micros: int = _ORDER.unpack(order)[1]
    return micros - _SHIFT


def moment(micros: int, content: bytes) -> bytes:
    """Encode (event time, content hash) so that comparing bytes compares both."""
    return _MOMENT.pack(micros + _SHIFT, content)
