"""OpenLineage tables of the warehouse."""

import sqlalchemy as sa

from bridge.store.schema import SPEC_VERSION
from bridge.warehouse.column_types import (
    BoundedText,
    Flag,
    Keyword,
    LongText,
    UtcTimestamp,
    UuidText,
    columns,
    metadata,
    table,
)

ol_namespace = table(
    "ol_namespace",
    columns(UuidText, "namespace_id"),
    columns(BoundedText, "namespace_uri"),
    columns(LongText, "description?"),
    columns(Keyword, "spec_version", default=SPEC_VERSION),
    columns(UtcTimestamp, "created_at"),
    key="namespace_id",
    indexes="namespace_uri",
)

ol_dataset = table(
    "ol_dataset",
    columns(UuidText, "dataset_id namespace_id"),
    columns(BoundedText, "name"),
    columns(LongText, "description?"),
    columns(BoundedText, "source_type"),
    columns(UtcTimestamp, "created_at updated_at"),
    columns(Flag, "is_active", default=sa.true()),
    columns(UuidText, "class_id"),
    key="dataset_id",
    references=(ol_namespace.c.namespace_id,),
    indexes="namespace_id name",
)

ol_dataset_field = table(
    "ol_dataset_field",
    columns(BoundedText, "field_id"),
    columns(UuidText, "dataset_id"),
    columns(BoundedText, "field_name"),
    columns(LongText, "field_type? field_description?"),
    columns(sa.BigInteger, "ordinal_position?"),
    columns(Flag, "nullable?"),
    columns(UtcTimestamp, "created_at"),
    key="field_id",
    references=(ol_dataset.c.dataset_id,),
    indexes="dataset_id field_name",
)

ol_job = table(
    "ol_job",
    columns(UuidText, "job_id namespace_id"),
    columns(BoundedText, "name"),
    columns(LongText, "description?"),
    columns(BoundedText, "job_type?"),
    columns(UtcTimestamp, "created_at updated_at"),
    key="job_id",
    references=(ol_namespace.c.namespace_id,),
    indexes="namespace_id name",
)

ol_run = table(
    "ol_run",
    columns(UuidText, "run_id job_id"),
    columns(BoundedText, "event_type?"),
    columns(UtcTimestamp, "event_time? nominal_start_time? nominal_end_time?"),
    columns(LongText, "producer? schema_url?"),
    columns(UtcTimestamp, "created_at"),
    key="run_id",
    references=(ol_job.c.job_id,),
    indexes="job_id event_time event_type",
)

ol_run_input = table(
    "ol_run_input",
    columns(UuidText, "run_id dataset_id"),
    key="run_id dataset_id",
    references=(ol_run.c.run_id, ol_dataset.c.dataset_id),
    indexes="dataset_id",
)

ol_run_output = table(
    "ol_run_output",
    columns(UuidText, "run_id dataset_id"),
    key="run_id dataset_id",
    references=(ol_run.c.run_id, ol_dataset.c.dataset_id),
    indexes="dataset_id",
)

ol_column_lineage = table(
    "ol_column_lineage",
    columns(UuidText, "lineage_id run_id job_id"),  # nil UUID without a known run or job
    columns(
        BoundedText, "source_namespace source_dataset source_field? target_namespace target_dataset target_field?"
    ),
    columns(BoundedText, "transformation_type transformation_subtype"),
    columns(LongText, "transformation_description?"),
    columns(Flag, "masking", default=sa.false()),
    columns(sa.Float, "confidence_score", default=sa.text("1.0")),
    columns(UtcTimestamp, "discovered_at"),
    columns(Flag, "is_active", default=sa.true()),
    key="lineage_id",
    indexes="source_dataset source_field target_dataset target_field run_id transformation_type",
)

ol_schema_version = sa.Table(
    "ol_schema_version",
    metadata,
    sa.Column("version_id", sa.BigInteger, primary_key=True, autoincrement=False),
    *columns(Keyword, "openlineage_spec_version schema_version"),
    *columns(UtcTimestamp, "applied_at"),
    *columns(LongText, "description?"),
    info={"by_day": ""},
)

OPENLINEAGE_TABLES = (
    ol_namespace, ol_dataset, ol_dataset_field, ol_job, ol_run, ol_run_input, ol_run_output, ol_column_lineage,
    ol_schema_version,
)  # fmt: skip
