"""The catalogue part of the warehouse; what are views in the store are tables here."""

import sqlalchemy as sa

from bridge.warehouse.columns import Flag, Hash, Id, Long, Moment, Name, Word, columns, table

dataset = table(
    "dataset",
    columns(Id, "dataset_id"),
    columns(Name, "namespace name full_name"),
    columns(Long, "description?"),
    columns(Name, "default_format? owner_team? owner_email?"),
    columns(Id, "default_sla_id?"),
    columns(Word, "status", default="ACTIVE"),
    columns(Name, "created_by?"),
    columns(Moment, "created_at updated_at"),
    key="dataset_id",
)

process = table(
    "process",
    columns(Id, "process_id"),
    columns(Name, "process_key name"),
    columns(Long, "description?"),
    columns(Name, "technology team? owner_email?"),
    columns(Word, "trigger_mode", default="PROCESS"),
    columns(Moment, "created_at updated_at"),
    key="process_id",
)

process_run = table(
    "process_run",
    columns(Id, "run_id run_uuid process_id"),
    columns(Moment, "start_ts end_ts?"),
    columns(Word, "status"),
    columns(sa.BigInteger, "attempt", default=sa.text("1")),
    columns(Id, "parent_run_uuid?"),
    columns(Long, "log_location? facets_json?"),
    columns(Moment, "created_at"),
    key="run_id start_ts",
    refers=(process.c.process_id,),
    by_day="start_ts",
)

dataset_version = table(
    "dataset_version",
    columns(Id, "version_id dataset_id"),
    columns(Name, "version_tag"),
    columns(Long, "path?"),
    columns(sa.BigInteger, "row_count?"),
    columns(Name, "checksum?"),
    columns(Hash, "schema_hash?"),
    columns(Id, "produced_by_run_id?"),
    columns(Moment, "produced_at"),
    columns(Long, "metadata_json?"),
    key="version_id",
)

dataset_schema = table(
    "dataset_schema",
    columns(Id, "dataset_id"),
    columns(Hash, "schema_hash"),
    columns(Long, "columns_json?"),
    key="dataset_id schema_hash",
)

lineage_edge = table(
    "lineage_edge",
    columns(Word, "source_type"),
    columns(Id, "source_id"),
    columns(Word, "target_type"),
    columns(Id, "target_id"),
    columns(Word, "edge_role"),
    columns(Id, "job_id"),
    columns(Long, "transform_meta?"),
    columns(Word, "evidence"),
    columns(Moment, "first_seen last_seen"),
    key="source_id target_id edge_role job_id evidence",
)

run_event = table(
    "run_event",
    columns(Long, "payload"),
    columns(Id, "run_id?"),
    columns(Name, "process_key?"),
    columns(Word, "event_type"),
    columns(Moment, "received_at"),
    columns(Name, "source"),
    columns(Flag, "historical", default=sa.false()),
    columns(Long, "notes_json?"),
    columns(Hash, "event_hash"),
    key="event_hash received_at",
    by_day="received_at",
)

sla = table(
    "sla",
    columns(Id, "sla_id"),
    columns(Name, "name"),
    columns(Long, "description?"),
    columns(sa.BigInteger, "sla_window_sec?"),
    columns(Long, "escalation_json?"),
    columns(Moment, "created_at"),
    key="sla_id",
)

quality_check_def = table(
    "quality_check_def",
    columns(Id, "qdef_id dataset_id?"),
    columns(Name, "name"),
    columns(Long, "sql_expression? expected_result?"),
    columns(Moment, "created_at"),
    key="qdef_id",
)

quality_check_result = table(
    "quality_check_result",
    columns(Id, "qres_id qdef_id dataset_version_id?"),
    columns(Moment, "executed_at"),
    columns(Word, "status"),
    columns(Long, "detail_json?"),
    key="qres_id",
    refers=(quality_check_def.c.qdef_id,),
)

dataset_registration = table(
    "dataset_registration",
    columns(Id, "reg_id dataset_id"),
    columns(Name, "submitted_by"),
    columns(Moment, "submitted_at"),
    columns(Word, "status"),
    columns(Name, "reviewer?"),
    columns(Long, "review_comment?"),
    key="reg_id",
)

CATALOGUE = (
    dataset, process, process_run, dataset_version, dataset_schema, lineage_edge, run_event, sla,
    quality_check_def, quality_check_result, dataset_registration,
)  # fmt: skip
