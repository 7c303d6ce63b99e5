"""All that can be asked."""

from typing import Any

from bridge.catalogue.consumers import Consumers
from bridge.catalogue.dag import Dag
from bridge.catalogue.dataset import Dataset
from bridge.catalogue.explain import Explain
from bridge.catalogue.governance import Governance, Violations
from bridge.catalogue.history import ProcessRuns, Runs
from bridge.catalogue.impact import Impact
from bridge.catalogue.lineage import ColumnLineage, Lineage
from bridge.catalogue.log import Events
from bridge.catalogue.namespaces import Namespaces
from bridge.catalogue.process import Process
from bridge.catalogue.processes import Processes
from bridge.catalogue.quality import Quality
from bridge.catalogue.question import Question
from bridge.catalogue.registry import Partitions, Pins, ProcessVersions, Publications, Resolve
from bridge.catalogue.run import Run
from bridge.catalogue.search import Search
from bridge.catalogue.sync_status import Sync
from bridge.catalogue.syncing import DatasetSync, ProcessSync, SyncItems
from bridge.catalogue.version import LastSuccess, Versions

QUESTIONS: tuple[type[Question[Any]], ...] = (
    Dataset,
    Versions,
    Resolve,
    Publications,
    Partitions,
    Lineage,
    ColumnLineage,
    Consumers,
    LastSuccess,
    Quality,
    Governance,
    Violations,
    Impact,
    Explain,
    Process,
    ProcessRuns,
    ProcessVersions,
    Run,
    Runs,
    Search,
    Pins,
    Namespaces,
    Dag,
    Events,
    Sync,
    SyncItems,
    DatasetSync,
    ProcessSync,
    Processes,
)
