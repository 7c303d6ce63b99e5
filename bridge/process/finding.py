"""Finds what a process reads: the version that is meant, the files that belong to it, and what is known of them."""

import hashlib
from collections.abc import Mapping

import msgspec

from bridge.catalogue.dataset import Dataset
from bridge.catalogue.decided import ResolvedVersion
from bridge.catalogue.lineage import Lineage
from bridge.catalogue.registry import Partitions, Resolve
from bridge.catalogue.version import Versions
from bridge.process.address import Address
from bridge.process.content import FILE, Content, read_content, read_manifest
from bridge.process.definition import FILES, LIVE, Input
from bridge.process.link import Link, every
from bridge.process.plan import PlannedInput
from connectors.spark.storage import Storage
from mappers.errors import BadData, Conflict, UnknownName, Unready

_MANY = 1_000
_DEPTH = 50


class Finder:
    """Asks the registry, and looks at files."""

    def __init__(self, link: Link, storage: Storage) -> None:
        self._link = link
        self._storage = storage

    def find(self, wanted: Input, address: Address) -> PlannedInput:
        """Find one input; raises Unready with the reason and what to do."""
        where = f"inputs.{wanted.as_} ({address})"
        if wanted.manifest is not None:
            return self._brought(wanted, address, where)
        if address.live or wanted.pin == LIVE:
            return self._live(wanted, address, where)
        try:
            found = self._link.ask(Resolve(namespace=address.namespace, name=address.name, pin=wanted.pin))
        except UnknownName as error:
            raise Unready(f"{where}: {error}: {self._remedy(wanted, address)}") from error
        except Conflict as error:
            raise Unready(f"{where}: {error}") from error
        if (reason := found.invalid) is not None:
            raise Unready(f"{where}: version {found.tag!r} is not to be read: {reason}")
        self._check_partitions(wanted, address, found, where)
        return self._versioned(wanted, address, found, where)

    def content_of(self, path: str | None) -> Content | None:
        """Read what the version at a path consists of; None where it was not written by a process."""
        if path is None:
            return None
        file = f"{path.rstrip('/')}/{FILE}"
        raw = self._storage.of(path).read(file)
        return None if raw is None else read_content(raw, file)

    def made_from(self, address: Address, outputs: Mapping[Address, str]) -> list[str]:
        """Name the outputs that a dataset is made from, by other jobs: they would go round."""
        ask = Lineage(namespace=address.namespace, name=address.name, direction="upstream", depth=_DEPTH)
        try:
            edges = self._link.ask(ask).edges
        except UnknownName:
            return []
        sources = {(one.source.namespace, one.source.name) for one in edges if one.source is not None}
        return [said for output, said in outputs.items() if (output.namespace, output.name) in sources]

    def _versioned(self, wanted: Input, address: Address, found: ResolvedVersion, where: str) -> PlannedInput:
        """Say where a version lies; one that was written over where it lies is not there any more."""
        fingerprint = found.tag
        content = self.content_of(found.path) if wanted.format in FILES else None
        if content is None and wanted.format in FILES:
            newest = self._link.ask(Versions(namespace=address.namespace, name=address.name, limit=1)).items
            if newest and newest[0].tag != found.tag:
                raise Unready(
                    f"{where}: version {found.tag!r} was written over in place by {newest[0].tag!r}: publish that, "
                    "or say pin: live to read what lies there now"
                )
            files = self._print(address)
            if files is None:
                raise Unready(
                    f"{where}: version {found.tag!r} is in the registry, and there are no files at {address.location}"
                )
            fingerprint = f"{found.tag} {files}"
        columns = dict(content.columns) if content else self._columns(address)
        return PlannedInput(wanted, address, found.tag, found.by, fingerprint, columns, found.rows, content)

    def _live(self, wanted: Input, address: Address, where: str) -> PlannedInput:
        if address.live and "pin" in wanted.model_fields_set and wanted.pin != LIVE:
            raise Unready(f"{where}: is changed where it lies, so that no version of it can be read: say pin: live")
        if wanted.format not in FILES:
            return PlannedInput(wanted, address, None, LIVE, None, self._columns(address))
        fingerprint = self._print(address)
        if fingerprint is None:
            raise Unready(f"{where}: there are no files")
        declared = dict(wanted.columns) or self._columns(address)
        return PlannedInput(wanted, address, None, LIVE, fingerprint, declared)

    def _brought(self, wanted: Input, address: Address, where: str) -> PlannedInput:
        """Read a manifest and see that all its files are there as it says: before that there is no version."""
        path = wanted.manifest or ""
        path = path if path.startswith("/") or "://" in path else f"{address.location.rstrip('/')}/{path}"
        raw = self._storage.of(path).read(path)
        if raw is None:
            raise Unready(f"{where}: there is no manifest {path}")
        manifest = read_manifest(raw, path)
        version = hashlib.sha256(raw).hexdigest()[:16]
        return PlannedInput(
            wanted, address, version, "manifest", version, dict(manifest.columns), manifest.rows, None, manifest
        )

    def _print(self, address: Address) -> str | None:
        """Tell the files that lie there now from others; None when there are none."""
        files = self._storage.of(address.location).files(address.location)
        if not files:
            return None
        digest = hashlib.sha256()
        for one in files:
            digest.update(msgspec.json.encode(tuple(one)))
        return digest.hexdigest()[:16]

    def _columns(self, address: Address) -> dict[str, str]:
        try:
            known = self._link.ask(Dataset(namespace=address.namespace, name=address.name))
        except UnknownName:
            return {}
        return {one.name: one.type or "" for one in known.fields if not one.depth}

    def _check_partitions(self, wanted: Input, address: Address, found: ResolvedVersion, where: str) -> None:
        """Refuse what holds a partition that somebody marked as not to be read."""
        if found.partitions is None:
            return
        ask = Partitions(namespace=address.namespace, name=address.name, limit=_MANY)
        for one in every(self._link, ask):
            if one.published is None and one.invalid and wanted.partition in {None, one.partition}:
                tag, reason = next(iter(one.invalid.items()))
                raise Unready(f"{where}: partition {one.partition} of version {tag!r} is not to be read: {reason}")

    def _remedy(self, wanted: Input, address: Address) -> str:
        if wanted.pin == "published":
            try:
                self._link.ask(Resolve(namespace=address.namespace, name=address.name, pin="latest"))
            except (UnknownName, Conflict):
                return "is its name right, did its job run? For files that nobody tells of, say pin: live"
            return "publish one with `lineage-bridge dataset publish`, or say pin: latest"
        return "`lineage-bridge dataset versions` lists those that there are"


def check_manifest(found: PlannedInput, storage: Storage) -> None:
    """See that every file of a manifest is there, of its size and checksum; raises BadData that names the others."""
    manifest = found.manifest
    if manifest is None:
        return
    wrong = []
    top = found.address.location.rstrip("/")
    files = storage.of(top)
    there = {one.path.removeprefix("file:").removeprefix(top).lstrip("/"): one for one in files.files(top)}
    for piece in manifest.files:
        stored = there.pop(piece.path, None)
        if stored is None:
            wrong.append(f"{piece.path}: is not there")
        elif stored.size != piece.size:
            wrong.append(f"{piece.path}: has {stored.size} bytes, and the manifest says {piece.size}")
        elif files.sha256(stored.path) != piece.sha256.lower():
            wrong.append(f"{piece.path}: has another checksum than the manifest says")
    wrong += [f"{path}: is not in the manifest" for path in there if path != found.input.manifest]
    if wrong:
        raise BadData(f"inputs.{found.input.as_} ({found.address}): {'; '.join(wrong)}")
