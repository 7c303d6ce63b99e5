"""What the settings say of how OpenMetadata is kept."""

from typing import Literal, NamedTuple

from bridge.sync.openmetadata.parents import Create
from mappers.folding import FoldingRule
from mappers.governance.merge import Policy
from mappers.openmetadata.governance import Vocabulary
from mappers.openmetadata.places import Layout


class Rules(NamedTuple):
    """How OpenMetadata is kept: where things lie, what is told, what may be made, how many calls run at once."""

    layout: Layout = Layout()
    folding: FoldingRule = FoldingRule()
    create: Create = "all"
    unresolved: Literal["report", "own_service"] = "report"
    register_on_completion: bool = True
    update_on_schema_change: bool = True
    track_lineage: bool = True
    track_column_lineage: bool = True
    publish_quality_results: bool = True
    publish_profiling_metrics: bool = True
    sync_governance_metadata: bool = True
    words: Vocabulary = Vocabulary()
    #: Who wins where a steward and OpenMetadata both changed something, each in their own way; by field, or of all.
    conflicts: Policy = "report"
    conflicts_of: tuple[tuple[str, Policy], ...] = ()
    batch_size: int = 100
    concurrency: int = 8
    service_description: str = ""
    #: How many deletions may wait at once before a person must allow them.
    most_deletions: int = 50
