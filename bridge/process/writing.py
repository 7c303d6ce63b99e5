"""Writes the outputs of a run, each into a place of its own, and finds out whether what was written is good."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import DataFrame, SparkSession

from bridge.process.content import FILE, MOST_ROOTS, Content, Manifest, Piece, Root
from bridge.process.contract import check_columns, spelled
from bridge.process.definition import FILES, Output
from bridge.process.plan import Plan, PlannedOutput
from bridge.process.quality import ROWS, Outcome, checksum_of, counted, judged, observed, profile_of, profiled
from connectors.spark.frames import Reading, Writing, columns_of, merged, read_frame, write_frame
from connectors.spark.storage import Storage, StoredFile
from mappers.errors import BadData, Unready

#: What else lies beside files that are written with a manifest.
MANIFEST = "manifest.json"


class Result(NamedTuple):
    """What was written, and what was found of it."""

    planned: PlannedOutput
    content: Content
    #: Where the files lie; those of a table come into it from there.
    folder: str
    files: int
    bytes: int
    #: How many rows were written: not all that there are, where something was appended.
    rows: int
    #: What the version is called; a table calls it as it likes.
    version: str
    partitions: Sequence[str] = ()
    outcomes: Sequence[Outcome] = ()
    profile: Mapping[str, Mapping[str, Any]] = {}


class Writer:
    """Writes files; who reads what is published sees none of it yet."""

    def __init__(self, session: SparkSession, storage: Storage, plan: Plan, staging: str, now: datetime) -> None:
        self._session = session
        self._storage = storage
        self._plan = plan
        self._staging = staging
        self._now = now

    def write(self, planned: PlannedOutput, frame: DataFrame) -> Result:
        """Write an output and count it, in one pass; raises BadData when its columns are not what was promised."""
        output, columns = planned.output, columns_of(frame)
        problems = check_columns(f"outputs.{output.dataset}", output.columns, columns)
        if problems:
            raise BadData("\n".join(problems))
        whole, built_on = self._whole(planned, frame, columns)
        form, options = _form(output)
        files = output.format in FILES
        folder = planned.folder if files else f"{self._staging}/{planned.tag}/{output.dataset.strip('/')}"
        partition_by = output.partition_by if files else []
        counting = {f"check{i}": text for i, one in enumerate(planned.checks) if (text := observed(one)) is not None}
        counting |= counted(columns) | (profiled(columns) if output.profile else {})
        found = write_frame(whole, Writing(form, folder, partition_by, options), counting)
        stored = self._storage.of(folder).files(folder)
        partitions = _partitions(stored, folder) if partition_by else []
        if output.mode == "overwrite":
            built_on = [one for one in built_on if one.partition not in partitions]
        content = Content(
            version=planned.tag,
            key=planned.key,
            format=form,
            roots=[*built_on, *_own_roots(planned, folder, partitions)],
            columns=columns,
            rows=_all_rows(output, found[ROWS], planned.base if built_on else None),
            checksum=checksum_of(found),
            options=options,
            partition_by=partition_by,
        )
        outcomes = [
            judged(one, found[f"check{i}"], self._now) for i, one in enumerate(planned.checks) if f"check{i}" in found
        ]
        return Result(
            planned, content, folder, len(stored), sum(one.size for one in stored), found[ROWS], planned.tag,
            partitions if output.replace == "partitions" else [], outcomes, profile_of(found),
        )  # fmt: skip

    def back(self, result: Result) -> DataFrame:
        """Read what was written, as who reads the new version will."""
        content, planned = result.content, result.planned
        location = planned.address.location if planned.output.format in FILES else result.folder
        roots = [one.path for one in content.roots] if planned.output.format in FILES else None
        return read_frame(
            self._session, Reading(content.format, location, roots, None, content.columns, content.options)
        )

    def seal(self, result: Result) -> None:
        """Write down beside the files what the version consists of."""
        folder = result.folder
        files = self._storage.of(folder)
        if result.planned.output.format == "files":
            files.write(f"{folder}/{MANIFEST}", msgspec.json.encode(self._manifest(result)))
        files.write(f"{folder}/{FILE}", msgspec.json.encode(result.content))

    def _manifest(self, result: Result) -> Manifest:
        files = self._storage.of(result.folder)
        pieces = [
            Piece(_inside(one.path, result.folder), one.size, files.sha256(one.path))
            for one in files.files(result.folder)
        ]
        content = result.content
        day = self._plan.values.get("business_date")
        return Manifest(
            pieces, content.format, result.rows, content.columns, None if day is None else str(day), content.options
        )

    def _whole(
        self, planned: PlannedOutput, frame: DataFrame, columns: Mapping[str, str]
    ) -> tuple[DataFrame, list[Root]]:
        """Give the rows to write, and the folders of earlier versions that stay beside them."""
        output, base = planned.output, planned.base
        if base is None:
            return frame, []
        _check_base(output, base, columns)
        if output.mode == "overwrite":
            if any(one.partition is None for one in base.roots):
                said = f"the published version {base.version!r} is not in partitions: say replace: all"
                raise Unready(f"outputs.{output.dataset}: {said}")
            return frame, base.roots
        if output.mode == "append" and len(base.roots) < MOST_ROOTS:
            return frame, base.roots
        roots = [one.path for one in base.roots]
        reading = Reading(base.format, planned.address.location, roots, None, columns, base.options)
        before = read_frame(self._session, reading)
        if output.mode == "append":
            return before.unionByName(frame), []
        return merged(before, frame, output.keys), []


def _form(output: Output) -> tuple[str, dict[str, Any]]:
    """Give the form of the files, and the options of that form."""
    if output.format not in FILES:
        return "parquet", {}
    options = {key: value for key, value in output.options.items() if key != "format"}
    return str(output.options.get("format", "csv")) if output.format == "files" else output.format, options


def _check_base(output: Output, base: Content, columns: Mapping[str, str]) -> None:
    """See that what is built upon has the same columns; new ones may come where files name their columns."""
    where = f"outputs.{output.dataset}: the version {base.version!r} upon which it is built"
    if base.format == "csv" and list(base.columns) != list(columns):
        raise Unready(
            f"{where} has the columns {', '.join(base.columns)}, in this order; these are {', '.join(columns)}"
        )
    there = {name.lower(): kind for name, kind in columns.items()}
    for name, kind in base.columns.items():
        now = there.get(name.lower())
        if now is None or spelled(now) != spelled(kind):
            raise Unready(
                f"{where} has the column {name} ({kind}), and now it is {now or 'missing'}: say mode: overwrite"
            )


def _partitions(stored: Sequence[StoredFile], folder: str) -> list[str]:
    """Name the partitions that were written."""
    return sorted({_inside(one.path, folder).rpartition("/")[0] for one in stored} - {""})


def _inside(path: str, folder: str) -> str:
    return path.removeprefix("file:").removeprefix(folder.removeprefix("file:")).lstrip("/")


def _own_roots(planned: PlannedOutput, folder: str, partitions: Sequence[str]) -> list[Root]:
    """Name the folders of what was written: where nothing was, no partition is replaced."""
    if planned.output.replaces_partitions:
        return [Root(f"{folder}/{one}", planned.tag, planned.key, one) for one in partitions]
    return [Root(folder, planned.tag, planned.key)]


def _all_rows(output: Output, written: int, base: Content | None) -> int | None:
    """Count the rows of a version, where that is known."""
    if base is None:
        return written
    if output.mode == "append" and base.rows is not None:
        return base.rows + written
    return None
