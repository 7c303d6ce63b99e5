"""All that a server keeps."""

import threading
from collections.abc import Callable

from tests.standins.marquez.tables import Dataset, Job, JobVersion, Name, Namespace, Row, Run, Source, Version

#: How much of a name the server looks at when it finds a dataset by any of its names.
COMPARED = 255
DEFAULT_NAMESPACE = (
    "The default global namespace for dataset, job, and run metadata not belonging to a user-specified namespace."
)


class Store:
    """All rows of a server."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.lock = threading.Lock()
        self.now = now
        begin = now()
        self.namespaces = {"default": Namespace("default", begin, begin, description=DEFAULT_NAMESPACE)}
        self.sources: dict[str, Source] = {}
        self.tags: dict[str, str | None] = {
            "PII": "Personally identifiable information",
            "SENSITIVE": "Contains sensitive information",
        }
        self.symlinks: dict[Name, Dataset] = {}
        #: Datasets by the names of their rows.
        self.rows: dict[Name, Dataset] = {}
        #: Datasets by the part of their names that is compared.
        self.alike: dict[Name, list[Dataset]] = {}
        self.versions: dict[str, Version] = {}
        self.jobs: dict[Name, Job] = {}
        self.job_versions: dict[str, JobVersion] = {}
        self.runs: dict[str, Run] = {}
        self.log: list[Row] = []

    def namespace(self, name: str, at: int) -> Namespace:
        """Give a namespace; makes it, or brings it back."""
        found = self.namespaces.setdefault(name, Namespace(name, at, at))
        found.hidden = False
        return found

    def call(self, dataset: Dataset, name: Name) -> None:
        """Let a dataset be known under a name, unless another is."""
        if self.symlinks.setdefault(name, dataset) is dataset:
            self.alike.setdefault((name[0], name[1][:COMPARED]), []).append(dataset)
            if name not in dataset.names:
                dataset.names.append(name)

    def dataset(self, namespace: str, name: str) -> Dataset | None:
        """Find a dataset by any of its names."""
        found = self.symlinks.get((namespace, name))
        return None if found is None or found.hidden else found

    def job(self, namespace: str, name: str) -> Job | None:
        found = self.jobs.get((namespace, name))
        return None if found is None or found.hidden else found
