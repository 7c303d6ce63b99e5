"""Rows as in the server's database, so that derived behaviour is the same."""

import uuid
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
#: A namespace and a name.
Name = tuple[str, str]
INPUT = "INPUT"
OUTPUT = "OUTPUT"


def new_uuid() -> str:
    return str(uuid.uuid4())


@dataclass
class Namespace:
    name: str
    created: int
    updated: int
    owner: str = "anonymous"
    description: str | None = None
    hidden: bool = False


@dataclass
class Source:
    name: str
    type: str
    created: int
    updated: int
    url: str | None
    description: str | None = None


@dataclass(eq=False)
class Field:
    """A column of a dataset, shared by all versions."""

    name: str
    type: str | None
    description: str | None
    dataset: "Dataset"
    tags: dict[str, None] = field(default_factory=dict)


@dataclass
class Facet:
    """A facet of a dataset version, from an event."""

    time: int
    kind: str
    name: str
    value: Any
    run: "Run | None" = None


@dataclass(eq=False)
class Version:
    """A version of a dataset."""

    uuid: str
    hash: str
    dataset: "Dataset"
    #: Name under which the version was written.
    name: Name
    created: int
    schema: list[Json] | None
    schema_hash: str
    lifecycle: str | None
    run: "Run | None"
    fields: dict[int, Field] = field(default_factory=dict)
    facets: list[Facet] = field(default_factory=list)
    #: Location of the schema of a stream.
    location: str | None = None
    #: Column lineage by column, source version and source column.
    columns: dict[tuple[int, str, int], "ColumnEdge"] = field(default_factory=dict)


@dataclass(eq=False)
class Dataset:
    uuid: str
    #: All names; the first is its own.
    names: list[Name]
    #: Namespace of its row, which may differ from the one in its name.
    namespace: str
    name: str
    type: str
    physical: str
    created: int
    updated: int
    source: str
    description: str | None = None
    deleted: bool = False
    hidden: bool = False
    modified: int | None = None
    current: Version | None = None
    versions: list[Version] = field(default_factory=list)
    fields: dict[tuple[str, str | None], Field] = field(default_factory=dict)
    tags: dict[str, None] = field(default_factory=dict)


@dataclass(eq=False)
class JobVersion:
    uuid: str
    hash: str
    job: "Job"
    created: int
    updated: int
    location: str | None
    latest_run: "Run | None" = None
    inputs: list[Dataset] = field(default_factory=list)
    outputs: list[Dataset] = field(default_factory=list)


@dataclass
class JobFacet:
    """A facet of a job, from an event."""

    time: int
    name: str
    value: Any
    run: "Run | None"
    version: JobVersion | None


@dataclass
class Io:
    """An input or output of a job version; `current` if the job still has it."""

    version: JobVersion
    dataset: Dataset
    type: str
    current: bool


@dataclass(eq=False)
class Job:
    uuid: str
    namespace: str
    name: str
    simple: str
    parent: "Job | None"
    type: str
    created: int
    updated: int
    description: str | None
    location: str | None
    #: Id of its latest run, or of its parent's.
    run: str | None
    #: Inputs of its last event.
    inputs: list[Name] = field(default_factory=list)
    hidden: bool = False
    current: JobVersion | None = None
    versions: list[JobVersion] = field(default_factory=list)
    io: list[Io] = field(default_factory=list)
    facets: list[JobFacet] = field(default_factory=list)
    runs: list["Run"] = field(default_factory=list)
    tags: dict[str, None] = field(default_factory=dict)


@dataclass(eq=False)
class Run:
    uuid: str
    job: Job
    namespace: str
    job_name: str
    created: int
    updated: int
    args: Json
    nominal_start: int | None = None
    nominal_end: int | None = None
    state: str | None = None
    transitioned: int | None = None
    started: int | None = None
    ended: int | None = None
    version: JobVersion | None = None
    inputs: dict[str, Version] = field(default_factory=dict)
    outputs: list[Version] = field(default_factory=list)
    facets: list[tuple[int, str, Any]] = field(default_factory=list)


@dataclass
class Row:
    """An event in the log; only run events are listed."""

    number: int
    time: int
    kind: str
    event: Json


@dataclass
class ColumnEdge:
    """A source column of another column."""

    to_version: Version
    to: Field
    version: Version
    source: Field
    description: str | None
    type: str | None
