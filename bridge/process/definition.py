"""A process file: what a job reads, what it makes of it, what it writes, and what must hold of that."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from bridge.governance.asset import Sla
from bridge.section import Section

_NAME = r"^[A-Za-z_][A-Za-z0-9_.-]*$"
_VIEW = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENTRY_POINT = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"

Name = Annotated[str, Field(pattern=_NAME, max_length=256)]
Format = Literal["parquet", "csv", "json", "delta", "iceberg", "jdbc", "files"]
#: What a process may be started by.
TriggerMode = Literal["SCHEDULED", "EVENT", "MANUAL", "HYBRID"]


def _view(name: str) -> str:
    if not _VIEW.fullmatch(name):
        raise PydanticCustomError("view", "must be a name that SQL can use: letters, digits and _")
    return name


View = Annotated[str, AfterValidator(_view)]


class Process(Section):
    """What the process is called, whose it is, and when it is promised."""

    name: Name
    namespace: str = Field(default="processes", min_length=1)
    owner: str | None = None
    description: str | None = None
    trigger_mode: TriggerMode = "MANUAL"
    sla: Sla | None = None


class Parameter(Section):
    """A value that is given to a run."""

    type: Literal["string", "integer", "number", "boolean", "date", "timestamp"] = "string"
    required: bool = False
    default: str | int | float | bool | None = None
    description: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "Parameter":
        if self.required and self.default is not None:
            raise PydanticCustomError("required", "is required, and has a default: leave one of them out")
        return self


class Place(Section):
    """Where a dataset lies, and how it is written there."""

    dataset: str = Field(min_length=1)
    namespace: str | None = None
    format: Format = "parquet"
    options: dict[str, str | int | float | bool] = Field(default={})


class Input(Place):
    """A dataset that is read, which version of it, and the name by which SQL knows it."""

    as_: View = Field(alias="as")
    pin: str = Field(default="published", min_length=1)


class Step(Section):
    """One thing that is made of others: by SQL, or by a function of Python where SQL cannot say it."""

    name: View
    sql: str | None = Field(default=None, min_length=1)
    sql_file: str | None = Field(default=None, min_length=1)
    python: str | None = Field(default=None, pattern=_ENTRY_POINT)
    materialize: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> "Step":
        if sum(one is not None for one in (self.sql, self.sql_file, self.python)) != 1:
            raise PydanticCustomError("one_way", "needs one of sql, sql_file and python")
        return self


class Output(Place):
    """A dataset that is written, from what, and what becomes of what is there."""

    from_: View = Field(alias="from")
    mode: Literal["overwrite", "append", "merge"] = "overwrite"
    partition_by: list[str] = Field(default=[])
    keys: list[str] = Field(default=[])

    @model_validator(mode="after")
    def _keys_of_a_merge(self) -> "Output":
        if (self.mode == "merge") != bool(self.keys):
            raise PydanticCustomError("keys", "mode merge needs keys, and no other mode takes them")
        return self


class Check(Section):
    """Something that must hold of an output; what else it says is what is expected."""

    model_config = ConfigDict(extra="allow", frozen=True)

    on: View
    check: Literal["not_null", "unique", "accepted_values", "range", "row_count", "freshness", "referential", "sql"]
    name: str | None = None
    column: str | None = None
    severity: Literal["fail", "warn"] = "fail"


class Definition(Section):
    """A process file."""

    process: Process
    params: dict[View, Parameter] = Field(default={})
    inputs: list[Input] = Field(default=[])
    steps: list[Step] = Field(default=[])
    outputs: list[Output] = Field(min_length=1)
    quality: list[Check] = Field(default=[])

    @model_validator(mode="after")
    def _names_are_one(self) -> "Definition":
        views = [*(one.as_ for one in self.inputs), *(one.name for one in self.steps)]
        for name in views:
            if views.count(name) > 1:
                raise PydanticCustomError("twice", "two inputs or steps are called {name}", {"name": name})
        for output in self.outputs:
            if output.from_ not in views:
                _unknown("outputs", output.dataset, output.from_, views)
        for check in self.quality:
            if check.on not in {*views, *(one.dataset for one in self.outputs)}:
                _unknown("quality", check.check, check.on, views)
        return self


def _unknown(where: str, what: str, name: str, known: list[str]) -> Any:
    said = (
        f"{where}: {what} is about {name}, which no input or step is called; known are {', '.join(known) or 'none'}"
    )
    raise PydanticCustomError("unknown_view", "{said}", {"said": said})
