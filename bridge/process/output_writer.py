"""Writes outputs to their own version folder or to staging, and measures them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import DataFrame, SparkSession

from bridge.errors import JobFailed, ProcessNotReady
from bridge.process.check_sql import (
    ROWS,
    CheckOutcome,
    aggregate_expression,
    column_profiles,
    evaluate,
    format_checksum,
    measurement_expressions,
    profile_expressions,
)
from bridge.process.column_types import column_problems, normalize_type
from bridge.process.definition import FILE_FORMATS, Output
from bridge.process.manifest import (
    MANIFEST_NAME,
    MAX_ROOTS,
    DeliveredFile,
    DeliveryManifest,
    VersionManifest,
    VersionRoot,
)
from bridge.process.plan import Plan, PlannedOutput
from connectors.errors import InvalidData
from connectors.spark.file_system import DataFile, FileSystems
from connectors.spark.frames import ReadOptions, WriteOptions, frame_columns, merge_frames, read_frame, write_frame
from mappers.counts import count_of

#: Name of the delivery manifest that outputs of format files get.
DELIVERY_MANIFEST_NAME = "manifest.json"


class WriteResult(NamedTuple):
    """A written output and its measurements."""

    planned_output: PlannedOutput
    manifest: VersionManifest
    #: Folder of the files; for tables, a staging folder.
    folder: str
    files: int
    bytes: int
    #: Rows that this run wrote; after an append, the version has more.
    rows: int
    #: Version tag; table formats assign their own.
    version: str
    partitions: Sequence[str] = ()
    outcomes: Sequence[CheckOutcome] = ()
    profile: Mapping[str, Mapping[str, Any]] = {}


class OutputWriter:
    """Writes output files, which are invisible to readers until publication."""

    def __init__(
        self, session: SparkSession, file_systems: FileSystems, plan: Plan, staging: str, now: datetime
    ) -> None:
        self._session = session
        self._file_systems = file_systems
        self._plan = plan
        self._staging = staging
        self._now = now

    def write(self, planned_output: PlannedOutput, frame: DataFrame) -> WriteResult:
        """Write and measure an output in one pass. Raises InvalidData if its columns are not as expected."""
        output = planned_output.output
        columns = frame_columns(frame)
        problems = column_problems(f"outputs.{output.dataset}", output.columns, columns)
        if problems:
            raise InvalidData("\n".join(problems))
        rows, retained_roots = self._rows_and_retained_roots(planned_output, frame, columns)
        format_, options = _file_format(output)
        if output.format in FILE_FORMATS:
            folder = planned_output.folder
            partition_by = output.partition_by
        else:
            folder = f"{self._staging}/{planned_output.tag}/{output.dataset.strip('/')}"
            partition_by = []
        aggregates = _aggregates(planned_output, columns)
        measurements = write_frame(rows, WriteOptions(format_, folder, partition_by, options), aggregates)
        stored_files = self._file_systems.for_path(folder).list_files(folder)
        partitions = _partition_names(stored_files, folder) if partition_by else []
        if output.mode == "overwrite":
            retained_roots = [root for root in retained_roots if root.partition not in partitions]
        manifest = VersionManifest(
            version=planned_output.tag,
            key=planned_output.key,
            format=format_,
            roots=[*retained_roots, *_new_roots(planned_output, folder, partitions)],
            columns=columns,
            rows=_total_rows(output, measurements[ROWS], planned_output.base_manifest if retained_roots else None),
            checksum=format_checksum(measurements),
            options=options,
            partition_by=partition_by,
        )
        outcomes = [
            evaluate(check, measurements[f"check{index}"], self._now)
            for index, check in enumerate(planned_output.checks)
            if f"check{index}" in measurements
        ]
        return WriteResult(
            planned_output,
            manifest,
            folder,
            files=len(stored_files),
            bytes=sum(file.size for file in stored_files),
            rows=measurements[ROWS],
            version=planned_output.tag,
            partitions=partitions if output.replace == "partitions" else [],
            outcomes=outcomes,
            profile=column_profiles(measurements),
        )

    def read_back(self, result: WriteResult) -> DataFrame:
        """Read an output the way readers of the new version will."""
        manifest, planned_output = result.manifest, result.planned_output
        if manifest.format not in FILE_FORMATS:  # an existing version of a table
            table = planned_output.location.path_or_table
            return read_frame(
                self._session,
                ReadOptions(manifest.format, table, version=result.version, options=manifest.options),
            )
        location = result.folder
        roots = None
        if planned_output.output.format in FILE_FORMATS:
            location = planned_output.location.path_or_table
            roots = [root.path for root in manifest.roots]
        options = ReadOptions(manifest.format, location, roots, columns=manifest.columns, options=manifest.options)
        return read_frame(self._session, options)

    def write_manifests(self, result: WriteResult) -> None:
        """Write the version manifest of an output and, for format files, the delivery manifest."""
        folder = result.folder
        file_system = self._file_systems.for_path(folder)
        if result.planned_output.output.format == "files":
            file_system.write(
                f"{folder}/{DELIVERY_MANIFEST_NAME}", msgspec.json.encode(self._delivery_manifest(result))
            )
        file_system.write(f"{folder}/{MANIFEST_NAME}", msgspec.json.encode(result.manifest))

    def verify(self, result: WriteResult) -> None:
        """Raise JobFailed if the manifest or files of a written output no longer exist."""
        folder = result.folder
        file_system = self._file_systems.for_path(folder)
        ignored_name = DELIVERY_MANIFEST_NAME if result.planned_output.output.format == "files" else None
        sizes = [
            file.size for file in file_system.list_files(folder) if _relative_path(file.path, folder) != ignored_name
        ]
        if file_system.read(f"{folder}/{MANIFEST_NAME}") is None:
            problem = "it was deleted"
        elif len(sizes) < result.files or sum(sizes) < result.bytes:
            problem = f"it has {count_of(len(sizes), 'file')} with {count_of(sum(sizes), 'byte')}"
        else:
            return
        raise JobFailed(
            f"outputs.{result.planned_output.output.dataset}: the folder {folder} is incomplete: {problem}, but "
            f"the run wrote {count_of(result.files, 'file')} with {count_of(result.bytes, 'byte')}. Another program "
            "deleted them: run again"
        )

    def _delivery_manifest(self, result: WriteResult) -> DeliveryManifest:
        """List the files of an output with their sizes and checksums, as a supplier would."""
        file_system = self._file_systems.for_path(result.folder)
        delivered_files = [
            DeliveredFile(_relative_path(file.path, result.folder), file.size, file_system.sha256(file.path))
            for file in file_system.list_files(result.folder)
        ]
        manifest = result.manifest
        business_date = self._plan.values.get("business_date")
        return DeliveryManifest(
            delivered_files,
            manifest.format,
            result.rows,
            manifest.columns,
            business_date=None if business_date is None else str(business_date),
            options=manifest.options,
        )

    def _rows_and_retained_roots(
        self, planned_output: PlannedOutput, frame: DataFrame, columns: Mapping[str, str]
    ) -> tuple[DataFrame, list[VersionRoot]]:
        """Return the rows to write, and the folders of earlier versions that the new version retains."""
        output, base = planned_output.output, planned_output.base_manifest
        if base is None:
            return frame, []
        _check_base_columns(output, base, columns)
        if output.mode == "overwrite":
            if any(root.partition is None for root in base.roots):
                reason = f"the published version {base.version!r} is not partitioned: use replace: all"
                raise ProcessNotReady(f"outputs.{output.dataset}: {reason}")
            return frame, base.roots
        if output.mode == "append" and len(base.roots) < MAX_ROOTS:
            return frame, base.roots
        roots = [root.path for root in base.roots]
        options = ReadOptions(base.format, planned_output.location.path_or_table, roots, None, columns, base.options)
        published_rows = read_frame(self._session, options)
        if output.mode == "append":
            return published_rows.unionByName(frame), []
        return merge_frames(published_rows, frame, output.keys), []


def _aggregates(planned_output: PlannedOutput, columns: Mapping[str, str]) -> dict[str, str]:
    """Build the aggregates that are computed while an output is written: checks, measurements and profile."""
    aggregates: dict[str, str] = {}
    for index, check in enumerate(planned_output.checks):
        expression = aggregate_expression(check)
        if expression is not None:
            aggregates[f"check{index}"] = expression
    aggregates |= measurement_expressions(columns)
    if planned_output.output.profile:
        aggregates |= profile_expressions(columns)
    return aggregates


def _file_format(output: Output) -> tuple[str, dict[str, Any]]:
    """Return the Spark format and options of the files."""
    if output.format not in FILE_FORMATS:
        return "parquet", {}
    options = {key: value for key, value in output.options.items() if key != "format"}
    if output.format == "files":
        return str(output.options.get("format", "csv")), options
    return output.format, options


def _check_base_columns(output: Output, base: VersionManifest, columns: Mapping[str, str]) -> None:
    """Raise ProcessNotReady if an output lacks a column of the base version. Only CSV allows no new columns."""
    label = f"outputs.{output.dataset}: base version {base.version!r}"
    if base.format == "csv" and list(base.columns) != list(columns):
        raise ProcessNotReady(
            f"{label} has columns {', '.join(base.columns)} in this order, the output has {', '.join(columns)}"
        )
    remedy = "set replace: all" if output.mode == "overwrite" else "use mode: overwrite"
    new_types = {name.lower(): type_ for name, type_ in columns.items()}
    for name, base_type in base.columns.items():
        new_type = new_types.get(name.lower())
        if new_type is None or normalize_type(new_type) != normalize_type(base_type):
            raise ProcessNotReady(
                f"{label} has column {name} ({base_type}), which is now {new_type or 'missing'}: {remedy}"
            )


def _partition_names(stored_files: Sequence[DataFile], folder: str) -> list[str]:
    """Return the names of the written partitions, which are the folders of the files."""
    names = set()
    for file in stored_files:
        partition, _, _ = _relative_path(file.path, folder).rpartition("/")
        if partition:
            names.add(partition)
    return sorted(names)


def _relative_path(path: str, folder: str) -> str:
    """Return the path of a file below a folder. Spark returns local paths with or without the scheme file:."""
    return path.removeprefix("file:").removeprefix(folder.removeprefix("file:")).lstrip("/")


def _new_roots(planned_output: PlannedOutput, folder: str, partitions: Sequence[str]) -> list[VersionRoot]:
    """Return the folders that this run wrote: one per partition if only written partitions are replaced."""
    if planned_output.output.replaces_partitions:
        return [
            VersionRoot(f"{folder}/{partition}", planned_output.tag, planned_output.key, partition)
            for partition in partitions
        ]
    return [VersionRoot(folder, planned_output.tag, planned_output.key)]


def _total_rows(output: Output, written_rows: int, base: VersionManifest | None) -> int | None:
    """Return the row count of the whole version, if known."""
    if base is None:
        return written_rows
    if output.mode == "append" and base.rows is not None:
        return base.rows + written_rows
    return None
