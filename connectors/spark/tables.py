"""Loads rows into Delta, Iceberg and JDBC tables."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from connectors.errors import InvalidData
from connectors.spark.frames import frame_columns, jdbc_options
from mappers.naming import quote_spark_identifier

_LOAD_KEY = "lineage-bridge-key"
#: Passes the key to statements that take no options.
_DELTA_KEY = "spark.databricks.delta.commitInfo.userMetadata"
#: By default, Delta does not create a version for a load that changes no rows.
_DELTA_SKIP_EMPTY = "spark.databricks.delta.skipRecordingEmptyCommits"
_ICEBERG_KEY = f"spark.sql.iceberg.snapshot-property.{_LOAD_KEY}"
_ROWS_VIEW = "lineage_bridge_rows"


class LoadOptions(NamedTuple):
    """Options for loading rows into a table; `load_key` identifies the load, so that the load is not repeated."""

    format: str
    location: str
    mode: str
    load_key: str
    merge_keys: Sequence[str] = ()
    partition_by: Sequence[str] = ()
    #: Replace only the partitions that contain new rows.
    partitions_only: bool = False
    options: Mapping[str, Any] = {}


def load_table(session: SparkSession, frame: DataFrame, options: LoadOptions) -> str | None:
    """Load rows into a table; returns the version of the table, or None if the table has no versions.

    A load is skipped if a Delta or Iceberg table already contains its key.
    """
    if options.format == "jdbc":
        _load_jdbc(frame, options)
        return None
    if options.format == "delta":
        return _load_delta(session, frame, options)
    return _load_iceberg(session, frame, options)


def _load_jdbc(frame: DataFrame, options: LoadOptions) -> None:
    """Write through one connection unless `numPartitions` is set, so that an append is atomic.

    A database does not recognize a repeated load, so rows that are appended again are duplicated.
    """
    rows = frame if "numPartitions" in options.options else frame.coalesce(1)
    writer = rows.write.format("jdbc").options(**jdbc_options(options.options)).option("dbtable", options.location)
    if options.mode == "overwrite":
        writer = writer.option("truncate", True)
    writer.mode(options.mode).save()


def _load_delta(session: SparkSession, frame: DataFrame, options: LoadOptions) -> str:
    """Load rows unless a commit of the table contains the load key; returns the version."""
    table_exists = _is_delta(session, options.location)
    if table_exists and (version := _find_commit(session, options)):
        return version
    with _session_conf(session, {_DELTA_KEY: options.load_key, _DELTA_SKIP_EMPTY: "false"}):
        if table_exists and options.mode == "merge":
            _merge_rows(session, _delta_table(options), frame, options.merge_keys)
        else:
            _save_delta(frame, options, table_exists=table_exists)
    return _find_commit(session, options) or ""


def _save_delta(frame: DataFrame, options: LoadOptions, *, table_exists: bool) -> None:
    """Append to a table, or replace its rows or partitions; a missing table is created."""
    writer = frame.write.format("delta").options(**options.options)
    if options.partition_by:
        writer = writer.partitionBy(*options.partition_by)
    if options.partitions_only and table_exists:
        writer = writer.option("partitionOverwriteMode", "dynamic")
    elif options.mode == "overwrite":
        writer = writer.option("overwriteSchema", True)
    writer.mode("overwrite" if options.mode == "overwrite" else "append").save(options.location)


def _find_commit(session: SparkSession, options: LoadOptions) -> str | None:
    """Find the newest version whose commit contains the load key."""
    history = session.sql(f"DESCRIBE HISTORY {_delta_table(options)}").where(
        F.col("userMetadata") == options.load_key
    )
    (newest,) = history.agg(F.max("version").alias("version")).collect()
    return None if newest.version is None else str(newest.version)


def _delta_table(options: LoadOptions) -> str:
    return f"delta.{quote_spark_identifier(options.location)}"


def _is_delta(session: SparkSession, location: str) -> bool:
    context: Any = session.sparkContext
    tables = context._jvm.io.delta.tables.DeltaTable  # noqa: SLF001 - Delta's own check, without its Python package
    return bool(tables.isDeltaTable(session._jsparkSession, location))  # noqa: SLF001 - as above


def _load_iceberg(session: SparkSession, frame: DataFrame, options: LoadOptions) -> str:
    """Load rows unless a snapshot of the table contains the load key; returns the snapshot."""
    table_exists = session.catalog.tableExists(options.location)
    if table_exists and (version := _find_snapshot(session, options)):
        return version
    if table_exists and options.mode == "merge":
        with _session_conf(session, {_ICEBERG_KEY: options.load_key}):
            _merge_rows(session, options.location, frame, options.merge_keys)
    else:
        _save_iceberg(session, frame, options, table_exists=table_exists)
    if (version := _find_snapshot(session, options)) is None:
        # For a load that changes no rows, Iceberg creates a snapshot only if it is an append.
        _save_iceberg(session, frame.limit(0), options._replace(mode="append"), table_exists=True)
        version = _find_snapshot(session, options)
    return version or ""


def _save_iceberg(session: SparkSession, frame: DataFrame, options: LoadOptions, *, table_exists: bool) -> None:
    """Append to a table, replace its rows or partitions, or create it if it is missing or has other columns."""
    writer = (
        frame.writeTo(options.location)
        .options(**options.options)
        .option(f"snapshot-property.{_LOAD_KEY}", options.load_key)
    )
    if table_exists and options.mode == "append":
        writer.append()
    elif table_exists and options.partitions_only:
        writer.overwritePartitions()
    elif table_exists and frame_columns(session.table(options.location)) == frame_columns(frame):
        writer.overwrite(F.lit(True))
    else:
        writer = writer.using("iceberg")
        partition_columns = [F.col(quote_spark_identifier(name)) for name in options.partition_by]
        if partition_columns:
            writer = writer.partitionedBy(*partition_columns)
        writer.createOrReplace()


def _find_snapshot(session: SparkSession, options: LoadOptions) -> str | None:
    """Find the newest snapshot that contains the load key."""
    snapshots = session.table(f"{options.location}.snapshots").where(F.col("summary")[_LOAD_KEY] == options.load_key)
    newest = snapshots.orderBy(F.desc("committed_at")).select("snapshot_id").first()
    return None if newest is None else str(newest.snapshot_id)


def _merge_rows(session: SparkSession, table: str, frame: DataFrame, keys: Sequence[str]) -> None:
    """Replace rows with equal keys (null equals null), and insert the rest; both sides need the same columns."""
    table_columns, new_columns = session.table(table).columns, frame.columns
    if {column.lower() for column in table_columns} != {column.lower() for column in new_columns}:
        raise InvalidData(
            f"cannot merge: the table has the columns {', '.join(table_columns)}, the rows {', '.join(new_columns)}"
        )
    condition = " AND ".join(f"t.{quote_spark_identifier(key)} <=> n.{quote_spark_identifier(key)}" for key in keys)
    frame.createOrReplaceTempView(_ROWS_VIEW)
    try:
        session.sql(
            f"MERGE INTO {table} t USING {_ROWS_VIEW} n ON {condition}"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    finally:
        session.catalog.dropTempView(_ROWS_VIEW)


@contextmanager
def _session_conf(session: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Set keys of the session's conf inside the `with` block."""
    for name, value in conf.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in conf:
            session.conf.unset(name)
