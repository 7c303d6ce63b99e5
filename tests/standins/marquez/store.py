"""State of the server."""

import threading
from collections.abc import Callable

from tests.standins.marquez.tables import Dataset, Job, JobVersion, Name, Namespace, Row, Run, Source, Version

#: Number of characters that the server compares when it finds a dataset by name.
COMPARED_LENGTH = 255
DEFAULT_NAMESPACE = (
    "The default global namespace for dataset, job, and run metadata not belonging to a user-specified namespace."
)


class Store:
    """Rows of all tables."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.lock = threading.Lock()
        self.now = now
        started_at = now()
        self.namespaces = {"default": Namespace("default", started_at, started_at, description=DEFAULT_NAMESPACE)}
        self.sources: dict[str, Source] = {}
        self.tags: dict[str, str | None] = {
            "PII": "Personally identifiable information",
            "SENSITIVE": "Contains sensitive information",
        }
        self.symlinks: dict[Name, Dataset] = {}
        #: Datasets by namespace and name of their row.
        self.rows: dict[Name, Dataset] = {}
        #: Datasets by namespace and compared part of the name.
        self.by_compared_name: dict[Name, list[Dataset]] = {}
        self.versions: dict[str, Version] = {}
        self.jobs: dict[Name, Job] = {}
        self.job_versions: dict[str, JobVersion] = {}
        self.runs: dict[str, Run] = {}
        self.log: list[Row] = []

    def namespace(self, name: str, time: int) -> Namespace:
        """Return a namespace; creates or unhides it."""
        found = self.namespaces.setdefault(name, Namespace(name, time, time))
        found.hidden = False
        return found

    def add_name(self, dataset: Dataset, name: Name) -> None:
        """Register a name of a dataset, unless another dataset has it."""
        if self.symlinks.setdefault(name, dataset) is dataset:
            self.by_compared_name.setdefault((name[0], name[1][:COMPARED_LENGTH]), []).append(dataset)
            if name not in dataset.names:
                dataset.names.append(name)

    def dataset(self, namespace: str, name: str) -> Dataset | None:
        """Find a dataset by any of its names."""
        found = self.symlinks.get((namespace, name))
        return None if found is None or found.hidden else found

    def job(self, namespace: str, name: str) -> Job | None:
        found = self.jobs.get((namespace, name))
        return None if found is None or found.hidden else found
