"""Writes outputs to their own version folder or to staging, and measures them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import DataFrame, SparkSession

from bridge.errors import ProcessNotReady
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

#: What else lies beside files that are written with a manifest.
DELIVERY_MANIFEST_NAME = "manifest.json"


class WriteResult(NamedTuple):
    """What was written, and what was found of it."""

    planned: PlannedOutput
    content: VersionManifest
    #: Where the files lie; those of a table come into it from there.
    folder: str
    files: int
    bytes: int
    #: How many rows were written: not all that there are, where something was appended.
    rows: int
    #: What the version is called; a table calls it as it likes.
    version: str
    partitions: Sequence[str] = ()
    outcomes: Sequence[CheckOutcome] = ()
    profile: Mapping[str, Mapping[str, Any]] = {}


class OutputWriter:
    """Writes files; who reads what is published sees none of it yet."""

    def __init__(self, session: SparkSession, storage: FileSystems, plan: Plan, staging: str, now: datetime) -> None:
        self._session = session
        self._storage = storage
        self._plan = plan
        self._staging = staging
        self._now = now

    def write(self, planned: PlannedOutput, frame: DataFrame) -> WriteResult:
        """Write an output and count it, in one pass; raises BadData when its columns are not what was promised."""
        output, columns = planned.output, frame_columns(frame)
        problems = column_problems(f"outputs.{output.dataset}", output.columns, columns)
        if problems:
            raise InvalidData("\n".join(problems))
        whole, built_on = self._rows_to_write(planned, frame, columns)
        form, options = _file_format(output)
        files = output.format in FILE_FORMATS
        folder = planned.folder if files else f"{self._staging}/{planned.tag}/{output.dataset.strip('/')}"
        partition_by = output.partition_by if files else []
        counting = {
            f"check{i}": text
            for i, one in enumerate(planned.checks)
            if (text := aggregate_expression(one)) is not None
        }
        counting |= measurement_expressions(columns) | (profile_expressions(columns) if output.profile else {})
        found = write_frame(whole, WriteOptions(form, folder, partition_by, options), counting)
        stored = self._storage.for_path(folder).files(folder)
        partitions = _partitions(stored, folder) if partition_by else []
        if output.mode == "overwrite":
            built_on = [one for one in built_on if one.partition not in partitions]
        content = VersionManifest(
            version=planned.tag,
            key=planned.key,
            format=form,
            roots=[*built_on, *_new_roots(planned, folder, partitions)],
            columns=columns,
            rows=_total_rows(output, found[ROWS], planned.base_manifest if built_on else None),
            checksum=format_checksum(found),
            options=options,
            partition_by=partition_by,
        )
        outcomes = [
            evaluate(one, found[f"check{i}"], self._now)
            for i, one in enumerate(planned.checks)
            if f"check{i}" in found
        ]
        return WriteResult(
            planned, content, folder, len(stored), sum(one.size for one in stored), found[ROWS], planned.tag,
            partitions if output.replace == "partitions" else [], outcomes, column_profiles(found),
        )  # fmt: skip

    def read_back(self, result: WriteResult) -> DataFrame:
        """Read what was written, as who reads the new version will."""
        content, planned = result.content, result.planned
        location = planned.address.location if planned.output.format in FILE_FORMATS else result.folder
        roots = [one.path for one in content.roots] if planned.output.format in FILE_FORMATS else None
        return read_frame(
            self._session, ReadOptions(content.format, location, roots, None, content.columns, content.options)
        )

    def write_manifests(self, result: WriteResult) -> None:
        """Write down beside the files what the version consists of."""
        folder = result.folder
        files = self._storage.for_path(folder)
        if result.planned.output.format == "files":
            files.write(f"{folder}/{DELIVERY_MANIFEST_NAME}", msgspec.json.encode(self._manifest(result)))
        files.write(f"{folder}/{MANIFEST_NAME}", msgspec.json.encode(result.content))

    def _manifest(self, result: WriteResult) -> DeliveryManifest:
        files = self._storage.for_path(result.folder)
        pieces = [
            DeliveredFile(_relative_path(one.path, result.folder), one.size, files.sha256(one.path))
            for one in files.files(result.folder)
        ]
        content = result.content
        day = self._plan.values.get("business_date")
        return DeliveryManifest(
            pieces, content.format, result.rows, content.columns, None if day is None else str(day), content.options
        )

    def _rows_to_write(
        self, planned: PlannedOutput, frame: DataFrame, columns: Mapping[str, str]
    ) -> tuple[DataFrame, list[VersionRoot]]:
        """Give the rows to write, and the folders of earlier versions that stay beside them."""
        output, base = planned.output, planned.base_manifest
        if base is None:
            return frame, []
        _check_base(output, base, columns)
        if output.mode == "overwrite":
            if any(one.partition is None for one in base.roots):
                said = f"the published version {base.version!r} is not in partitions: say replace: all"
                raise ProcessNotReady(f"outputs.{output.dataset}: {said}")
            return frame, base.roots
        if output.mode == "append" and len(base.roots) < MAX_ROOTS:
            return frame, base.roots
        roots = [one.path for one in base.roots]
        reading = ReadOptions(base.format, planned.address.location, roots, None, columns, base.options)
        before = read_frame(self._session, reading)
        if output.mode == "append":
            return before.unionByName(frame), []
        return merge_frames(before, frame, output.keys), []


def _file_format(output: Output) -> tuple[str, dict[str, Any]]:
    """Give the form of the files, and the options of that form."""
    if output.format not in FILE_FORMATS:
        return "parquet", {}
    options = {key: value for key, value in output.options.items() if key != "format"}
    return str(output.options.get("format", "csv")) if output.format == "files" else output.format, options


def _check_base(output: Output, base: VersionManifest, columns: Mapping[str, str]) -> None:
    """See that what is built upon has the same columns; new ones may come where files name their columns."""
    where = f"outputs.{output.dataset}: the version {base.version!r} upon which it is built"
    if base.format == "csv" and list(base.columns) != list(columns):
        raise ProcessNotReady(
            f"{where} has the columns {', '.join(base.columns)}, in this order; these are {', '.join(columns)}"
        )
    there = {name.lower(): kind for name, kind in columns.items()}
    for name, kind in base.columns.items():
        now = there.get(name.lower())
        if now is None or normalize_type(now) != normalize_type(kind):
            raise ProcessNotReady(
                f"{where} has the column {name} ({kind}), and now it is {now or 'missing'}: say mode: overwrite"
            )


def _partitions(stored: Sequence[DataFile], folder: str) -> list[str]:
    """Name the partitions that were written."""
    return sorted({_relative_path(one.path, folder).rpartition("/")[0] for one in stored} - {""})


def _relative_path(path: str, folder: str) -> str:
    return path.removeprefix("file:").removeprefix(folder.removeprefix("file:")).lstrip("/")


def _new_roots(planned: PlannedOutput, folder: str, partitions: Sequence[str]) -> list[VersionRoot]:
    """Name the folders of what was written: where nothing was, no partition is replaced."""
    if planned.output.replaces_partitions:
        return [VersionRoot(f"{folder}/{one}", planned.tag, planned.key, one) for one in partitions]
    return [VersionRoot(folder, planned.tag, planned.key)]


def _total_rows(output: Output, written: int, base: VersionManifest | None) -> int | None:
    """Count the rows of a version, where that is known."""
    if base is None:
        return written
    if output.mode == "append" and base.rows is not None:
        return base.rows + written
    return None
