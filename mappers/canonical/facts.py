"""What the store knows: one class a table, one declared merge rule a column.

Times are microseconds since 1970 in UTC, ids are 16 bytes. The table in `docs/vocabulary.md` is made
from these declarations.
"""

from typing import Annotated, NamedTuple

from mappers.canonical.merge import Const, Greatest, Key, Least, Member, Order


class Namespace(NamedTuple):
    """A naming authority: a scheduler, a bucket, a database server."""

    org_id: Key[str]
    namespace_id: Key[bytes]
    namespace_uri: Const[str]
    created_at: Least[int]


class Dataset(NamedTuple):
    """A dataset under one of its names; its class of names is found through its symlinks."""

    org_id: Key[str]
    dataset_id: Key[bytes]
    namespace_id: Const[bytes]
    name: Const[str]
    source_type: Const[str]
    created_at: Least[int]
    updated_at: Greatest[int]
    documentation_order: Annotated[bytes | None, Order("documentation")] = None
    description: Annotated[str | None, Member("documentation")] = None
    ownership_order: Annotated[bytes | None, Order("ownership")] = None
    owner_team: Annotated[str | None, Member("ownership")] = None
    owner_email: Annotated[str | None, Member("ownership")] = None
    storage_order: Annotated[bytes | None, Order("storage")] = None
    default_format: Annotated[str | None, Member("storage")] = None
    retired_at: Greatest[int | None] = None
    symlinks_deleted_at: Greatest[int | None] = None
    declared_lineage: Greatest[bytes | None] = None


class DatasetSchema(NamedTuple):
    """One version of a dataset's columns, and when whom last reported it."""

    org_id: Key[str]
    dataset_id: Key[bytes]
    schema_hash: Key[bytes]
    column_count: Const[int]
    first_seen: Least[int]
    written_at: Greatest[int | None]
    declared_at: Greatest[int | None]
    read_at: Greatest[int | None]
    columns_order: Annotated[bytes | None, Order("columns")]
    columns_json: Annotated[str | None, Member("columns")]


class DatasetSymlink(NamedTuple):
    """One asserted other name of a dataset; it lives unless its facet was deleted later."""

    org_id: Key[str]
    dataset_id: Key[bytes]
    alias_id: Key[bytes]
    identifier_type: Key[str]
    asserted_at: Greatest[int]


class DatasetSuccession(NamedTuple):
    """A dated RENAME: the target goes on where the source ends."""

    org_id: Key[str]
    source_id: Key[bytes]
    target_id: Key[bytes]
    run_id: Key[bytes]
    renamed_at: Greatest[int]


class Job(NamedTuple):
    """A job under the name its events give it."""

    org_id: Key[str]
    job_id: Key[bytes]
    namespace_id: Const[bytes]
    name: Const[str]
    created_at: Least[int]
    updated_at: Greatest[int]
    type_order: Annotated[bytes | None, Order("type")] = None
    job_type: Annotated[str | None, Member("type")] = None
    processing_type: Annotated[str | None, Member("type")] = None
    integration: Annotated[str | None, Member("type")] = None
    emits_snapshots: Annotated[bool | None, Member("type")] = None
    documentation_order: Annotated[bytes | None, Order("documentation")] = None
    description: Annotated[str | None, Member("documentation")] = None
    ownership_order: Annotated[bytes | None, Order("ownership")] = None
    owner_team: Annotated[str | None, Member("ownership")] = None
    owner_email: Annotated[str | None, Member("ownership")] = None
    declared_io: Greatest[bytes | None] = None
    declared_lineage: Greatest[bytes | None] = None


