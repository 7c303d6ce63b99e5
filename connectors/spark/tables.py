"""Brings rows into tables that keep versions of their own, or none: Delta, Iceberg, JDBC."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls them

from connectors.errors import InvalidData
from connectors.spark.frames import frame_columns, jdbc_options
from mappers.naming import quote_spark_identifier

_KEY = "lineage-bridge-key"
#: How statements that take no options are given the key.
_DELTA_KEY = "spark.databricks.delta.commitInfo.userMetadata"
#: Where no row comes and none goes, Delta makes no version of it, unless it is told to.
_DELTA_SKIPS = "spark.databricks.delta.skipRecordingEmptyCommits"
_ICEBERG_KEY = f"spark.sql.iceberg.snapshot-property.{_KEY}"
_ROWS = "lineage_bridge_rows"


class LoadOptions(NamedTuple):
    """What becomes of a table: how rows come into it, and the key by which this is known to be done."""

    format: str
    location: str
    mode: str
    key: str
    keys: Sequence[str] = ()
    partition_by: Sequence[str] = ()
    #: Whether only the partitions are replaced that are written.
    partitions_only: bool = False
    options: Mapping[str, Any] = {}


def load_table(session: SparkSession, frame: DataFrame, options: LoadOptions) -> str | None:
    """Bring rows into a table; gives what its version is called, None where it has none. Again does nothing more."""
    if options.format == "jdbc":
        _load_jdbc(frame, options)
        return None
    return (_load_delta if options.format == "delta" else _load_iceberg)(session, frame, options)


def _load_jdbc(frame: DataFrame, options: LoadOptions) -> None:
    """Write through one connection unless more are wanted: what is appended is there whole then, or not at all.

    A database promises nothing about a second time: what is appended again is there twice.
    """
    rows = frame if "numPartitions" in options.options else frame.coalesce(1)
    writer = rows.write.format("jdbc").options(**jdbc_options(options.options)).option("dbtable", options.location)
    if options.mode == "overwrite":
        writer = writer.option("truncate", True)
    writer.mode(options.mode).save()


def _load_delta(session: SparkSession, frame: DataFrame, options: LoadOptions) -> str:
    there = _is_delta(session, options.location)
    if there and (done := _commit(session, options)):
        return done
    with _set(session, {_DELTA_KEY: options.key, _DELTA_SKIPS: "false"}):
        if there and options.mode == "merge":
            _merge(session, _delta(options), frame, options.keys)
        else:
            _save_delta(frame, options, there=there)
    return _commit(session, options) or ""


def _save_delta(frame: DataFrame, options: LoadOptions, *, there: bool) -> None:
    writer = frame.write.format("delta").options(**options.options)
    if options.partition_by:
        writer = writer.partitionBy(*options.partition_by)
    if options.partitions_only and there:
        writer = writer.option("partitionOverwriteMode", "dynamic")
    elif options.mode == "overwrite":
        writer = writer.option("overwriteSchema", True)
    writer.mode("overwrite" if options.mode == "overwrite" else "append").save(options.location)


def _commit(session: SparkSession, options: LoadOptions) -> str | None:
    """Find what was done with the key: a commit bears it."""
    history = session.sql(f"DESCRIBE HISTORY {_delta(options)}").where(F.col("userMetadata") == options.key)
    found = history.agg(F.max("version")).collect()[0][0]
    return None if found is None else str(found)


def _delta(options: LoadOptions) -> str:
    return f"delta.{quote_spark_identifier(options.location)}"


def _is_delta(session: SparkSession, location: str) -> bool:
    context: Any = session.sparkContext
    tables = context._jvm.io.delta.tables.DeltaTable  # noqa: SLF001 - Delta's own way to ask, without its Python
    return bool(tables.isDeltaTable(session._jsparkSession, location))  # noqa: SLF001 - as above


def _load_iceberg(session: SparkSession, frame: DataFrame, options: LoadOptions) -> str:
    there = session.catalog.tableExists(options.location)
    if there and (done := _snapshot(session, options)):
        return done
    if there and options.mode == "merge":
        with _set(session, {_ICEBERG_KEY: options.key}):
            _merge(session, options.location, frame, options.keys)
    else:
        _save_iceberg(session, frame, options, there=there)
    if (version := _snapshot(session, options)) is None:
        # Where no row comes and none goes, Iceberg makes no snapshot of it, unless nothing is appended.
        _save_iceberg(session, frame.limit(0), options._replace(mode="append"), there=True)
        version = _snapshot(session, options)
    return version or ""


def _save_iceberg(session: SparkSession, frame: DataFrame, options: LoadOptions, *, there: bool) -> None:
    writer = (
        frame.writeTo(options.location).options(**options.options).option(f"snapshot-property.{_KEY}", options.key)
    )
    if there and options.mode == "append":
        writer.append()
    elif there and options.partitions_only:
        writer.overwritePartitions()
    elif there and frame_columns(session.table(options.location)) == frame_columns(frame):
        writer.overwrite(F.lit(True))
    else:
        columns = [F.col(quote_spark_identifier(name)) for name in options.partition_by]
        writer = writer.using("iceberg")
        (writer.partitionedBy(*columns) if columns else writer).createOrReplace()


def _snapshot(session: SparkSession, options: LoadOptions) -> str | None:
    """Find what was done with the key: a snapshot bears it."""
    snapshots = session.table(f"{options.location}.snapshots").where(F.col("summary")[_KEY] == options.key)
    rows = snapshots.orderBy(F.desc("committed_at")).select("snapshot_id").head(1)
    return str(rows[0][0]) if rows else None


def _merge(session: SparkSession, table: str, frame: DataFrame, keys: Sequence[str]) -> None:
    """Let rows take the place of those with their keys: null is a key like others, and no column is passed over."""
    there, here = session.table(table).columns, frame.columns
    if {one.lower() for one in there} != {one.lower() for one in here}:
        raise InvalidData(
            f"the table has the columns {', '.join(there)}, and what is merged into it {', '.join(here)}"
        )
    same = " AND ".join(f"t.{quote_spark_identifier(key)} <=> n.{quote_spark_identifier(key)}" for key in keys)
    frame.createOrReplaceTempView(_ROWS)
    try:
        session.sql(
            f"MERGE INTO {table} t USING {_ROWS} n ON {same}"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    finally:
        session.catalog.dropTempView(_ROWS)


@contextmanager
def _set(session: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    for name, value in conf.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in conf:
            session.conf.unset(name)
