"""The list of all queries."""

from typing import Any

from bridge.queries.consumers import ConsumersQuery
from bridge.queries.dag import DagQuery
from bridge.queries.dataset import DatasetQuery
from bridge.queries.events import EventsQuery
from bridge.queries.explain import ExplainQuery
from bridge.queries.governance import ContractViolationsQuery, GovernanceQuery
from bridge.queries.impact import ImpactQuery
from bridge.queries.lineage import ColumnLineageQuery, LineageQuery
from bridge.queries.namespaces import NamespacesQuery
from bridge.queries.processes import DefinitionsQuery, JobQuery, RegisteredProcessesQuery
from bridge.queries.publications import PinsQuery, PublicationsQuery
from bridge.queries.quality import QualityQuery
from bridge.queries.query import Query
from bridge.queries.runs import JobRunsQuery, RunQuery, RunsQuery
from bridge.queries.search import SearchQuery
from bridge.queries.sync_items import DatasetSyncQuery, JobSyncQuery, SyncItemsQuery
from bridge.queries.sync_status import SyncStatusQuery
from bridge.queries.versions import LastSuccessQuery, PartitionsQuery, ResolveVersionQuery, VersionsQuery

QUERIES: tuple[type[Query[Any]], ...] = (
    DatasetQuery,
    VersionsQuery,
    ResolveVersionQuery,
    PublicationsQuery,
    PartitionsQuery,
    LineageQuery,
    ColumnLineageQuery,
    ConsumersQuery,
    LastSuccessQuery,
    QualityQuery,
    GovernanceQuery,
    ContractViolationsQuery,
    ImpactQuery,
    ExplainQuery,
    JobQuery,
    JobRunsQuery,
    DefinitionsQuery,
    RunQuery,
    RunsQuery,
    SearchQuery,
    PinsQuery,
    NamespacesQuery,
    DagQuery,
    EventsQuery,
    SyncStatusQuery,
    SyncItemsQuery,
    DatasetSyncQuery,
    JobSyncQuery,
    RegisteredProcessesQuery,
)