class Run(NamedTuple):
    """One run: its state, its times, who claims it and whom it belongs to."""

    org_id: Key[str]
    run_id: Key[bytes]
    run_uuid: Const[str]
    claim_order: Annotated[bytes, Order("claim", least=True)]
    job_id: Annotated[bytes, Member("claim")]
    created_at: Least[int]
    updated_at: Greatest[int]
    least_claimant: Least[bytes | None] = None
    greatest_claimant: Greatest[bytes | None] = None
    started_at: Least[int | None] = None
    state_order: Annotated[bytes | None, Order("state")] = None
    event_type: Annotated[str | None, Member("state")] = None
    event_time: Annotated[int | None, Member("state")] = None
    origin_order: Annotated[bytes | None, Order("origin")] = None
    producer: Annotated[str | None, Member("origin")] = None
    schema_url: Annotated[str | None, Member("origin")] = None
    nominal_order: Annotated[bytes | None, Order("nominal")] = None
    nominal_start_time: Annotated[int | None, Member("nominal")] = None
    nominal_end_time: Annotated[int | None, Member("nominal")] = None
    parent_order: Annotated[bytes | None, Order("parent")] = None
    parent_run_id: Annotated[bytes | None, Member("parent")] = None
    parent_run_uuid: Annotated[str | None, Member("parent")] = None
    parent_job_id: Annotated[bytes | None, Member("parent")] = None
    root_run_id: Annotated[bytes | None, Member("parent")] = None
    root_job_id: Annotated[bytes | None, Member("parent")] = None
    explicit: Greatest[bool] = False


class RunInput(NamedTuple):
    """A dataset that a run read, as the job named by the event."""

    org_id: Key[str]
    run_id: Key[bytes]
    dataset_id: Key[bytes]
    job_id: Key[bytes]
    first_seen: Least[int]
    last_seen: Greatest[int]
    version_order: Annotated[bytes | None, Order("version", least=True)] = None
    version: Annotated[str | None, Member("version")] = None
    statistics_order: Annotated[bytes | None, Order("statistics")] = None
    row_count: Annotated[int | None, Member("statistics")] = None
    byte_count: Annotated[int | None, Member("statistics")] = None
    file_count: Annotated[int | None, Member("statistics")] = None


class RunOutput(NamedTuple):
    """A dataset that a run wrote or changed, as the job named by the event."""

    org_id: Key[str]
    run_id: Key[bytes]
    dataset_id: Key[bytes]
    job_id: Key[bytes]
    first_seen: Least[int]
    last_seen: Greatest[int]
    dropped_at: Greatest[int | None] = None
    lifecycle_order: Annotated[bytes | None, Order("lifecycle")] = None
    lifecycle: Annotated[str | None, Member("lifecycle")] = None


class DatasetVersion(NamedTuple):
    """What one run left in one dataset; a version without a run was reported by a DatasetEvent."""

    org_id: Key[str]
    dataset_id: Key[bytes]
    writer_id: Key[bytes]
    version_id: Const[bytes]
    produced_by_run_id: Const[bytes | None]
    path: Annotated[str | None, Member("path")]
    produced_at: Greatest[int]
    tag_order: Annotated[bytes, Order("tag")]
    version_tag: Annotated[str, Member("tag")]
    statistics_order: Annotated[bytes | None, Order("statistics")] = None
    row_count: Annotated[int | None, Member("statistics")] = None
    byte_count: Annotated[int | None, Member("statistics")] = None
    file_count: Annotated[int | None, Member("statistics")] = None
    schema_order: Annotated[bytes | None, Order("schema")] = None
    schema_hash: Annotated[bytes | None, Member("schema")] = None
    subset_order: Annotated[bytes | None, Order("subset")] = None
    subset_json: Annotated[str | None, Member("subset")] = None
    key_order: Annotated[bytes | None, Order("key")] = None
    idempotency_key: Annotated[str | None, Member("key")] = None
    path_order: Annotated[bytes | None, Order("path")] = None


class ColumnLineage(NamedTuple):
    """One way in which a source column reaches a target column in one job, stored beside its siblings.

    An empty source column means the whole source, an empty target column the whole target. Who asks what
    becomes of a source finds its targets through the edges, and their rows here.
    """

    org_id: Key[str]
    target_id: Key[bytes]
    source_id: Key[bytes]
    lineage_id: Key[bytes]
    job_id: Const[bytes]
    source_field: Const[str]
    target_field: Const[str]
    transformation_type: Const[str]
    transformation_subtype: Const[str]
    masking: Const[bool]
    discovered_at: Annotated[int, Order("discovery", least=True)]
    run_id: Annotated[bytes, Order("discovery", least=True)]
    transformation_description: Annotated[str, Order("discovery", least=True)]


class LineageSet(NamedTuple):
    """The column lineage that one facet asserts together: the ids of its rows, joined."""

    org_id: Key[str]
    set_id: Key[bytes]
    members: Const[bytes]


