"""Facet types that the mapping understands; unknown fields are ignored."""

from typing import Any

from msgspec import Raw, Struct, field


class RunRef(Struct):
    """A reference to a run, possibly with forwarded facets."""

    runId: str  # noqa: N815 - the spec's spelling, as all fields below
    facets: dict[str, Raw] | None = None


class JobRef(Struct):
    """A reference to a job, possibly with forwarded facets."""

    namespace: str
    name: str
    facets: dict[str, Raw] | None = None


class RootRef(Struct):
    """The root run of a hierarchy, and its job."""

    run: RunRef
    job: JobRef


class ParentFacet(Struct):
    """The parent of the run that has this facet."""

    run: RunRef
    job: JobRef
    root: RootRef | None = None


class NominalTimeFacet(Struct):
    """The nominal time of a run."""

    nominalStartTime: str  # noqa: N815
    nominalEndTime: str | None = None  # noqa: N815


class JobDependency(Struct):
    """A control-flow dependency of a job."""

    job: JobRef
    run: RunRef | None = None
    dependency_type: str | None = None
    sequence_trigger_rule: str | None = None
    status_trigger_rule: str | None = None


class JobDependenciesFacet(Struct):
    """The upstream and downstream jobs of a job."""

    upstream: list[JobDependency] | None = None
    downstream: list[JobDependency] | None = None
    trigger_rule: str | None = None


class EmissionPattern(Struct):
    """How a job emits events: as increments or as complete snapshots."""

    eventContentMode: str | None = None  # noqa: N815


class JobTypeFacet(Struct):
    """The type of a job, and the integration that reports it."""

    processingType: str | None = None  # noqa: N815
    integration: str | None = None
    jobType: str | None = None  # noqa: N815
    emissionPattern: EmissionPattern | None = None  # noqa: N815


class DocumentationFacet(Struct):
    """The description of a job or dataset."""

    description: str


class FacetOwner(Struct):
    """An owner of a job or dataset."""

    name: str
    type: str | None = None


class OwnershipFacet(Struct):
    """The owners of a job or dataset."""

    owners: list[FacetOwner] | None = None


class SchemaField(Struct):
    """A column, possibly with nested columns."""

    name: str
    type: str | None = None
    description: str | None = None
    ordinal_position: int | None = None
    fields: list["SchemaField"] | None = None
    nullable: bool | None = None


class SchemaFacet(Struct):
    """The columns of a dataset."""

    fields: list[SchemaField] | None = None


class SymlinkIdentifier(Struct):
    """Another name of a dataset."""

    namespace: str
    name: str
    type: str = ""


class SymlinksFacet(Struct):
    """The other names of a dataset."""

    identifiers: list[SymlinkIdentifier] | None = None


class PreviousIdentifier(Struct):
    """The former name of a renamed dataset."""

    namespace: str
    name: str


class LifecycleStateChangeFacet(Struct):
    """A change of the dataset as a whole, such as its creation, removal or renaming."""

    lifecycleStateChange: str  # noqa: N815
    previousIdentifier: PreviousIdentifier | None = None  # noqa: N815


class DatasetVersionFacet(Struct):
    """The version of the dataset in its source system."""

    datasetVersion: str  # noqa: N815


class StorageFacet(Struct):
    """Storage layer and file format of a dataset."""

    storageLayer: str | None = None  # noqa: N815
    fileFormat: str | None = None  # noqa: N815


class Transformation(Struct):
    """A transformation of a source column."""

    type: str
    subtype: str = ""
    description: str | None = None
    masking: bool | None = None


class InputField(Struct):
    """A source column and its transformations."""

    namespace: str
    name: str
    field: str
    transformations: list[Transformation] | None = None


class OutputField(Struct):
    """The sources of a target column; combines the fields of facet versions 1-0 to 1-2."""

    inputFields: list[InputField]  # noqa: N815
    transformationType: str | None = None  # noqa: N815
    transformationDescription: str | None = None  # noqa: N815


