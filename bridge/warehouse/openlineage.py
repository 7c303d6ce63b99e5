"""The OpenLineage part of the warehouse: the tables of the seed's models, with names and times spelled out."""

import sqlalchemy as sa

from bridge.store.schema import SPEC_VERSION
from bridge.warehouse.columns import Flag, Id, Long, Moment, Name, Word, columns, metadata, table

ol_namespace = table(
    "ol_namespace",
    columns(Id, "namespace_id"),
    columns(Name, "namespace_uri"),
    columns(Long, "description?"),
    columns(Word, "spec_version", default=SPEC_VERSION),
    columns(Moment, "created_at"),
    key="namespace_id",
    indexes="namespace_uri",
)

ol_dataset = table(
    "ol_dataset",
    columns(Id, "dataset_id namespace_id"),
    columns(Name, "name"),
    columns(Long, "description?"),
    columns(Name, "source_type"),
    columns(Moment, "created_at updated_at"),
    columns(Flag, "is_active", default=sa.true()),
    columns(Id, "class_id"),
    key="dataset_id",
    refers=(ol_namespace.c.namespace_id,),
    indexes="namespace_id name",
)

ol_dataset_field = table(
    "ol_dataset_field",
    columns(Name, "field_id"),
    columns(Id, "dataset_id"),
    columns(Name, "field_name"),
    columns(Long, "field_type? field_description?"),
    columns(sa.BigInteger, "ordinal_position?"),
    columns(Flag, "nullable?"),
    columns(Moment, "created_at"),
    key="field_id",
    refers=(ol_dataset.c.dataset_id,),
    indexes="dataset_id field_name",
)

ol_job = table(
    "ol_job",
    columns(Id, "job_id namespace_id"),
    columns(Name, "name"),
    columns(Long, "description?"),
    columns(Name, "job_type?"),
    columns(Moment, "created_at updated_at"),
    key="job_id",
    refers=(ol_namespace.c.namespace_id,),
    indexes="namespace_id name",
)

ol_run = table(
    "ol_run",
    columns(Id, "run_id job_id"),
    columns(Name, "event_type?"),
    columns(Moment, "event_time? nominal_start_time? nominal_end_time?"),
    columns(Long, "producer? schema_url?"),
    columns(Moment, "created_at"),
    key="run_id",
    refers=(ol_job.c.job_id,),
    indexes="job_id event_time event_type",
)

ol_run_input = table(
    "ol_run_input",
    columns(Id, "run_id dataset_id"),
    key="run_id dataset_id",
    refers=(ol_run.c.run_id, ol_dataset.c.dataset_id),
    indexes="dataset_id",
)

ol_run_output = table(
    "ol_run_output",
    columns(Id, "run_id dataset_id"),
    key="run_id dataset_id",
    refers=(ol_run.c.run_id, ol_dataset.c.dataset_id),
    indexes="dataset_id",
)

ol_column_lineage = table(
    "ol_column_lineage",
    columns(Id, "lineage_id run_id job_id"),  # the nil UUID where no run or no job said it
    columns(Name, "source_namespace source_dataset source_field? target_namespace target_dataset target_field?"),
    columns(Name, "transformation_type transformation_subtype"),
    columns(Long, "transformation_description?"),
    columns(Flag, "masking", default=sa.false()),
    columns(sa.Float, "confidence_score", default=sa.text("1.0")),
    columns(Moment, "discovered_at"),
    columns(Flag, "is_active", default=sa.true()),
    key="lineage_id",
    indexes="source_dataset source_field target_dataset target_field run_id transformation_type",
)

ol_schema_version = sa.Table(
    "ol_schema_version",
    metadata,
    sa.Column("version_id", sa.BigInteger, primary_key=True, autoincrement=False),
    *columns(Word, "openlineage_spec_version schema_version"),
    *columns(Moment, "applied_at"),
    *columns(Long, "description?"),
    info={"by_day": ""},
)

OPENLINEAGE = (
    ol_namespace, ol_dataset, ol_dataset_field, ol_job, ol_run, ol_run_input, ol_run_output, ol_column_lineage,
    ol_schema_version,
)  # fmt: skip
