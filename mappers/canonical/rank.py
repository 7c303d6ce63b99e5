"""Ranks assertions; encodes (rank, time, content hash) as sortable bytes."""

from enum import IntEnum
from struct import Struct

_RANK_TIME_HASH = Struct(">BQ16s")
_TIME_HASH = Struct(">Q16s")
_SHIFT = 1 << 63


class Rank(IntEnum):
    """Weight of an assertion, compared before its time."""

    MENTION = 10
    INPUT = 20
    JOB_EVENT = 30
    OUTPUT = 40
    STEWARD = 50


def register_order(rank: int, micros: int, content: bytes) -> bytes:
    """Encode (rank, event time, content hash) so that comparing bytes compares all three."""
    return _RANK_TIME_HASH.pack(rank, micros + _SHIFT, content)


def order_rank(order: bytes) -> int:
    """Decode the rank from a register order."""
    rank: int
    rank, _, _ = _RANK_TIME_HASH.unpack(order)
    return rank


def order_micros(order: bytes) -> int:
    """Decode the event time from a register order, in microseconds."""
    shifted_micros: int
    _, shifted_micros, _ = _RANK_TIME_HASH.unpack(order)
    return shifted_micros - _SHIFT


def event_order(micros: int, content: bytes) -> bytes:
    """Encode (event time, content hash) so that comparing bytes compares both."""
    return _TIME_HASH.pack(micros + _SHIFT, content)
