"""Context of the OpenMetadata pushers."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from bridge.sync.context import TargetContext
from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Completed, Failure
from connectors.errors import TargetRejected, TargetUnavailable
from connectors.openmetadata.client import OpenMetadataClient
from mappers.errors import LineageBridgeError

OpenMetadataContext: TypeAlias = TargetContext[OpenMetadataClient, OpenMetadataOptions]
NOT_FOUND = 404
#: Error message if a run status names a task that the pipeline does not have any longer.
_UNKNOWN_TASK = "Invalid task name"


def retry_if_missing(error: LineageBridgeError) -> LineageBridgeError:
    """Make the rejection of a missing entity or task retryable, because the entity may be created again."""
    if isinstance(error, TargetRejected) and (error.status == NOT_FOUND or _UNKNOWN_TASK in str(error)):
        return TargetUnavailable(str(error), NOT_FOUND)
    return error


def items_to_verify(
    kind: str, results: Iterable[Completed | Failure], parent_keys: Mapping[bytes, bytes]
) -> set[tuple[str, bytes]]:
    """Parents of the items that failed with a 404; `parent_keys` maps item keys to parent keys."""
    return {
        (kind, parent_keys[result.item.key])
        for result in results
        if isinstance(result, Failure)
        and result.item.key in parent_keys
        and isinstance(result.error, TargetUnavailable)
        and result.error.status == NOT_FOUND
    }


def contains(sent: Any, received: Any) -> bool:
    """Whether a response contains everything that was sent; additional fields are ignored."""
    if isinstance(sent, dict):
        return isinstance(received, dict) and all(contains(value, received.get(key)) for key, value in sent.items())
    if isinstance(sent, list):
        same_length = isinstance(received, list) and len(received) == len(sent)
        return same_length and all(
            contains(sent_item, received_item) for sent_item, received_item in zip(sent, received, strict=True)
        )
    return bool(sent == received)
