"""Row classes of the canonical store; each column declares its merge rule.

Times are microseconds since 1970 in UTC, ids are 16 bytes. `docs/reference/tables.md` is generated from these
declarations.
"""

from typing import Annotated, NamedTuple

from mappers.canonical.merge import Const, Key, Max, Min, RegisterMember, RegisterOrder


class NamespaceRow(NamedTuple):
    """A naming authority, such as a scheduler, a bucket or a database server."""

    org_id: Key[str]
    namespace_id: Key[bytes]
    namespace_uri: Const[str]
    created_at: Min[int]


class DatasetRow(NamedTuple):
    """A dataset under one of its names; symlinks connect the names of its identity group."""

    org_id: Key[str]
    dataset_id: Key[bytes]
    namespace_id: Const[bytes]
    name: Const[str]
    source_type: Const[str]
    created_at: Min[int]
    updated_at: Max[int]
    documentation_order: Annotated[bytes | None, RegisterOrder("documentation")] = None
    description: Annotated[str | None, RegisterMember("documentation")] = None
    ownership_order: Annotated[bytes | None, RegisterOrder("ownership")] = None
    owner_team: Annotated[str | None, RegisterMember("ownership")] = None
    owner_email: Annotated[str | None, RegisterMember("ownership")] = None
    storage_order: Annotated[bytes | None, RegisterOrder("storage")] = None
    default_format: Annotated[str | None, RegisterMember("storage")] = None
    retired_at: Max[int | None] = None
    symlinks_deleted_at: Max[int | None] = None
    declared_lineage: Max[bytes | None] = None


class DatasetSchemaRow(NamedTuple):
    """A distinct set of columns of a dataset, and when it was last written, declared and read."""

    org_id: Key[str]
    dataset_id: Key[bytes]
    schema_hash: Key[bytes]
    column_count: Const[int]
    first_seen: Min[int]
    written_at: Max[int | None]
    declared_at: Max[int | None]
    read_at: Max[int | None]
    columns_order: Annotated[bytes | None, RegisterOrder("columns")]
    columns_json: Annotated[str | None, RegisterMember("columns")]


class DatasetSymlinkRow(NamedTuple):
    """Another name of a dataset; the name is active unless the facet that reported it was deleted later."""

    org_id: Key[str]
    dataset_id: Key[bytes]
    alias_id: Key[bytes]
    identifier_type: Key[str]
    asserted_at: Max[int]


class DatasetSuccessionRow(NamedTuple):
    """A renaming of a dataset: from its time on, the target dataset replaces the source dataset."""

    org_id: Key[str]
    source_id: Key[bytes]
    target_id: Key[bytes]
    run_id: Key[bytes]
    renamed_at: Max[int]


class JobRow(NamedTuple):
    """A job, under the name given by its events."""

    org_id: Key[str]
    job_id: Key[bytes]
    namespace_id: Const[bytes]
    name: Const[str]
    created_at: Min[int]
    updated_at: Max[int]
    type_order: Annotated[bytes | None, RegisterOrder("type")] = None
    job_type: Annotated[str | None, RegisterMember("type")] = None
    processing_type: Annotated[str | None, RegisterMember("type")] = None
    integration: Annotated[str | None, RegisterMember("type")] = None
    emits_snapshots: Annotated[bool | None, RegisterMember("type")] = None
    documentation_order: Annotated[bytes | None, RegisterOrder("documentation")] = None
    description: Annotated[str | None, RegisterMember("documentation")] = None
    ownership_order: Annotated[bytes | None, RegisterOrder("ownership")] = None
    owner_team: Annotated[str | None, RegisterMember("ownership")] = None
    owner_email: Annotated[str | None, RegisterMember("ownership")] = None
    declared_io: Max[bytes | None] = None
    declared_lineage: Max[bytes | None] = None


