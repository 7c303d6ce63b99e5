"""Deletes files of versions that are no longer needed, and of abandoned runs."""

from collections.abc import Iterable, Iterator, Mapping
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
#: For how long a run may write its files: what is younger, and no version yet, is kept whatever is said.
_RUNNING = timedelta(days=1)


class RetentionPolicy(NamedTuple):
    """What is kept of a dataset beside what is published or pinned."""

    versions: int
    days: float


class CleanupResult(msgspec.Struct, frozen=True):
    """What became of the folders of a dataset: each by its version."""

    dataset: str
    removed: list[str]
    #: Why the others are kept.
    kept: dict[str, str]


class VersionCleaner:
    """Cleans one dataset after the other."""

    def __init__(self, link: ProcessBackend, storage: FileSystems, keeping: RetentionPolicy, now: datetime) -> None:
        self._link = link
        self._storage = storage
        self._keeping = keeping
        self._now = now
        self._finder = InputResolver(link, storage)

    def version_folders(self, address: DatasetLocation) -> dict[str, str]:
        """Name the folders of versions, by these; raises ConfigError when there are none."""
        found = {}
        for one in self._storage.for_path(address.location).folders(address.location):
            name = one.rstrip("/").rpartition("/")[2]
            if name.startswith(VERSION_FOLDER_PREFIX):
                found[name.removeprefix(VERSION_FOLDER_PREFIX)] = one
        if not found:
            raise ConfigError(f"{address}: there are no versions of processes at {address.location}")
        return found

    def clean(self, address: DatasetLocation, *, dry: bool) -> CleanupResult:
        """Give up what nobody needs, then remove its files: in this order, nobody reads what is half gone."""
        folders = self.version_folders(address)
        known = {one.tag: one for one in self._versions(address)}
        kept = self._retained(folders, known)
        gone = sorted(set(folders) - set(kept))
        if not dry:
            held = self._discard(address, [known[tag] for tag in gone if tag in known])
            kept |= held
            gone = [tag for tag in gone if tag not in held]
            files = self._storage.for_path(address.location)
            for tag in gone:
                files.delete(folders[tag])
        return CleanupResult(str(address), gone, {tag: kept[tag] for tag in sorted(folders) if tag in kept})

    def _discard(self, address: DatasetLocation, versions: list[VersionResult]) -> dict[str, str]:
        """Have nobody read versions any more; tells why some of them are kept after all.

        Somebody may have pinned one since it was looked at: what that is made of is given back to readers.
        """
        where = {"namespace": address.namespace, "name": address.name}
        reason = f"its files were removed on {self._now:%Y-%m-%d}"
        held: dict[str, str] = {}
        for first in range(0, len(versions), _PAGE):
            some = [one.id for one in versions[first : first + _PAGE]]
            done = self._link.execute(DiscardCommand(**where, versions=some, reason=reason))
            held |= {tag: ", ".join(reasons) for tag, reasons in done.held.items()}
        paths = {one.tag: one.path for one in versions if one.tag in held}
        needed = self._referenced_versions(held, paths)
        for one in versions:
            if one.tag in needed and one.invalid is None:
                self._link.execute(InvalidateCommand(**where, version=one.id, valid=True))
        return held | needed

    def _retained(self, folders: Mapping[str, str], known: Mapping[str, VersionResult]) -> dict[str, str]:
        kept: dict[str, str] = {}
        newest = [one.tag for one in known.values() if one.invalid is None][: self._keeping.versions]
        for tag, one in known.items():
            if one.published or one.pins:
                kept[tag] = "published" if one.published else f"pinned as {', '.join(one.pins)}"
            elif tag in newest:
                kept[tag] = f"one of the newest {self._keeping.versions}"
        for tag in folders:
            if tag not in kept and (reason := self._too_recent(tag, complete=tag in known)) is not None:
                kept[tag] = reason
        paths = {tag: known[tag].path if tag in known else folders[tag] for tag in kept}
        return kept | self._referenced_versions(kept, paths)

    def _too_recent(self, tag: str, *, complete: bool) -> str | None:
        """Say why a version is too young to be removed, which its name tells; None when it is old enough."""
        try:
            begun = datetime.strptime(tag.partition("-")[0], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            return "not named as processes name versions"
        if begun > self._now - timedelta(days=self._keeping.days):
            return f"younger than {self._keeping.days:g} days"
        if not complete and begun > self._now - _RUNNING:
            return "perhaps still being written"
        return None

    def _referenced_versions(self, kept: Iterable[str], paths: Mapping[str, str | None]) -> dict[str, str]:
        """Name the versions whose files are parts of those that are kept, and are not kept themselves."""
        found: dict[str, str] = {}
        for tag, path in paths.items():
            content = self._finder.read_version_manifest(path)
            for root in content.roots if content else ():
                if root.version not in kept:
                    found.setdefault(root.version, f"part of {tag}")
        return found

    def _versions(self, address: DatasetLocation) -> Iterator[VersionResult]:
        try:
            yield from iterate_pages(
                self._link, VersionsQuery(namespace=address.namespace, name=address.name, limit=_PAGE)
            )
        except NotFound:
            return
