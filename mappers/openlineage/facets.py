"""The facets this project understands, as far as it reads them; every other field is let through."""

from typing import Any

from msgspec import Raw, Struct, field


class RunRef(Struct):
    """Names a run, and may forward facets of it."""

    runId: str  # noqa: N815 - the spec's spelling, as all fields below
    facets: dict[str, Raw] | None = None


class JobRef(Struct):
    """Names a job, and may forward facets of it."""

    namespace: str
    name: str
    facets: dict[str, Raw] | None = None


class Root(Struct):
    """The topmost run of a hierarchy."""

    run: RunRef
    job: JobRef


class Parent(Struct):
    """The run that started this one."""

    run: RunRef
    job: JobRef
    root: Root | None = None


class NominalTime(Struct):
    """The time a run stands for."""

    nominalStartTime: str  # noqa: N815
    nominalEndTime: str | None = None  # noqa: N815


class Dependency(Struct):
    """One control-flow dependency of a job."""

    job: JobRef
    run: RunRef | None = None
    dependency_type: str | None = None
    sequence_trigger_rule: str | None = None
    status_trigger_rule: str | None = None


class JobDependencies(Struct):
    """Which jobs come before and after."""

    upstream: list[Dependency] | None = None
    downstream: list[Dependency] | None = None
    trigger_rule: str | None = None


class EmissionPattern(Struct):
    """How a job's events relate: adding up, or each a complete snapshot."""

    eventContentMode: str | None = None  # noqa: N815


class JobType(Struct):
    """What kind of job it is and which integration speaks for it."""

    processingType: str | None = None  # noqa: N815
    integration: str | None = None
    jobType: str | None = None  # noqa: N815
    emissionPattern: EmissionPattern | None = None  # noqa: N815


class Documentation(Struct):
    """A description."""

    description: str


class Owner(Struct):
    """One owner."""

    name: str
    type: str | None = None


class Ownership(Struct):
    """The owners of a job or dataset."""

    owners: list[Owner] | None = None


class SchemaField(Struct):
    """One column, perhaps with columns inside."""

    name: str
    type: str | None = None
    description: str | None = None
    ordinal_position: int | None = None
    fields: list["SchemaField"] | None = None
    nullable: bool | None = None


class Schema(Struct):
    """The columns of a dataset."""

    fields: list[SchemaField] | None = None


class Identifier(Struct):
    """Another name of a dataset."""

    namespace: str
    name: str
    type: str = ""


class Symlinks(Struct):
    """The other names of a dataset."""

    identifiers: list[Identifier] | None = None


class PreviousIdentifier(Struct):
    """The name a renamed dataset had."""

    namespace: str
    name: str


class LifecycleStateChange(Struct):
    """What happened to the dataset as a whole."""

    lifecycleStateChange: str  # noqa: N815
    previousIdentifier: PreviousIdentifier | None = None  # noqa: N815


class Version(Struct):
    """The version of the dataset in its own system."""

    datasetVersion: str  # noqa: N815


class Storage(Struct):
    """How the dataset is stored."""

    storageLayer: str | None = None  # noqa: N815
    fileFormat: str | None = None  # noqa: N815


class Transformation(Struct):
    """What was done to a source column."""

    type: str
    subtype: str = ""
    description: str | None = None
    masking: bool | None = None


class InputField(Struct):
    """A source column and what was done to it."""

    namespace: str
    name: str
    field: str
    transformations: list[Transformation] | None = None


class OutputField(Struct):
    """The sources of one target column, in the words of facet versions 1-0 to 1-2."""

    inputFields: list[InputField]  # noqa: N815
    transformationType: str | None = None  # noqa: N815
    transformationDescription: str | None = None  # noqa: N815


class ColumnLineageFacet(Struct):
    """Which columns each column is made of, and which affect them all."""

    fields: dict[str, OutputField] | None = None
    dataset: list[InputField] | None = None


class LineageSource(Struct):
    """A source in an explicit lineage entry."""

    type: str = "DATASET"
    namespace: str | None = None
    name: str | None = None
    field: str | None = None
    transformations: list[Transformation] | None = None


class LineageField(Struct):
    """The sources of one target column in an explicit entry."""

    inputs: list[LineageSource]


class LineageEntry(Struct):
    """One target and its sources; a JOB target without a name is the event's own job."""

    type: str = "DATASET"
    namespace: str | None = None
    name: str | None = None
    inputs: list[LineageSource] | None = None
    fields: dict[str, LineageField] | None = None


class Lineage(Struct):
    """Explicit lineage: of a job in entries (`lineage` in the proposal's first draft), of a dataset in inputs."""

    entries: list[LineageEntry] | None = None
    lineage: list[LineageEntry] | None = None
    inputs: list[LineageSource] | None = None
    fields: dict[str, LineageField] | None = None


class Statistics(Struct):
    """How much was read or written."""

    rowCount: int | None = None  # noqa: N815
    size: int | None = None
    fileCount: int | None = None  # noqa: N815


class Path(Struct):
    """Where a producer says that it put a dataset."""

    path: str


class IdempotencyKey(Struct):
    """What all attempts at one version share, however often one of them is repeated."""

    key: str


class Boxes(Struct):
    """The boxes of a scheduler that a job lies in, outermost first."""

    boxes: list[str]


class Registration(Struct):
    """A request to register a dataset, or the decision about it; who asked for it, and when, identify it."""

    submittedBy: str  # noqa: N815
    submittedAt: str  # noqa: N815
    status: str
    reviewer: str | None = None
    comment: str | None = None


class Assertion(Struct):
    """The outcome of one check of a dataset."""

    assertion: str
    success: bool
    column: str | None = None
    name: str | None = None
    severity: str | None = None
    expected: Any = None
    actual: Any = None


class Assertions(Struct):
    """The outcomes of the checks of a dataset."""

    assertions: list[Assertion]


class Expectation(Struct):
    """A check that somebody wants to be made of a dataset; what else it says is what it expects."""

    name: str
    check: str
    column: str | None = None
    expected: dict[str, Any] = field(default_factory=dict)


class Expectations(Struct):
    """The checks that somebody wants to be made of a dataset."""

    checks: list[Expectation]


class Test(Struct):
    """The outcome of one test of a run."""

    name: str
    status: str
    severity: str | None = None
    type: str | None = None
    expected: Any = None
    actual: Any = None
    content: Any = None
    params: Any = None


class Tests(Struct):
    """The outcomes of the tests of a run."""

    tests: list[Test] = field(default_factory=list)


#: What is understood of each facet, by its key; facets of other keys are kept as they are.
SHAPES: dict[str, type[Struct]] = {
    "parent": Parent,
    "parentRun": Parent,
    "nominalTime": NominalTime,
    "jobDependencies": JobDependencies,
    "lineageBridge_jobDependencies": JobDependencies,
    "test": Tests,
    "jobType": JobType,
    "documentation": Documentation,
    "ownership": Ownership,
    "lineage": Lineage,
    "schema": Schema,
    "symlinks": Symlinks,
    "lifecycleStateChange": LifecycleStateChange,
    "version": Version,
    "storage": Storage,
    "columnLineage": ColumnLineageFacet,
    "inputStatistics": Statistics,
    "outputStatistics": Statistics,
    "dataQualityAssertions": Assertions,
    "lineageBridge_path": Path,
    "lineageBridge_idempotencyKey": IdempotencyKey,
    "lineageBridge_boxes": Boxes,
    "lineageBridge_registration": Registration,
    "lineageBridge_expectations": Expectations,
}