class RunLineage(NamedTuple):
    """What a run last said about the columns of a target, and whether it named its sources outright."""

    org_id: Key[str]
    target_id: Key[bytes]
    job_id: Key[bytes]
    run_id: Key[bytes]
    explicit: Greatest[bool]
    columns_order: Annotated[bytes | None, Order("columns")] = None
    columns_set: Annotated[bytes | None, Member("columns")] = None


class RunExplicit(NamedTuple):
    """An explicit lineage entry of a run; entries accumulate."""

    org_id: Key[str]
    target_id: Key[bytes]
    job_id: Key[bytes]
    run_id: Key[bytes]
    set_id: Key[bytes]


class LineageEdge(NamedTuple):
    """A directed edge between datasets and jobs, as asserted for one job."""

    org_id: Key[str]
    source_id: Key[bytes]
    target_id: Key[bytes]
    edge_role: Key[str]
    job_id: Key[bytes]
    evidence: Key[str]
    source_type: Const[str]
    target_type: Const[str]
    first_seen: Least[int]
    last_seen: Greatest[int]
    meta_order: Annotated[bytes | None, Order("meta")] = None
    transform_meta: Annotated[str | None, Member("meta")] = None
    declared_io: Greatest[bytes | None] = None
    declared_lineage: Greatest[bytes | None] = None


class Facet(NamedTuple):
    """The winning content of one facet of a dataset, job or run, or of a run about a dataset."""

    org_id: Key[str]
    owner_id: Key[bytes]
    about_id: Key[bytes]
    name: Key[str]
    facet_order: Annotated[bytes, Order("facet")]
    body: Annotated[str | None, Member("facet")]


class QualityCheck(NamedTuple):
    """A check of a dataset, of one of its columns, or of a run."""

    org_id: Key[str]
    qdef_id: Key[bytes]
    dataset_id: Const[bytes | None]
    job_id: Const[bytes | None]
    name: Const[str]
    field_name: Const[str]
    created_at: Least[int]
    definition_order: Annotated[bytes | None, Order("definition")] = None
    sql_expression: Annotated[str | None, Member("definition")] = None
    expected_result: Annotated[str | None, Member("definition")] = None


class QualityResult(NamedTuple):
    """The last word of one run about one check."""

    org_id: Key[str]
    qres_id: Key[bytes]
    qdef_id: Const[bytes]
    run_id: Const[bytes]
    dataset_version_id: Greatest[bytes | None]
    result_order: Annotated[bytes, Order("result")]
    executed_at: Annotated[int, Member("result")]
    status: Annotated[str, Member("result")]
    detail_json: Annotated[str | None, Member("result")]


class DatasetRegistration(NamedTuple):
    """Somebody's request to register a dataset, and what a reviewer decided about it."""

    org_id: Key[str]
    reg_id: Key[bytes]
    dataset_id: Const[bytes]
    submitted_by: Const[str]
    submitted_at: Const[int]
    review_order: Annotated[bytes, Order("review")]
    status: Annotated[str, Member("review")]
    reviewer: Annotated[str | None, Member("review")] = None
    review_comment: Annotated[str | None, Member("review")] = None
    request_order: Annotated[bytes | None, Order("request")] = None
    request_json: Annotated[str | None, Member("request")] = None


#: Every fact class and the table it lives in, parents before children.
TABLES: dict[str, type[tuple[object, ...]]] = {
    "ol_namespace": Namespace,
    "ol_dataset": Dataset,
    "dataset_schema": DatasetSchema,
    "dataset_symlink": DatasetSymlink,
    "dataset_succession": DatasetSuccession,
    "ol_job": Job,
    "ol_run": Run,
    "ol_run_input": RunInput,
    "ol_run_output": RunOutput,
    "dataset_version": DatasetVersion,
    "column_lineage": ColumnLineage,
    "lineage_set": LineageSet,
    "run_lineage": RunLineage,
    "run_explicit": RunExplicit,
    "lineage_edge": LineageEdge,
    "facet": Facet,
    "quality_check_def": QualityCheck,
    "quality_check_result": QualityResult,
    "dataset_registration": DatasetRegistration,
}
