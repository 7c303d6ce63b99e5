"""The legacy contracts by name, each a translation of a body into OpenLineage events."""

from enum import StrEnum
from typing import NamedTuple

from mappers.errors import RefusedEvent
from mappers.legacy.fields import Fields
from mappers.legacy.names import LegacyNames
from mappers.legacy.registration import translate_dataset, translate_process
from mappers.legacy.request import translate_request
from mappers.legacy.run_event import translate_run_event


class Contract(StrEnum):
    """What a legacy body is meant to be."""

    RUN_EVENT = "run_event"
    DATASET = "dataset"
    PROCESS = "process"
    REQUEST = "request"


class Translated(NamedTuple):
    """The events a body became, and what had to be guessed."""

    events: list[bytes]
    notes: list[str]


def translate(contract: Contract, body: bytes, names: LegacyNames, received: str) -> Translated:
    """Translate a body received at a time; raises RefusedEvent naming the field when that cannot be done."""
    notes: list[str] = []
    try:
        return Translated(_translated(contract, Fields.of_body(body, notes), names, received), notes)
    except RecursionError as error:
        raise RefusedEvent("nested too deeply") from error


def _translated(contract: Contract, body: Fields, names: LegacyNames, received: str) -> list[bytes]:
    match contract:
        case Contract.RUN_EVENT:
            return translate_run_event(body, names)
        case Contract.DATASET:
            return translate_dataset(body, names)
        case Contract.PROCESS:
            return translate_process(body, names)
        case Contract.REQUEST:
            return translate_request(body, names, received)
