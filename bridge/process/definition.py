"""A process file: what a job reads, what it makes of it, what it writes, and what must hold of that."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from bridge.governance.asset import Sla
from bridge.process.check_definition import CheckDefinition, Scalar, ViewName
from bridge.settings.base import Section

_NAME = r"^[A-Za-z_][A-Za-z0-9_.-]*$"
_ENTRY_POINT = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"

Name = Annotated[str, Field(pattern=_NAME, max_length=256)]
#: What lies in files of its own, version beside version; `files` comes with a manifest of somebody else's.
FILE_FORMATS: frozenset[str] = frozenset({"parquet", "csv", "json", "files"})
Format = Literal["parquet", "csv", "json", "delta", "iceberg", "jdbc", "files"]
#: What a process may be started by.
TriggerMode = Literal["SCHEDULED", "EVENT", "MANUAL", "HYBRID"]
#: The pin of an input whose versions nobody keeps: what lies there now is read.
LIVE = "live"


class Process(Section):
    """What the process is called, whose it is, and when it is promised."""

    name: Name
    namespace: str = Field(default="processes", min_length=1)
    owner: str | None = None
    description: str | None = None
    trigger_mode: TriggerMode = "MANUAL"
    sla: Sla | None = None
    lake: str | None = Field(
        default=None, min_length=1, description="Where datasets lie that are named by a word; else process.lake is."
    )


class Parameter(Section):
    """A value that is given to a run: `:name` in SQL, `{name}` in datasets, pins, partitions and options."""

    type: Literal["string", "integer", "number", "boolean", "date", "timestamp"] = "string"
    required: bool = False
    default: Scalar | None = None
    description: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "Parameter":
        if self.required and self.default is not None:
            raise PydanticCustomError("required", "is required, and has a default: leave one of them out")
        return self


#: Columns and their types, as Spark writes them: what is promised of a dataset.
ColumnTypes = dict[str, str]


class DatasetSpec(Section):
    """Where a dataset lies, and how it is written there."""

    dataset: str = Field(min_length=1, description="A word beneath the lake, a path, or a table.")
    namespace: str | None = Field(default=None, min_length=1)
    format: Format = "parquet"
    options: dict[str, Scalar] = Field(default={}, description="Spark's options of the format.")
    columns: ColumnTypes = Field(default={}, description="Columns that it must have, with their types.")


class Input(DatasetSpec):
    """A dataset that is read, which version of it, and the name by which SQL knows it."""

    as_: ViewName = Field(alias="as")
    pin: str = Field(
        default="published", min_length=1, description="published, latest, as_of:TIME, a version or pin, or live."
    )
    partition: str | None = Field(default=None, min_length=1, description="Only this one, such as day={day}.")
    manifest: str | None = Field(default=None, min_length=1, description="files: says what must lie there.")
    feedback: bool = Field(default=False, description="It may be made from an output of this very process.")

    @model_validator(mode="after")
    def _manifest_of_files(self) -> "Input":
        if (self.format == "files") != (self.manifest is not None):
            raise PydanticCustomError("manifest", "format files needs a manifest, and no other format takes one")
        return self


class Step(Section):
    """One thing that is made of others: by SQL, or by a function of Python where SQL cannot say it."""

    name: ViewName
    sql: str | None = Field(default=None, min_length=1)
    sql_file: str | None = Field(default=None, min_length=1)
    python: str | None = Field(default=None, pattern=_ENTRY_POINT)
    reads: list[ViewName] = Field(default=[], description="python: the inputs and steps that it is given.")
    materialize: bool = Field(default=False, description="Written down, as a dataset of its own.")
    columns: ColumnTypes = Field(default={}, description="Columns that it must give, with their types.")

    @model_validator(mode="after")
    def _one_way(self) -> "Step":
        if sum(one is not None for one in (self.sql, self.sql_file, self.python)) != 1:
            raise PydanticCustomError("one_way", "needs one of sql, sql_file and python")
        if (self.python is not None) != bool(self.reads):
            raise PydanticCustomError("reads", "python needs reads, and SQL tells by itself what it reads")
        return self


class Output(DatasetSpec):
    """A dataset that is written, from what, and what becomes of what is there."""

    from_: ViewName = Field(alias="from")
    mode: Literal["overwrite", "append", "merge"] = "overwrite"
    partition_by: list[str] = Field(default=[])
    replace: Literal["partitions", "all"] = Field(
        default="partitions", description="overwrite: only the partitions that are written, where there are any."
    )
    keys: list[str] = Field(default=[])
    profile: bool = Field(default=False, description="Tell nulls, least, greatest and more of every column.")

    @model_validator(mode="after")
    def _fitting(self) -> "Output":
        if (self.mode == "merge") != bool(self.keys):
            raise PydanticCustomError("keys", "mode merge needs keys, and no other mode takes them")
        if self.format == "jdbc" and self.mode == "merge":
            raise PydanticCustomError("merge", "a jdbc table is not merged: use overwrite, append, or another format")
        return self

    @property
    def replaces_partitions(self) -> bool:
        """Tell whether only the partitions are replaced that are written."""
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
    def _names_are_one(self) -> "ProcessDefinition":
        views = self.views
        for name in views:
            if [one.lower() for one in views].count(name.lower()) > 1:
                raise PydanticCustomError("twice", "two inputs or steps are called {name}", {"name": name})
        datasets = [one.dataset for one in self.outputs]
        for name in datasets:
            if datasets.count(name) > 1:
                raise PydanticCustomError("twice", "two outputs are the dataset {name}", {"name": name})
        for step in self.steps:
            for name in step.reads:
                _known("steps", step.name, name, views)
        for output in self.outputs:
            _known("outputs", output.dataset, output.from_, views)
        for check in self.quality:
            _known("quality", check.check, check.on, [*datasets, *(one.name for one in self.steps)])
            if check.references is not None:
                _known("quality", check.check, check.references.partition(".")[0], views)
        return self

    @property
    def views(self) -> list[str]:
        """Name all that SQL can read: inputs, then steps."""
        return [*(one.as_ for one in self.inputs), *(one.name for one in self.steps)]


def _known(where: str, what: str, name: str, known: list[str]) -> Any:
    if name not in known:
        said = f"{where}: {what} is about {name}, which nothing is called; known are {', '.join(known) or 'none'}"
        raise PydanticCustomError("unknown_view", "{said}", {"said": said})
