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
from mappers.counts import count_of

_PAGE_SIZE = 1_000
_MAX_DEPTH = 50


class InputResolver:
    """Resolves inputs against the registry and the files."""

    def __init__(self, backend: ProcessBackend, file_systems: FileSystems) -> None:
        self._backend = backend
        self._file_systems = file_systems

    def resolve(self, input_: Input, location: DatasetLocation) -> PlannedInput:
        """Resolve one input. Raises ProcessNotReady with the reason and the remedy."""
        label = f"inputs.{input_.as_} ({location})"
        if input_.manifest is not None:
            return self._resolve_delivery(input_, location, label)
        if location.is_mutable or input_.pin == LIVE:
            return self._resolve_live(input_, location, label)
        try:
            version = self._backend.query(
                ResolveVersionQuery(namespace=location.namespace, name=location.name, pin=input_.pin)
            )
        except NotFound as error:
            raise ProcessNotReady(f"{label}: {error}: {self._suggest_remedy(input_, location)}") from error
        except StateConflict as error:
            raise ProcessNotReady(f"{label}: {error}") from error
        if (reason := version.invalid) is not None:
            raise ProcessNotReady(f"{label}: version {version.tag!r} is invalid: {reason}")
        self._check_partitions(input_, location, version, label)
        return self._resolve_version(input_, location, version, label)

    def read_version_manifest(self, path: str | None) -> VersionManifest | None:
        """Return the manifest of the version at a path, or None if no process wrote the version."""
        if path is None:
            return None
        file = f"{path.rstrip('/')}/{MANIFEST_NAME}"
        content = self._file_systems.for_path(path).read(file)
        return None if content is None else decode_version_manifest(content, file)

    def outputs_upstream_of(self, dataset: DatasetLocation, outputs: Mapping[DatasetLocation, str]) -> list[str]:
        """Return the outputs from which a dataset derives. If there are any, reading it would create a cycle."""
        query = LineageQuery(namespace=dataset.namespace, name=dataset.name, direction="upstream", depth=_MAX_DEPTH)
        try:
            edges = self._backend.query(query).edges
        except NotFound:
            return []
        sources = {(edge.source.namespace, edge.source.name) for edge in edges if edge.source is not None}
        return [
            output_name for location, output_name in outputs.items() if (location.namespace, location.name) in sources
        ]

    def _resolve_version(
        self, input_: Input, location: DatasetLocation, version: ResolvedVersion, label: str
    ) -> PlannedInput:
        """Locate a version. Raises ProcessNotReady if the version was overwritten in place."""
        fingerprint = version.tag
        manifest = None
        if input_.format in FILE_FORMATS:
            manifest = self.read_version_manifest(version.path)
            if manifest is None:
                fingerprint = f"{version.tag} {self._fingerprint_current_files(location, version, label)}"
        columns = dict(manifest.columns) if manifest else self._read_columns(location)
        return PlannedInput(
            input_,
            location,
            version=version.tag,
            resolved_by=version.by,
            fingerprint=fingerprint,
            columns=columns,
            rows=version.rows,
            manifest=manifest,
        )

    def _fingerprint_current_files(self, location: DatasetLocation, version: ResolvedVersion, label: str) -> str:
        """Return the fingerprint of the files at a location, which must still be the files of the version.

        A version that no process wrote has no folder of its own: the next version overwrites its files.
        """
        query = VersionsQuery(namespace=location.namespace, name=location.name, limit=1)
        newest = next(iter(self._backend.query(query).items), None)
        if newest is not None and newest.tag != version.tag:
            raise ProcessNotReady(
                f"{label}: version {version.tag!r} was overwritten in place by {newest.tag!r}: "
                "publish that version, or use pin: live to read the current content"
            )
        fingerprint = self._fingerprint_files(location)
        if fingerprint is None:
            raise ProcessNotReady(
                f"{label}: version {version.tag!r} is in the registry, but there are no files at "
                f"{location.path_or_table}"
            )
        return fingerprint

    def _resolve_live(self, input_: Input, location: DatasetLocation, label: str) -> PlannedInput:
        """Plan to read the current content of an input."""
        if location.is_mutable and "pin" in input_.model_fields_set and input_.pin != LIVE:
            raise ProcessNotReady(f"{label}: changes in place, so its versions cannot be read: use pin: live")
        if input_.format not in FILE_FORMATS:
            columns = self._read_columns(location)
            return PlannedInput(input_, location, version=None, resolved_by=LIVE, fingerprint=None, columns=columns)
        fingerprint = self._fingerprint_files(location)
        if fingerprint is None:
            raise ProcessNotReady(f"{label}: there are no files")
        columns = dict(input_.columns) or self._read_columns(location)
        return PlannedInput(
            input_, location, version=None, resolved_by=LIVE, fingerprint=fingerprint, columns=columns
        )

    def _resolve_delivery(self, input_: Input, location: DatasetLocation, label: str) -> PlannedInput:
        """Read a delivery manifest, which defines the version."""
        path = input_.manifest or ""
        is_relative = not path.startswith("/") and "://" not in path
        if is_relative:
            path = f"{location.path_or_table.rstrip('/')}/{path}"
        content = self._file_systems.for_path(path).read(path)
        if content is None:
            raise ProcessNotReady(f"{label}: there is no manifest {path}")
        manifest = decode_delivery_manifest(content, path)
        version = hashlib.sha256(content).hexdigest()[:16]
        return PlannedInput(
            input_,
            location,
            version=version,
            resolved_by="manifest",
            fingerprint=version,
            columns=dict(manifest.columns),
            rows=manifest.rows,
            delivery=manifest,
        )

    def _fingerprint_files(self, location: DatasetLocation) -> str | None:
        """Return a hash that changes with the file list of a location, or None if there are no files."""
        files = self._file_systems.for_path(location.path_or_table).list_files(location.path_or_table)
        if not files:
            return None
        digest = hashlib.sha256()
        for file in files:
            digest.update(msgspec.json.encode(tuple(file)))
        return digest.hexdigest()[:16]

    def _read_columns(self, location: DatasetLocation) -> dict[str, str]:
        """Read the top-level columns of a dataset from the store."""
        try:
            dataset = self._backend.query(DatasetQuery(namespace=location.namespace, name=location.name))
        except NotFound:
            return {}
        return {field.name: field.type or "" for field in dataset.fields if not field.depth}

    def _check_partitions(
        self, input_: Input, location: DatasetLocation, version: ResolvedVersion, label: str
    ) -> None:
        """Raise ProcessNotReady if a partition that would be read is invalid."""
        if version.partitions is None:
            return
        query = PartitionsQuery(namespace=location.namespace, name=location.name, limit=_PAGE_SIZE)
        for partition in iterate_pages(self._backend, query):
            is_read = input_.partition in {None, partition.partition}
            if is_read and partition.published is None and partition.invalid:
                tag, reason = next(iter(partition.invalid.items()))
                raise ProcessNotReady(
                    f"{label}: partition {partition.partition} of version {tag!r} is invalid: {reason}"
                )

    def _suggest_remedy(self, input_: Input, location: DatasetLocation) -> str:
        """Suggest what to do about a version that was not found."""
        if input_.pin != "published":
            return "`lineage-bridge dataset versions` lists the existing ones"
        try:
            self._backend.query(ResolveVersionQuery(namespace=location.namespace, name=location.name, pin="latest"))
        except (NotFound, StateConflict):
            return "check its name and whether its job ran; for files without lineage events use pin: live"
        return "publish one with `lineage-bridge dataset publish`, or use pin: latest"


def verify_delivery(planned_input: PlannedInput, file_systems: FileSystems) -> None:
    """Check size and checksum of every delivered file. Raises InvalidData with a list of all problems."""
    manifest = planned_input.delivery
    if manifest is None:
        return
    problems = []
    root = planned_input.location.path_or_table.rstrip("/")
    file_system = file_systems.for_path(root)
    unlisted_files = {
        file.path.removeprefix("file:").removeprefix(root).lstrip("/"): file for file in file_system.list_files(root)
    }
    for entry in manifest.files:
        file = unlisted_files.pop(entry.path, None)
        if file is None:
            problems.append(f"{entry.path}: is missing")
        elif file.size != entry.size:
            problems.append(f"{entry.path}: has {count_of(file.size, 'byte')}, the manifest says {entry.size}")
        elif file_system.sha256(file.path) != entry.sha256.lower():
            problems.append(f"{entry.path}: checksum differs from the manifest")
    problems += [f"{path}: is not in the manifest" for path in unlisted_files if path != planned_input.input.manifest]
    if problems:
        raise InvalidData(f"inputs.{planned_input.input.as_} ({planned_input.location}): {'; '.join(problems)}")