class ColumnLineageFacet(Struct):
    """The sources of each column, and the sources that affect all columns."""

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
    """The sources of a target column in an explicit lineage entry."""

    inputs: list[LineageSource]


class LineageEntry(Struct):
    """A target and its sources; a JOB target without a name refers to the job of the event."""

    type: str = "DATASET"
    namespace: str | None = None
    name: str | None = None
    inputs: list[LineageSource] | None = None
    fields: dict[str, LineageField] | None = None


class LineageFacet(Struct):
    """Explicit lineage: a job has `entries` (`lineage` in the proposal's first draft), and a dataset has `inputs`."""

    entries: list[LineageEntry] | None = None
    lineage: list[LineageEntry] | None = None
    inputs: list[LineageSource] | None = None
    fields: dict[str, LineageField] | None = None


class StatisticsFacet(Struct):
    """The amount of data read or written."""

    rowCount: int | None = None  # noqa: N815
    size: int | None = None
    fileCount: int | None = None  # noqa: N815


class DatasetPathFacet(Struct):
    """The path of a dataset as reported by the producer."""

    path: str


class IdempotencyKeyFacet(Struct):
    """A key that all attempts to write one version share."""

    key: str


class BoxesFacet(Struct):
    """The scheduler boxes that contain a job, outermost first."""

    boxes: list[str]


class RegistrationFacet(Struct):
    """A request to register a dataset, or its review; submitter and submission time identify the request."""

    submittedBy: str  # noqa: N815
    submittedAt: str  # noqa: N815
    status: str
    reviewer: str | None = None
    comment: str | None = None


class AssertionOutcome(Struct):
    """The outcome of a check on a dataset."""

    assertion: str
    success: bool
    column: str | None = None
    name: str | None = None
    severity: str | None = None
    expected: Any = None
    actual: Any = None


class AssertionsFacet(Struct):
    """The outcomes of the checks on a dataset."""

    assertions: list[AssertionOutcome]


class ExpectedCheck(Struct):
    """A check that a dataset is expected to have; `expected` contains the parameters of the check."""

    name: str
    check: str
    column: str | None = None
    expected: dict[str, Any] = field(default_factory=dict)


class ExpectationsFacet(Struct):
    """The checks that a dataset is expected to have."""

    checks: list[ExpectedCheck]


class RunTestOutcome(Struct):
    """The outcome of a test in a run."""

    name: str
    status: str
    severity: str | None = None
    type: str | None = None
    expected: Any = None
    actual: Any = None
    content: Any = None
    params: Any = None


class RunTestsFacet(Struct):
    """The outcomes of the tests in a run."""

    tests: list[RunTestOutcome] = field(default_factory=list)


#: Types of the facets that are mapped, by key; other facets are stored raw.
FACET_TYPES: dict[str, type[Struct]] = {
    "parent": ParentFacet,
    "parentRun": ParentFacet,
    "nominalTime": NominalTimeFacet,
    "jobDependencies": JobDependenciesFacet,
    "lineageBridge_jobDependencies": JobDependenciesFacet,
    "test": RunTestsFacet,
    "jobType": JobTypeFacet,
    "documentation": DocumentationFacet,
    "ownership": OwnershipFacet,
    "lineage": LineageFacet,
    "schema": SchemaFacet,
    "symlinks": SymlinksFacet,
    "lifecycleStateChange": LifecycleStateChangeFacet,
    "version": DatasetVersionFacet,
    "storage": StorageFacet,
    "columnLineage": ColumnLineageFacet,
    "inputStatistics": StatisticsFacet,
    "outputStatistics": StatisticsFacet,
    "dataQualityAssertions": AssertionsFacet,
    "lineageBridge_path": DatasetPathFacet,
    "lineageBridge_idempotencyKey": IdempotencyKeyFacet,
    "lineageBridge_boxes": BoxesFacet,
    "lineageBridge_registration": RegistrationFacet,
    "lineageBridge_expectations": ExpectationsFacet,
}
