"""Pydantic model of a process file."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from bridge.governance.asset import Sla
from bridge.process.check_definition import CheckDefinition, Scalar, ViewName
from bridge.settings.base import Section
from bridge.settings.yaml_tree import KeyPath
from mappers.naming import suggest_name

_NOT_AN_IDENTIFIER = re.compile(r"\W")
_NAME = r"^[A-Za-z_][A-Za-z0-9_.-]*$"
_ENTRY_POINT = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"

Name = Annotated[str, Field(pattern=_NAME, max_length=256)]
#: Formats with one folder of files per version; `files` comes with a delivery manifest.
FILE_FORMATS: frozenset[str] = frozenset({"parquet", "csv", "json", "files"})
Format = Literal["parquet", "csv", "json", "delta", "iceberg", "jdbc", "files"]
#: How a process may be started.
TriggerMode = Literal["SCHEDULED", "EVENT", "MANUAL", "HYBRID"]
#: Pin of an input without versions: its current content is read.
LIVE = "live"


class Process(Section):
    """Name, owner and SLA of a process."""

    name: Name
    namespace: str = Field(default="processes", min_length=1)
    owner: str | None = None
    description: str | None = None
    trigger_mode: TriggerMode = "MANUAL"
    sla: Sla | None = None
    lake: str | None = Field(
        default=None, min_length=1, description="Base path for bare dataset names (default: process.lake)."
    )


class Parameter(Section):
    """A run parameter: `:name` in SQL, `{name}` in datasets, pins, partitions and options."""

    type: Literal["string", "integer", "number", "boolean", "date", "timestamp"] = "string"
    required: bool = False
    default: Scalar | None = None
    description: str | None = None

    @model_validator(mode="after")
    def _check_required_or_default(self) -> "Parameter":
        if self.required and self.default is not None:
            raise PydanticCustomError("required", "cannot be required and have a default")
        return self


#: Expected columns with their Spark types.
ColumnTypes = dict[str, str]


class DatasetSpec(Section):
    """Location and format of a dataset."""

    dataset: str = Field(min_length=1, description="Bare name below the lake, path, or table.")
    namespace: str | None = Field(default=None, min_length=1)
    format: Format = "parquet"
    options: dict[str, Scalar] = Field(default={}, description="Spark options of the format.")
    columns: ColumnTypes = Field(default={}, description="Required columns with their types.")


class Input(DatasetSpec):
    """A dataset to read, its version, and its view name."""

    as_: ViewName = Field(alias="as")
    pin: str = Field(
        default="published",
        min_length=1,
        description="published, latest, as_of:TIME, a version, a pin, or live (current content).",
    )
    partition: str | None = Field(default=None, min_length=1, description="Only this partition, e.g. day={day}.")
    manifest: str | None = Field(
        default=None, min_length=1, description="files: delivery manifest with sizes and checksums."
    )
    feedback: bool = Field(default=False, description="Allow an input derived from an output of this process.")

    @model_validator(mode="after")
    def _check_manifest(self) -> "Input":
        if (self.format == "files") != (self.manifest is not None):
            raise PydanticCustomError(
                "manifest", "manifest is required if format is files, and not allowed otherwise"
            )
        return self


class Step(Section):
    """A transformation in SQL or Python."""

    name: ViewName
    sql: str | None = Field(default=None, min_length=1)
    sql_file: str | None = Field(default=None, min_length=1)
    python: str | None = Field(default=None, pattern=_ENTRY_POINT)
    reads: list[ViewName] = Field(default=[], description="python: inputs and steps passed to the function.")
    materialize: bool = Field(default=False, description="Write the result as a dataset of its own.")
    columns: ColumnTypes = Field(default={}, description="Required columns with their types.")

    @model_validator(mode="after")
    def _check_source(self) -> "Step":
        if sum(source is not None for source in (self.sql, self.sql_file, self.python)) != 1:
            raise PydanticCustomError("one_way", "requires exactly one of sql, sql_file and python")
        if (self.python is not None) != bool(self.reads):
            raise PydanticCustomError("reads", "reads is required for python, and derived from SQL otherwise")
        return self


class Output(DatasetSpec):
    """A dataset to write, its source view, and the write mode."""

    from_: ViewName = Field(alias="from")
    mode: Literal["overwrite", "append", "merge"] = "overwrite"
    partition_by: list[str] = Field(default=[])
    replace: Literal["partitions", "all"] = Field(
        default="partitions", description="overwrite: replace only written partitions, or all."
    )
    keys: list[str] = Field(default=[])
    profile: bool = Field(default=False, description="Report nulls, minimum, maximum and more per column.")

    @model_validator(mode="after")
    def _check_mode(self) -> "Output":
        if (self.mode == "merge") != bool(self.keys):
            raise PydanticCustomError("keys", "keys are required if mode is merge, and not allowed otherwise")
        if self.format == "jdbc" and self.mode == "merge":
            raise PydanticCustomError(
                "merge", "format jdbc does not support merge: use overwrite, append, or another format"
            )
        return self

    @property
    def replaces_partitions(self) -> bool:
        """True if only written partitions are replaced."""
        return self.mode == "overwrite" and bool(self.partition_by) and self.replace == "partitions"


class ProcessDefinition(Section):
    """A process file."""

    process: Process
    params: dict[ViewName, Parameter] = Field(default={})
    inputs: list[Input] = Field(default=[])
    steps: list[Step] = Field(default=[])
    outputs: list[Output] = Field(min_length=1)
    quality: list[CheckDefinition] = Field(default=[])

    @model_validator(mode="after")
    def _check_names(self) -> "ProcessDefinition":
        _require_distinct(self._view_paths(), "two inputs or steps have the name")
        datasets = [output.dataset for output in self.outputs]
        dataset_paths = [(name, ("outputs", index, "dataset")) for index, name in enumerate(datasets)]
        _require_distinct(dataset_paths, "two outputs write the dataset")
        views = self.views
        for index, step in enumerate(self.steps):
            for position, name in enumerate(step.reads):
                _require_known(("steps", index, "reads", position), name, views)
        for index, output in enumerate(self.outputs):
            _require_known(("outputs", index, "from"), output.from_, views)
        for index, check in enumerate(self.quality):
            _require_known(("quality", index, "on"), check.on, [*datasets, *(step.name for step in self.steps)])
            if check.references is not None:
                view, _, _ = check.references.partition(".")
                _require_known(("quality", index, "references"), view, views)
        return self

    def _view_paths(self) -> list[tuple[str, KeyPath]]:
        """Return the names of all views in lower case, because SQL ignores case, with their keys."""
        inputs = [(entry.as_.lower(), ("inputs", index, "as")) for index, entry in enumerate(self.inputs)]
        return [*inputs, *((step.name.lower(), ("steps", index, "name")) for index, step in enumerate(self.steps))]

    @property
    def views(self) -> list[str]:
        """Names of all views: inputs, then steps."""
        return [*(entry.as_ for entry in self.inputs), *(step.name for step in self.steps)]

    def check_view(self, dataset: str) -> str:
        """Name of an output's view in SQL checks: the last part of the dataset name.

        The name has the suffix `_new` if an input has the same name.
        """
        _, _, last_part = dataset.rstrip("/").rpartition("/")
        name = _NOT_AN_IDENTIFIER.sub("_", last_part)
        input_names = {entry.as_.lower() for entry in self.inputs}
        return f"{name}_new" if name.lower() in input_names else name


def _require_distinct(names: Iterable[tuple[str, KeyPath]], message: str) -> None:
    """Raise an error if a name occurs twice."""
    known_names: set[str] = set()
    for name, key_path in names:
        if name in known_names:
            raise PydanticCustomError("twice", "{problem}", {"problem": f"{message} {name}", "key_path": key_path})
        known_names.add(name)


def _require_known(key_path: KeyPath, name: str, known_names: Sequence[str]) -> None:
    """Raise an error if a key refers to an unknown name."""
    if name in known_names:
        return
    problem = f"refers to unknown name {name}; {suggest_name(name, known_names, 'known')}"
    raise PydanticCustomError("unknown_view", "{problem}", {"problem": problem, "key_path": key_path})
