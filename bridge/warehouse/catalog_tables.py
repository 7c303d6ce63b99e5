"""Catalog tables of the warehouse; views of the store become tables."""

import sqlalchemy as sa

from bridge.warehouse.column_types import (
    BoundedText,
    Flag,
    HexHash,
    Keyword,
    LongText,
    UtcTimestamp,
    UuidText,
    columns,
    table,
)

dataset = table(
    "dataset",
    columns(UuidText, "dataset_id"),
    columns(BoundedText, "namespace name full_name"),
    columns(LongText, "description?"),
    columns(BoundedText, "default_format? owner_team? owner_email?"),
    columns(UuidText, "default_sla_id?"),
    columns(Keyword, "status", default="ACTIVE"),
    columns(BoundedText, "created_by?"),
    columns(UtcTimestamp, "created_at updated_at"),
    key="dataset_id",
)

process = table(
    "process",
    columns(UuidText, "process_id"),
    columns(BoundedText, "process_key name"),
    columns(LongText, "description?"),
    columns(BoundedText, "technology team? owner_email?"),
    columns(Keyword, "trigger_mode", default="PROCESS"),
    columns(UtcTimestamp, "created_at updated_at"),
    key="process_id",
)

process_run = table(
    "process_run",
    columns(UuidText, "run_id run_uuid process_id"),
    columns(UtcTimestamp, "start_ts end_ts?"),
    columns(Keyword, "status"),
    columns(sa.BigInteger, "attempt", default=sa.text("1")),
    columns(UuidText, "parent_run_uuid?"),
    columns(LongText, "log_location? facets_json?"),
    columns(UtcTimestamp, "created_at"),
    key="run_id start_ts",
    references=(process.c.process_id,),
    by_day="start_ts",
)

dataset_version = table(
    "dataset_version",
    columns(UuidText, "version_id dataset_id"),
    columns(BoundedText, "version_tag"),
    columns(LongText, "path?"),
    columns(sa.BigInteger, "row_count?"),
    columns(BoundedText, "checksum?"),
    columns(HexHash, "schema_hash?"),
    columns(UuidText, "produced_by_run_id?"),
    columns(UtcTimestamp, "produced_at"),
    columns(LongText, "metadata_json?"),
    key="version_id",
)

dataset_schema = table(
    "dataset_schema",
    columns(UuidText, "dataset_id"),
    columns(HexHash, "schema_hash"),
    columns(LongText, "columns_json?"),
    key="dataset_id schema_hash",
)

lineage_edge = table(
    "lineage_edge",
    columns(Keyword, "source_type"),
    columns(UuidText, "source_id"),
    columns(Keyword, "target_type"),
    columns(UuidText, "target_id"),
    columns(Keyword, "edge_role"),
    columns(UuidText, "job_id"),
    columns(LongText, "transform_meta?"),
    columns(Keyword, "evidence"),
    columns(UtcTimestamp, "first_seen last_seen"),
    key="source_id target_id edge_role job_id evidence",
)

run_event = table(
    "run_event",
    columns(LongText, "payload"),
    columns(UuidText, "run_id?"),
    columns(BoundedText, "process_key?"),
    columns(Keyword, "event_type"),
    columns(UtcTimestamp, "received_at"),
    columns(BoundedText, "source"),
    columns(Flag, "historical", default=sa.false()),
    columns(LongText, "notes_json?"),
    columns(HexHash, "event_hash"),
    key="event_hash received_at",
    by_day="received_at",
)

sla = table(
    "sla",
    columns(UuidText, "sla_id"),
    columns(BoundedText, "name"),
    columns(LongText, "description?"),
    columns(sa.BigInteger, "sla_window_sec?"),
    columns(LongText, "escalation_json?"),
    columns(UtcTimestamp, "created_at"),
    key="sla_id",
)

quality_check_def = table(
    "quality_check_def",
    columns(UuidText, "qdef_id dataset_id?"),
    columns(BoundedText, "name"),
    columns(LongText, "sql_expression? expected_result?"),
    columns(UtcTimestamp, "created_at"),
    key="qdef_id",
)

quality_check_result = table(
    "quality_check_result",
    columns(UuidText, "qres_id qdef_id dataset_version_id?"),
    columns(UtcTimestamp, "executed_at"),
    columns(Keyword, "status"),
    columns(LongText, "detail_json?"),
    key="qres_id",
    references=(quality_check_def.c.qdef_id,),
)

dataset_registration = table(
    "dataset_registration",
    columns(UuidText, "reg_id dataset_id"),
    columns(BoundedText, "submitted_by"),
    columns(UtcTimestamp, "submitted_at"),
    columns(Keyword, "status"),
    columns(BoundedText, "reviewer?"),
    columns(LongText, "review_comment?"),
    key="reg_id",
)

CATALOG_TABLES = (
    dataset, process, process_run, dataset_version, dataset_schema, lineage_edge, run_event, sla,
    quality_check_def, quality_check_result, dataset_registration,
)  # fmt: skip