class RunRow(NamedTuple):
    """A run: its state, its times, the job it belongs to, its parent run and its root run."""

    org_id: Key[str]
    run_id: Key[bytes]
    run_uuid: Const[str]
    claim_order: Annotated[bytes, RegisterOrder("claim", minimum=True)]
    job_id: Annotated[bytes, RegisterMember("claim")]
    created_at: Min[int]
    updated_at: Max[int]
    least_claimant: Min[bytes | None] = None
    greatest_claimant: Max[bytes | None] = None
    started_at: Min[int | None] = None
    state_order: Annotated[bytes | None, RegisterOrder("state")] = None
    event_type: Annotated[str | None, RegisterMember("state")] = None
    event_time: Annotated[int | None, RegisterMember("state")] = None
    origin_order: Annotated[bytes | None, RegisterOrder("origin")] = None
    producer: Annotated[str | None, RegisterMember("origin")] = None
    schema_url: Annotated[str | None, RegisterMember("origin")] = None
    nominal_order: Annotated[bytes | None, RegisterOrder("nominal")] = None
    nominal_start_time: Annotated[int | None, RegisterMember("nominal")] = None
    nominal_end_time: Annotated[int | None, RegisterMember("nominal")] = None
    parent_order: Annotated[bytes | None, RegisterOrder("parent")] = None
    parent_run_id: Annotated[bytes | None, RegisterMember("parent")] = None
    parent_run_uuid: Annotated[str | None, RegisterMember("parent")] = None
    parent_job_id: Annotated[bytes | None, RegisterMember("parent")] = None
    root_run_id: Annotated[bytes | None, RegisterMember("parent")] = None
    root_job_id: Annotated[bytes | None, RegisterMember("parent")] = None
    explicit: Max[bool] = False


class RunInputRow(NamedTuple):
    """A dataset that a run read, with the job named by the event."""

    org_id: Key[str]
    run_id: Key[bytes]
    dataset_id: Key[bytes]
    job_id: Key[bytes]
    first_seen: Min[int]
    last_seen: Max[int]
    version_order: Annotated[bytes | None, RegisterOrder("version", minimum=True)] = None
    version: Annotated[str | None, RegisterMember("version")] = None
    statistics_order: Annotated[bytes | None, RegisterOrder("statistics")] = None
    row_count: Annotated[int | None, RegisterMember("statistics")] = None
    byte_count: Annotated[int | None, RegisterMember("statistics")] = None
    file_count: Annotated[int | None, RegisterMember("statistics")] = None


class RunOutputRow(NamedTuple):
    """A dataset that a run wrote or changed, with the job named by the event."""

    org_id: Key[str]
    run_id: Key[bytes]
    dataset_id: Key[bytes]
    job_id: Key[bytes]
    first_seen: Min[int]
    last_seen: Max[int]
    dropped_at: Max[int | None] = None
    lifecycle_order: Annotated[bytes | None, RegisterOrder("lifecycle")] = None
    lifecycle: Annotated[str | None, RegisterMember("lifecycle")] = None


class DatasetVersionRow(NamedTuple):
    """The version that a run wrote to a dataset; a version without a run was reported by a DatasetEvent."""

    org_id: Key[str]
    dataset_id: Key[bytes]
    writer_id: Key[bytes]
    version_id: Const[bytes]
    produced_by_run_id: Const[bytes | None]
    path: Annotated[str | None, RegisterMember("path")]
    produced_at: Max[int]
    tag_order: Annotated[bytes, RegisterOrder("tag")]
    version_tag: Annotated[str, RegisterMember("tag")]
    statistics_order: Annotated[bytes | None, RegisterOrder("statistics")] = None
    row_count: Annotated[int | None, RegisterMember("statistics")] = None
    byte_count: Annotated[int | None, RegisterMember("statistics")] = None
    file_count: Annotated[int | None, RegisterMember("statistics")] = None
    schema_order: Annotated[bytes | None, RegisterOrder("schema")] = None
    schema_hash: Annotated[bytes | None, RegisterMember("schema")] = None
    subset_order: Annotated[bytes | None, RegisterOrder("subset")] = None
    subset_json: Annotated[str | None, RegisterMember("subset")] = None
    key_order: Annotated[bytes | None, RegisterOrder("key")] = None
    idempotency_key: Annotated[str | None, RegisterMember("key")] = None
    path_order: Annotated[bytes | None, RegisterOrder("path")] = None


class ColumnLineageRow(NamedTuple):
    """One way in which a job derives a target column from a source column.

    An empty source column stands for the whole source, and an empty target column for the whole target. Rows are
    stored by target: impact queries find the targets of a source through the edges, and then read their rows here.
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
    discovered_at: Annotated[int, RegisterOrder("discovery", minimum=True)]
    run_id: Annotated[bytes, RegisterOrder("discovery", minimum=True)]
    transformation_description: Annotated[str, RegisterOrder("discovery", minimum=True)]


class LineageSetRow(NamedTuple):
    """The column lineage that one facet asserts: the concatenated ids of its rows."""

    org_id: Key[str]
    set_id: Key[bytes]
    members: Const[bytes]


class RunLineageRow(NamedTuple):
    """A run's last column lineage for a target, and whether the run has explicit lineage for that target."""

    org_id: Key[str]
    target_id: Key[bytes]
    job_id: Key[bytes]
    run_id: Key[bytes]
    explicit: Max[bool]
    columns_order: Annotated[bytes | None, RegisterOrder("columns")] = None
    columns_set: Annotated[bytes | None, RegisterMember("columns")] = None


