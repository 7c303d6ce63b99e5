"""Resolves inputs to versions, files and columns."""

import hashlib
from collections.abc import Mapping

import msgspec

from bridge.errors import NotFound, ProcessNotReady, StateConflict
from bridge.process.backend import ProcessBackend, iterate_pages
from bridge.process.dataset_location import DatasetLocation
from bridge.process.definition import FILE_FORMATS, LIVE, Input
from bridge.process.manifest import MANIFEST_NAME, VersionManifest, decode_delivery_manifest, decode_version_manifest
from bridge.process.plan import PlannedInput
from bridge.queries.dataset import DatasetQuery
from bridge.queries.lineage import LineageQuery
from bridge.queries.versions import PartitionsQuery, ResolveVersionQuery, VersionsQuery
from bridge.versions.results import ResolvedVersion
from connectors.errors import InvalidData
from connectors.spark.file_system import FileSystems

_MANY = 1_000
_DEPTH = 50


class InputResolver:
    """Asks the registry, and looks at files."""

    def __init__(self, link: ProcessBackend, storage: FileSystems) -> None:
        self._link = link
        self._storage = storage

    def resolve(self, wanted: Input, address: DatasetLocation) -> PlannedInput:
        """Find one input; raises Unready with the reason and what to do."""
        where = f"inputs.{wanted.as_} ({address})"
        if wanted.manifest is not None:
            return self._resolve_delivery(wanted, address, where)
        if address.live or wanted.pin == LIVE:
            return self._resolve_live(wanted, address, where)
        try:
            found = self._link.query(
                ResolveVersionQuery(namespace=address.namespace, name=address.name, pin=wanted.pin)
            )
        except NotFound as error:
            raise ProcessNotReady(f"{where}: {error}: {self._suggestion(wanted, address)}") from error
        except StateConflict as error:
            raise ProcessNotReady(f"{where}: {error}") from error
        if (reason := found.invalid) is not None:
            raise ProcessNotReady(f"{where}: version {found.tag!r} is not to be read: {reason}")
        self._check_partitions(wanted, address, found, where)
        return self._resolve_version(wanted, address, found, where)

    def read_version_manifest(self, path: str | None) -> VersionManifest | None:
        """Read what the version at a path consists of; None where it was not written by a process."""
        if path is None:
            return None
        file = f"{path.rstrip('/')}/{MANIFEST_NAME}"
        raw = self._storage.for_path(path).read(file)
        return None if raw is None else decode_version_manifest(raw, file)

    def outputs_upstream_of(self, address: DatasetLocation, outputs: Mapping[DatasetLocation, str]) -> list[str]:
        """Name the outputs that a dataset is made from, by other jobs: they would go round."""
        ask = LineageQuery(namespace=address.namespace, name=address.name, direction="upstream", depth=_DEPTH)
        try:
            edges = self._link.query(ask).edges
        except NotFound:
            return []
        sources = {(one.source.namespace, one.source.name) for one in edges if one.source is not None}
        return [said for output, said in outputs.items() if (output.namespace, output.name) in sources]

    def _resolve_version(
        self, wanted: Input, address: DatasetLocation, found: ResolvedVersion, where: str
    ) -> PlannedInput:
        """Say where a version lies; one that was written over where it lies is not there any more."""
        fingerprint = found.tag
        content = self.read_version_manifest(found.path) if wanted.format in FILE_FORMATS else None
        if content is None and wanted.format in FILE_FORMATS:
            newest = self._link.query(VersionsQuery(namespace=address.namespace, name=address.name, limit=1)).items
            if newest and newest[0].tag != found.tag:
                raise ProcessNotReady(
                    f"{where}: version {found.tag!r} was written over in place by {newest[0].tag!r}: publish that, "
                    "or say pin: live to read what lies there now"
                )
            files = self._fingerprint_files(address)
            if files is None:
                raise ProcessNotReady(
                    f"{where}: version {found.tag!r} is in the registry, and there are no files at {address.location}"
                )
            fingerprint = f"{found.tag} {files}"
        columns = dict(content.columns) if content else self._columns(address)
        return PlannedInput(wanted, address, found.tag, found.by, fingerprint, columns, found.rows, content)

    def _resolve_live(self, wanted: Input, address: DatasetLocation, where: str) -> PlannedInput:
        if address.live and "pin" in wanted.model_fields_set and wanted.pin != LIVE:
            raise ProcessNotReady(
                f"{where}: is changed where it lies, so that no version of it can be read: say pin: live"
            )
        if wanted.format not in FILE_FORMATS:
            return PlannedInput(wanted, address, None, LIVE, None, self._columns(address))
        fingerprint = self._fingerprint_files(address)
        if fingerprint is None:
            raise ProcessNotReady(f"{where}: there are no files")
        declared = dict(wanted.columns) or self._columns(address)
        return PlannedInput(wanted, address, None, LIVE, fingerprint, declared)

    def _resolve_delivery(self, wanted: Input, address: DatasetLocation, where: str) -> PlannedInput:
        """Read a manifest and see that all its files are there as it says: before that there is no version."""
        path = wanted.manifest or ""
        path = path if path.startswith("/") or "://" in path else f"{address.location.rstrip('/')}/{path}"
        raw = self._storage.for_path(path).read(path)
        if raw is None:
            raise ProcessNotReady(f"{where}: there is no manifest {path}")
        manifest = decode_delivery_manifest(raw, path)
        version = hashlib.sha256(raw).hexdigest()[:16]
        return PlannedInput(
            wanted, address, version, "manifest", version, dict(manifest.columns), manifest.rows, None, manifest
        )

    def _fingerprint_files(self, address: DatasetLocation) -> str | None:
        """Tell the files that lie there now from others; None when there are none."""
        files = self._storage.for_path(address.location).files(address.location)
        if not files:
            return None
        digest = hashlib.sha256()
        for one in files:
            digest.update(msgspec.json.encode(tuple(one)))
        return digest.hexdigest()[:16]

    def _columns(self, address: DatasetLocation) -> dict[str, str]:
        try:
            known = self._link.query(DatasetQuery(namespace=address.namespace, name=address.name))
        except NotFound:
            return {}
        return {one.name: one.type or "" for one in known.fields if not one.depth}

    def _check_partitions(self, wanted: Input, address: DatasetLocation, found: ResolvedVersion, where: str) -> None:
        """Refuse what holds a partition that somebody marked as not to be read."""
        if found.partitions is None:
            return
        ask = PartitionsQuery(namespace=address.namespace, name=address.name, limit=_MANY)
        for one in iterate_pages(self._link, ask):
            if one.published is None and one.invalid and wanted.partition in {None, one.partition}:
                tag, reason = next(iter(one.invalid.items()))
                raise ProcessNotReady(
                    f"{where}: partition {one.partition} of version {tag!r} is not to be read: {reason}"
                )

    def _suggestion(self, wanted: Input, address: DatasetLocation) -> str:
        if wanted.pin == "published":
            try:
                self._link.query(ResolveVersionQuery(namespace=address.namespace, name=address.name, pin="latest"))
            except (NotFound, StateConflict):
                return "is its name right, did its job run? For files that nobody tells of, say pin: live"
            return "publish one with `lineage-bridge dataset publish`, or say pin: latest"
        return "`lineage-bridge dataset versions` lists those that there are"


def verify_delivery(found: PlannedInput, storage: FileSystems) -> None:
    """See that every file of a manifest is there, of its size and checksum; raises BadData that names the others."""
    manifest = found.delivery
    if manifest is None:
        return
    wrong = []
    top = found.address.location.rstrip("/")
    files = storage.for_path(top)
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
        raise InvalidData(f"inputs.{found.input.as_} ({found.address}): {'; '.join(wrong)}")
