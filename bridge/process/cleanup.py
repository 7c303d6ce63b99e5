"""Deletes files of expired versions and abandoned runs."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from bridge.errors import NotFound
from bridge.process.backend import ProcessBackend, iterate_pages
from bridge.process.dataset_location import DatasetLocation
from bridge.process.input_resolver import InputResolver
from bridge.process.manifest import VERSION_FOLDER_PREFIX
from bridge.queries.versions import VersionResult, VersionsQuery
from bridge.versions.version_commands import DiscardCommand, InvalidateCommand
from connectors.errors import ConfigError
from connectors.spark.file_system import FileSystems

_PAGE = 500
#: Folders without a registered version that are younger may belong to a running process, so they are retained.
_MAX_RUN_TIME = timedelta(days=1)


class RetentionPolicy(NamedTuple):
    """How many versions to retain in addition to published and pinned ones."""

    versions: int
    days: float


class CleanupResult(msgspec.Struct, frozen=True):
    """Removed and retained versions of a dataset."""

    dataset: str
    removed: list[str]
    #: Retained versions with the reason.
    kept: dict[str, str]


class VersionCleaner:
    """Cleans up one dataset at a time."""

    def __init__(
        self, backend: ProcessBackend, file_systems: FileSystems, policy: RetentionPolicy, now: datetime
    ) -> None:
        self._backend = backend
        self._file_systems = file_systems
        self._policy = policy
        self._now = now
        self._resolver = InputResolver(backend, file_systems)

    def version_folders(self, dataset: DatasetLocation) -> dict[str, str]:
        """List the version folders of a dataset by version tag. Raises ConfigError if there are none."""
        folders = {}
        for folder in self._file_systems.for_path(dataset.path_or_table).list_folders(dataset.path_or_table):
            _, _, name = folder.rstrip("/").rpartition("/")
            if name.startswith(VERSION_FOLDER_PREFIX):
                folders[name.removeprefix(VERSION_FOLDER_PREFIX)] = folder
        if not folders:
            raise ConfigError(f"{dataset}: no version folders of processes at {dataset.path_or_table}")
        return folders

    def clean(self, dataset: DatasetLocation, *, dry_run: bool) -> CleanupResult:
        """Discard expired versions, then delete their files, so that no reader sees a partially deleted version."""
        folders = self.version_folders(dataset)
        versions = {version.tag: version for version in self._list_versions(dataset)}
        retention_reasons = self._select_retained(folders, versions)
        expired_tags = sorted(folders.keys() - retention_reasons.keys())
        if not dry_run:
            expired_versions = [versions[tag] for tag in expired_tags if tag in versions]
            retention_reasons |= self._discard_versions(dataset, expired_versions)
            expired_tags = [tag for tag in expired_tags if tag not in retention_reasons]
            file_system = self._file_systems.for_path(dataset.path_or_table)
            for tag in expired_tags:
                file_system.delete(folders[tag])
        kept = {tag: retention_reasons[tag] for tag in sorted(folders) if tag in retention_reasons}
        return CleanupResult(str(dataset), removed=expired_tags, kept=kept)

    def _discard_versions(self, dataset: DatasetLocation, versions: list[VersionResult]) -> dict[str, str]:
        """Discard versions. Return those that must be retained after all, each with the reason.

        The registry does not discard a version that was pinned or published in the meantime. Versions whose files
        such a version uses become valid again.
        """
        identity = {"namespace": dataset.namespace, "name": dataset.name}
        reason = f"its files were removed on {self._now:%Y-%m-%d}"
        retention_reasons: dict[str, str] = {}
        for start in range(0, len(versions), _PAGE):
            version_ids = [version.id for version in versions[start : start + _PAGE]]
            result = self._backend.execute(DiscardCommand(**identity, versions=version_ids, reason=reason))
            retention_reasons |= {tag: ", ".join(reasons) for tag, reasons in result.held.items()}
        retained_paths = {version.tag: version.path for version in versions if version.tag in retention_reasons}
        reference_reasons = self._referenced_versions(retained_paths)
        for version in versions:
            if version.tag in reference_reasons and version.invalid is None:
                self._backend.execute(InvalidateCommand(**identity, version=version.id, valid=True))
        return retention_reasons | reference_reasons

    def _select_retained(self, folders: Mapping[str, str], versions: Mapping[str, VersionResult]) -> dict[str, str]:
        """Return the versions to retain, each with the reason. Both parameters are keyed by version tag."""
        retention_reasons: dict[str, str] = {}
        valid_tags = [version.tag for version in versions.values() if version.invalid is None]
        newest_tags = valid_tags[: self._policy.versions]
        for tag, version in versions.items():
            if version.published:
                retention_reasons[tag] = "published"
            elif version.pins:
                retention_reasons[tag] = f"pinned as {', '.join(version.pins)}"
            elif tag in newest_tags:
                retention_reasons[tag] = f"one of the newest {self._policy.versions}"
        for tag in folders:
            reason = self._too_recent_reason(tag, is_registered=tag in versions)
            if tag not in retention_reasons and reason is not None:
                retention_reasons[tag] = reason
        retained_paths = {tag: versions[tag].path if tag in versions else folders[tag] for tag in retention_reasons}
        return retention_reasons | self._referenced_versions(retained_paths)

    def _too_recent_reason(self, tag: str, *, is_registered: bool) -> str | None:
        """Return why a version is too recent to be removed, or None if it is not. A tag begins with a start time."""
        time_text, _, _ = tag.partition("-")
        try:
            started_at = datetime.strptime(time_text, "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            return "name does not start with a time"
        if started_at > self._now - timedelta(days=self._policy.days):
            return f"younger than {self._policy.days:g} {'day' if self._policy.days == 1 else 'days'}"
        if not is_registered and started_at > self._now - _MAX_RUN_TIME:
            return "a run may still be writing it"
        return None

    def _referenced_versions(self, retained_paths: Mapping[str, str | None]) -> dict[str, str]:
        """Return expired versions whose files retained versions use, each with the reason to retain it.

        `retained_paths` are the paths of the retained versions by version tag.
        """
        retention_reasons: dict[str, str] = {}
        for tag, path in retained_paths.items():
            manifest = self._resolver.read_version_manifest(path)
            for root in manifest.roots if manifest else ():
                if root.version not in retained_paths:
                    retention_reasons.setdefault(root.version, f"part of {tag}")
        return retention_reasons

    def _list_versions(self, dataset: DatasetLocation) -> Iterator[VersionResult]:
        try:
            yield from iterate_pages(
                self._backend, VersionsQuery(namespace=dataset.namespace, name=dataset.name, limit=_PAGE)
            )
        except NotFound:
            return
