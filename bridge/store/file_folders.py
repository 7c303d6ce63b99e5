"""Finds the files that belong to a dataset, such as the input files of a stream that reads a folder."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from bridge.store.database import Database, Insert
from bridge.store.job_families import logical_jobs
from bridge.store.symlink_graph import dataset_names
from mappers.cache import BoundedCache
from mappers.canonical.identity import dataset_id
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import DatasetRow, LineageEdgeRow
from mappers.logical_job import FoldingRule
from mappers.naming import STORAGE_SYSTEMS, is_data_file, parent_folders

_CACHED_EDGES = 20_000
_PAGE = 1_000
_BY_APPLICATION = FoldingRule(job="application")
_ADD_FOLDERS = Insert("file_folder", {"org_id": str, "folder_id": bytes, "file_id": bytes}, "ON CONFLICT DO NOTHING")
#: New uses of a folder do not affect the files that are already folded into it.
_IS_AFFECTED = "(f.file_id = f.folder_id OR d.folded_into IS NULL OR d.folded_into <> f.folder_id)"
_FILES_IN = f"""
SELECT f.file_id FROM file_folder f JOIN ol_dataset d ON d.org_id = f.org_id AND d.dataset_id = f.file_id
WHERE f.org_id = ?1 AND f.folder_id {{ids}} AND {_IS_AFFECTED}
"""
_FILES_OF_JOBS = f"""
SELECT f.file_id FROM lineage_edge e JOIN file_folder f ON f.org_id = e.org_id AND f.folder_id = e.source_id
JOIN ol_dataset d ON d.org_id = f.org_id AND d.dataset_id = f.file_id
WHERE e.org_id = ?1 AND e.target_id {{ids}} AND e.edge_role = 'CONSUMES' AND {_IS_AFFECTED}
UNION
SELECT f.file_id FROM lineage_edge e JOIN file_folder f ON f.org_id = e.org_id AND f.folder_id = e.target_id
JOIN ol_dataset d ON d.org_id = f.org_id AND d.dataset_id = f.file_id
WHERE e.org_id = ?1 AND e.source_id {{ids}} AND e.edge_role = 'PRODUCES' AND {_IS_AFFECTED}
"""
_USES = """
SELECT source_id, target_id, FALSE FROM lineage_edge WHERE org_id = ?1 AND source_id {ids} AND edge_role = 'CONSUMES'
UNION
SELECT target_id, source_id, TRUE FROM lineage_edge WHERE org_id = ?1 AND target_id {ids} AND edge_role = 'PRODUCES'
"""
_LINKED = """
SELECT dataset_id FROM dataset_symlink WHERE org_id = ?1 AND dataset_id {ids}
UNION SELECT alias_id FROM dataset_symlink WHERE org_id = ?1 AND alias_id {ids}
"""
_NOT_SPARK = """
SELECT job_id FROM ol_job
WHERE org_id = ?1 AND job_id {ids} AND (integration IS NULL OR upper(integration) <> 'SPARK')
"""
_FOLDED_INTO = "SELECT dataset_id, folded_into FROM ol_dataset WHERE org_id = ?1 AND dataset_id {ids}"
_SET_FOLDED_INTO = "UPDATE ol_dataset SET folded_into = ?3 WHERE org_id = ?1 AND dataset_id = ?2"
_UNFOLD_ALL = "UPDATE ol_dataset SET folded_into = NULL WHERE org_id = ?1 AND folded_into IS NOT NULL"
_ALL_FOLDED = "SELECT dataset_id FROM ol_dataset WHERE org_id = ?1 AND folded_into IS NOT NULL"
_PAGE_OF_DATASETS = """
SELECT dataset_id, name FROM ol_dataset WHERE org_id = ?1 AND dataset_id > ?2 ORDER BY dataset_id LIMIT ?3
"""


class NewUses(NamedTuple):
    """Datasets and jobs for which new edges or job types may change which folder a file belongs to."""

    datasets: Collection[bytes]
    #: Those of the datasets that may be files.
    files: Collection[bytes]
    jobs: Collection[bytes]


NO_USES = NewUses(frozenset(), frozenset(), frozenset())


def lock_groups(db: Database, org: str, *, shared: bool = False) -> None:
    """Wait for all other transactions that may change a group; a shared lock, only for those without one."""
    db.lock(f"classes of {org}", shared=shared)


class FileFolders:
    """Maintains `file_folder`, the folders above each file, and `ol_dataset.folded_into`.

    A file is folded into the deepest folder above it that is a dataset of the same application. A file that jobs
    other than Spark read, and that no job writes, is also folded into a folder that any job writes. Both depend on
    the set of jobs and edges only, not on their order.
    """

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org
        #: Source and target of committed edges; their types imply the role.
        self._known_edges: BoundedCache[bytes, bool] = BoundedCache(_CACHED_EDGES)

    def find_new_uses(self, changes: Reducer, retyped_jobs: Iterable[bytes]) -> NewUses:
        """Return what may be new in these changes. Must be called before they are merged."""
        datasets: set[bytes] = set()
        jobs = set(retyped_jobs)
        for edge in changes.rows(LineageEdgeRow):
            if edge.edge_role == "DERIVES" or edge.source_id + edge.target_id in self._known_edges:
                continue
            if edge.edge_role == "CONSUMES":
                datasets.add(edge.source_id)
            elif edge.edge_role == "PRODUCES":
                datasets.add(edge.target_id)
            elif edge.edge_role == "PARENT":
                jobs.add(edge.target_id)
        if datasets:
            dataset_rows = changes.rows(DatasetRow)
            datasets -= {row.dataset_id for row in dataset_rows if row.source_type not in STORAGE_SYSTEMS}
        if not datasets and not jobs:
            return NO_USES
        folders = {row.dataset_id for row in changes.rows(DatasetRow) if not is_data_file(row.name)}
        new_uses = NewUses(datasets, datasets - folders, jobs)
        lock_groups(self._db, self._org, shared=not new_uses.files)
        return new_uses

    def remember(self, changes: Reducer) -> None:
        """Cache edges that were committed."""
        for edge in changes.rows(LineageEdgeRow):
            if edge.edge_role != "DERIVES":
                self._known_edges.put(edge.source_id + edge.target_id, True)

    def update(self, new_uses: NewUses, linked_datasets: Iterable[bytes]) -> set[bytes]:
        """Fold files again if new edges, job types or symlinks may matter. Return the files that changed."""
        self._add_folders(new_uses.files)
        if not self._affected_files(new_uses, linked_datasets):
            return set()
        lock_groups(self._db, self._org)
        return self._fold(self._affected_files(new_uses, linked_datasets))

    def fold_all(self) -> set[bytes]:
        """Fold all files, for new rules. Return the files that changed."""
        changed_files: set[bytes] = set()
        for page in self._pages():
            self._add_folders(dataset for dataset, _ in page)
        for page in self._pages():
            changed_files |= self._fold({dataset for dataset, name in page if is_data_file(name)})
        return changed_files

    def unfold_all(self) -> set[bytes]:
        """Make all files datasets of their own. Return those that were folded."""
        files = {file for (file,) in self._db.fetch_all(_ALL_FOLDED, self._org)}
        self._db.execute(_UNFOLD_ALL, self._org)
        return files

    def _pages(self) -> Iterator[list[tuple[bytes, str]]]:
        """Yield the ids and names of all datasets in pages."""
        last_id = b""
        while page := self._db.fetch_all(_PAGE_OF_DATASETS, self._org, last_id, _PAGE):
            yield [(dataset, name) for dataset, name in page]
            last_id, _ = page[-1]

    def _add_folders(self, datasets: Iterable[bytes]) -> None:
        """Store the folders above those of the datasets that are files. A file is stored as its own folder, too."""
        self._db.insert(
            _ADD_FOLDERS,
            sorted(
                (self._org, folder, file)
                for file, folders in self._folders_of(datasets).items()
                for folder in (file, *folders)
            ),
        )

    def _folders_of(self, datasets: Iterable[bytes]) -> dict[bytes, list[bytes]]:
        """Map files to the ids of the folders above them, the deepest first. Other datasets are left out."""
        return {
            dataset: [dataset_id(self._org, namespace, folder) for folder in parent_folders(namespace, name)]
            for dataset, (namespace, name) in dataset_names(self._db, self._org, datasets).items()
            if is_data_file(name)
        }

    def _affected_files(self, new_uses: NewUses, linked_datasets: Iterable[bytes]) -> set[bytes]:
        rows = self._db.fetch_for_ids(_FILES_IN, sorted({*new_uses.datasets, *linked_datasets}), self._org)
        rows += self._db.fetch_for_ids(_FILES_OF_JOBS, sorted(new_uses.jobs), self._org)
        return {file for (file,) in rows}

    def _fold(self, files: Collection[bytes]) -> set[bytes]:
        """Store which folder each file is folded into. Return the files for which that has changed."""
        linked = {dataset for (dataset,) in self._db.fetch_for_ids(_LINKED, sorted(files), self._org)}
        folders = self._folders_of(set(files) - linked)
        uses = self._uses(set(folders).union(*folders.values()))
        changes = []
        for file, stored_folder in self._db.fetch_for_ids(_FOLDED_INTO, sorted(files), self._org):
            folder = next((folder for folder in folders.get(file, ()) if uses.folds(file, folder)), None)
            if folder != stored_folder:
                changes.append((self._org, file, folder))
        self._db.execute_many(_SET_FOLDED_INTO, sorted(changes))
        return {file for _, file, _ in changes}

    def _uses(self, datasets: Iterable[bytes]) -> "_Uses":
        uses: dict[bytes, list[tuple[bytes, bool]]] = {}
        for dataset, job, writes in self._db.fetch_for_ids(_USES, sorted(datasets), self._org):
            uses.setdefault(dataset, []).append((job, bool(writes)))
        jobs = {job for jobs in uses.values() for job, _ in jobs}
        applications = logical_jobs(self._db, self._org, _BY_APPLICATION, jobs)
        other_jobs = {job for (job,) in self._db.fetch_for_ids(_NOT_SPARK, sorted(jobs), self._org)}
        return _Uses(
            {dataset: set().union(*(applications[job] for job, _ in jobs)) for dataset, jobs in uses.items()},
            {dataset for dataset, jobs in uses.items() if any(writes for _, writes in jobs)},
            {dataset for dataset, jobs in uses.items() if not other_jobs.isdisjoint(job for job, _ in jobs)},
        )


class _Uses(NamedTuple):
    """How applications use datasets."""

    applications: dict[bytes, set[bytes]]
    written: set[bytes]
    #: Datasets that jobs other than Spark read or write.
    used_outside_spark: set[bytes]

    def folds(self, file: bytes, folder: bytes) -> bool:
        if folder in self.applications and not self.applications[folder].isdisjoint(self.applications.get(file, ())):
            return True
        return folder in self.written and file in self.used_outside_spark and file not in self.written