class RunExplicitLineageRow(NamedTuple):
    """An explicit lineage entry of a run; entries accumulate."""

    org_id: Key[str]
    target_id: Key[bytes]
    job_id: Key[bytes]
    run_id: Key[bytes]
    set_id: Key[bytes]


class LineageEdgeRow(NamedTuple):
    """A directed edge between datasets and jobs, as asserted for one job."""

    org_id: Key[str]
    source_id: Key[bytes]
    target_id: Key[bytes]
    edge_role: Key[str]
    job_id: Key[bytes]
    evidence: Key[str]
    source_type: Const[str]
    target_type: Const[str]
    first_seen: Min[int]
    last_seen: Max[int]
    meta_order: Annotated[bytes | None, RegisterOrder("meta")] = None
    transform_meta: Annotated[str | None, RegisterMember("meta")] = None
    declared_io: Max[bytes | None] = None
    declared_lineage: Max[bytes | None] = None


class FacetRow(NamedTuple):
    """The current content of a facet of a dataset, job or run, or of a facet in which a run describes a dataset."""

    org_id: Key[str]
    owner_id: Key[bytes]
    about_id: Key[bytes]
    name: Key[str]
    facet_order: Annotated[bytes, RegisterOrder("facet")]
    body: Annotated[str | None, RegisterMember("facet")]


class QualityCheckRow(NamedTuple):
    """A check of a dataset, of one of its columns, or of a run."""

    org_id: Key[str]
    qdef_id: Key[bytes]
    dataset_id: Const[bytes | None]
    job_id: Const[bytes | None]
    name: Const[str]
    field_name: Const[str]
    created_at: Min[int]
    definition_order: Annotated[bytes | None, RegisterOrder("definition")] = None
    sql_expression: Annotated[str | None, RegisterMember("definition")] = None
    expected_result: Annotated[str | None, RegisterMember("definition")] = None


class QualityResultRow(NamedTuple):
    """The last result of a check in one run."""

    org_id: Key[str]
    qres_id: Key[bytes]
    qdef_id: Const[bytes]
    run_id: Const[bytes]
    dataset_version_id: Max[bytes | None]
    result_order: Annotated[bytes, RegisterOrder("result")]
    executed_at: Annotated[int, RegisterMember("result")]
    status: Annotated[str, RegisterMember("result")]
    detail_json: Annotated[str | None, RegisterMember("result")]


class DatasetRegistrationRow(NamedTuple):
    """A request to register a dataset, and the reviewer's decision."""

    org_id: Key[str]
    reg_id: Key[bytes]
    dataset_id: Const[bytes]
    submitted_by: Const[str]
    submitted_at: Const[int]
    review_order: Annotated[bytes, RegisterOrder("review")]
    status: Annotated[str, RegisterMember("review")]
    reviewer: Annotated[str | None, RegisterMember("review")] = None
    review_comment: Annotated[str | None, RegisterMember("review")] = None
    request_order: Annotated[bytes | None, RegisterOrder("request")] = None
    request_json: Annotated[str | None, RegisterMember("request")] = None


#: Row classes by table, parents before children.
TABLES: dict[str, type[tuple[object, ...]]] = {
    "ol_namespace": NamespaceRow,
    "ol_dataset": DatasetRow,
    "dataset_schema": DatasetSchemaRow,
    "dataset_symlink": DatasetSymlinkRow,
    "dataset_succession": DatasetSuccessionRow,
    "ol_job": JobRow,
    "ol_run": RunRow,
    "ol_run_input": RunInputRow,
    "ol_run_output": RunOutputRow,
    "dataset_version": DatasetVersionRow,
    "column_lineage": ColumnLineageRow,
    "lineage_set": LineageSetRow,
    "run_lineage": RunLineageRow,
    "run_explicit": RunExplicitLineageRow,
    "lineage_edge": LineageEdgeRow,
    "facet": FacetRow,
    "quality_check_def": QualityCheckRow,
    "quality_check_result": QualityResultRow,
    "dataset_registration": DatasetRegistrationRow,
}
