"""Removes the files of versions that nobody needs any more, and of runs that never came to an end."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from bridge.catalogue.version import Version, Versions
from bridge.orders.version_orders import Discard
from bridge.process.address import Address
from bridge.process.content import FOLDER
from bridge.process.finding import Finder
from bridge.process.link import Link, every
from connectors.spark.storage import Storage
from mappers.errors import ConfigError, UnknownName

_PAGE = 500


class Keeping(NamedTuple):
    """What is kept of a dataset beside what is published or pinned."""

    versions: int
    days: float


class Cleaned(msgspec.Struct, frozen=True):
    """What became of the folders of a dataset: each by its version."""

    dataset: str
    removed: list[str]
    #: Why the others are kept.
    kept: dict[str, str]


class Cleaner:
    """Cleans one dataset after the other."""

    def __init__(self, link: Link, storage: Storage, keeping: Keeping, now: datetime) -> None:
        self._link = link
        self._storage = storage
        self._keeping = keeping
        self._now = now
        self._finder = Finder(link, storage)

    def clean(self, address: Address, *, dry: bool) -> Cleaned:
        """Give up what nobody needs, then remove its files: in this order, nobody reads what is half gone."""
        files = self._storage.of(address.location)
        folders = {
            one.rstrip("/").rpartition(FOLDER)[2]: one for one in files.folders(address.location) if FOLDER in one
        }
        if not folders:
            raise ConfigError(f"{address}: there are no versions of processes at {address.location}")
        known = {one.tag: one for one in self._versions(address)}
        kept = self._kept(folders, known)
        gone = sorted(set(folders) - set(kept))
        if not dry:
            gone = self._given_up(address, gone, known, kept)
            for tag in gone:
                files.delete(folders[tag])
        return Cleaned(str(address), gone, dict(sorted(kept.items())))

    def _given_up(
        self, address: Address, tags: list[str], known: dict[str, Version], kept: dict[str, str]
    ) -> list[str]:
        complete = [tag for tag in tags if tag in known]
        if not complete:
            return tags
        done = self._link.order(
            Discard(
                namespace=address.namespace,
                name=address.name,
                versions=complete,
                reason=f"its files were removed on {self._now:%Y-%m-%d}",
            )
        )
        kept |= {tag: ", ".join(reasons) for tag, reasons in done.held.items()}
        needed = self._referenced(kept, {tag: known[tag].path for tag in done.held if tag in known})
        kept |= needed
        return [tag for tag in tags if tag not in done.held and tag not in needed]

    def _kept(self, folders: dict[str, str], known: dict[str, Version]) -> dict[str, str]:
        kept: dict[str, str] = {}
        newest = [one.tag for one in known.values() if one.invalid is None][: self._keeping.versions]
        for tag, one in known.items():
            if one.published or one.pins:
                kept[tag] = "published" if one.published else f"pinned as {', '.join(one.pins)}"
            elif tag in newest:
                kept[tag] = f"one of the newest {self._keeping.versions}"
        young = self._now - timedelta(days=self._keeping.days)
        for tag in folders:
            if tag not in kept and _time(tag) > young:
                kept[tag] = f"younger than {self._keeping.days:g} days"
        paths = {tag: known[tag].path if tag in known else folders[tag] for tag in kept}
        return kept | self._referenced(kept, paths)

    def _referenced(self, kept: dict[str, str], paths: dict[str, str | None]) -> dict[str, str]:
        """Name the versions whose files are parts of those that are kept."""
        found: dict[str, str] = {}
        for tag, path in paths.items():
            content = self._finder.content_of(path)
            for root in content.roots if content else ():
                if root.version not in kept:
                    found[root.version] = f"part of {tag}"
        return found

    def _versions(self, address: Address) -> Iterator[Version]:
        try:
            yield from every(self._link, Versions(namespace=address.namespace, name=address.name, limit=_PAGE))
        except UnknownName:
            return


def _time(tag: str) -> datetime:
    """Read when a version was begun from its name; what is called otherwise is of now, and is kept."""
    try:
        return datetime.strptime(tag.partition("-")[0], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
