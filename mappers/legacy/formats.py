"""Legacy request formats, each with its translator."""

from enum import StrEnum
from typing import NamedTuple

from mappers.errors import InvalidInput
from mappers.legacy.body_fields import BodyFields
from mappers.legacy.names import LegacyNamespaces
from mappers.legacy.registration import translate_dataset, translate_process, translate_request
from mappers.legacy.run_event import translate_run_event


class LegacyFormat(StrEnum):
    """Format of the body of a legacy request."""

    RUN_EVENT = "run_event"
    DATASET = "dataset"
    PROCESS = "process"
    REQUEST = "request"


class TranslatedBody(NamedTuple):
    """The events of a body, and notes on the assumptions made."""

    events: list[bytes]
    notes: list[str]


def translate_body(
    body_format: LegacyFormat, body: bytes, namespaces: LegacyNamespaces, received_at: str
) -> TranslatedBody:
    """Translate a body; `received_at` is the default submission time of a request to register a dataset.

    Raises InvalidInput with the offending field.
    """
    notes: list[str] = []
    try:
        fields = BodyFields.parse(body, notes)
        return TranslatedBody(_translate(body_format, fields, namespaces, received_at), notes)
    except RecursionError as error:
        raise InvalidInput("nested too deeply") from error


def _translate(
    body_format: LegacyFormat, body: BodyFields, namespaces: LegacyNamespaces, received_at: str
) -> list[bytes]:
    match body_format:
        case LegacyFormat.RUN_EVENT:
            return translate_run_event(body, namespaces)
        case LegacyFormat.DATASET:
            return translate_dataset(body, namespaces)
        case LegacyFormat.PROCESS:
            return translate_process(body, namespaces)
        case LegacyFormat.REQUEST:
            return translate_request(body, namespaces, received_at)
