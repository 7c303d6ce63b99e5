"""Context and options of the OpenMetadata pushers."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from bridge.sync.context import TargetContext
from bridge.sync.openmetadata.parents import CreatePolicy
from bridge.sync.sync_item import Completed, Failure
from connectors.errors import TargetRejected, TargetUnavailable
from connectors.openmetadata.client import OpenMetadataClient
from mappers.errors import LineageBridgeError
from mappers.governance.merge import MergePolicy
from mappers.logical_job import FoldingRule
from mappers.openmetadata.governance import TagVocabulary
from mappers.openmetadata.locations import ServiceLayout

NOT_FOUND = 404
#: Error message if a run status names a task that the pipeline does not have any longer.
_UNKNOWN_TASK = "Invalid task name"


class OpenMetadataOptions(NamedTuple):
    """Options of the OpenMetadata target."""

    layout: ServiceLayout = ServiceLayout()
    folding: FoldingRule = FoldingRule()
    create: CreatePolicy = "all"
    unresolved: Literal["report", "own_service"] = "report"
    register_on_completion: bool = True
    update_on_schema_change: bool = True
    track_lineage: bool = True
    track_column_lineage: bool = True
    publish_quality_results: bool = True
    publish_profiling_metrics: bool = True
    sync_governance_metadata: bool = True
    vocabulary: TagVocabulary = TagVocabulary()
    #: Policies for governance conflicts: the default, and those for single fields.
    conflicts: MergePolicy = "report"
    conflicts_by_field: tuple[tuple[str, MergePolicy], ...] = ()
    batch_size: int = 100
    concurrency: int = 8
    service_description: str = ""
    #: If more deletions are pending, they wait for an operator.
    max_deletions: int = 50
    #: URL of this service, to which datasets link.
    public_url: str | None = None
    #: Move entities of an earlier layout to their new locations.
    relocate: bool = False


OpenMetadataContext: TypeAlias = TargetContext[OpenMetadataClient, OpenMetadataOptions]


def retry_if_missing(error: LineageBridgeError) -> LineageBridgeError:
    """Make the rejection of a missing entity or task retryable, because the entity may be created again."""
    if isinstance(error, TargetRejected) and (error.status == NOT_FOUND or _UNKNOWN_TASK in str(error)):
        return TargetUnavailable(str(error), NOT_FOUND)
    return error


def parents_to_verify(
    kind: str, results: Iterable[Completed | Failure], parent_keys: Mapping[bytes, bytes]
) -> set[tuple[str, bytes]]:
    """Return parents of the items that failed with a 404; `parent_keys` maps item keys to parent keys."""
    return {
        (kind, parent_keys[result.item.key])
        for result in results
        if isinstance(result, Failure)
        and result.item.key in parent_keys
        and isinstance(result.error, TargetUnavailable)
        and result.error.status == NOT_FOUND
    }


def contains(sent: Any, received: Any) -> bool:
    """True if a response contains everything that was sent; additional fields are ignored."""
    if isinstance(sent, dict):
        return isinstance(received, dict) and all(contains(value, received.get(key)) for key, value in sent.items())
    if isinstance(sent, list):
        same_length = isinstance(received, list) and len(received) == len(sent)
        return same_length and all(
            contains(sent_item, received_item) for sent_item, received_item in zip(sent, received, strict=True)
        )
    return bool(sent == received)
