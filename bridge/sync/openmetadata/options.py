"""Options of the OpenMetadata target, from the settings."""

from typing import Literal, NamedTuple

from bridge.sync.openmetadata.parents import CreatePolicy
from mappers.governance.merge import MergePolicy
from mappers.logical_job import FoldingRule
from mappers.openmetadata.governance import TagVocabulary
from mappers.openmetadata.locations import ServiceLayout


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
