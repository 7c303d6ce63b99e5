"""Options of the OpenMetadata target, from the settings."""

from typing import Literal, NamedTuple

from bridge.sync.openmetadata.parents import CreatePolicy
from mappers.governance.merge import MergePolicy
from mappers.logical_job import FoldingRule
from mappers.openmetadata.governance import TagVocabulary
from mappers.openmetadata.locations import ServiceLayout


class OpenMetadataOptions(NamedTuple):
    """How OpenMetadata is kept: where things lie, what is told, what may be made, how many calls run at once."""

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
    words: TagVocabulary = TagVocabulary()
    #: Who wins where a steward and OpenMetadata both changed something, each in their own way; by field, or of all.
    conflicts: MergePolicy = "report"
    conflicts_of: tuple[tuple[str, MergePolicy], ...] = ()
    batch_size: int = 100
    concurrency: int = 8
    service_description: str = ""
    #: How many deletions may wait at once before a person must allow them.
    most_deletions: int = 50
