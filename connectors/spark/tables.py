"""Brings rows into tables that keep versions of their own, or none: Delta, Iceberg, JDBC."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls them

from connectors.spark.frames import columns_of, jdbc_options
from connectors.spark.names import quoted
from mappers.errors import BadData

_KEY = "lineage-bridge-key"
#: How statements that take no options are given the key.
_DELTA_KEY = "spark.databricks.delta.commitInfo.userMetadata"
#: Where no row comes and none goes, Delta makes no version of it, unless it is told to.
_DELTA_SKIPS = "spark.databricks.delta.skipRecordingEmptyCommits"
_ICEBERG_KEY = f"spark.sql.iceberg.snapshot-property.{_KEY}"
_ROWS = "lineage_bridge_rows"


class Loading(NamedTuple):
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


def load_table(session: SparkSession, frame: DataFrame, how: Loading) -> str | None:
    """Bring rows into a table; gives what its version is called, None where it has none. Again does nothing more."""
    if how.format == "jdbc":
        _load_jdbc(frame, how)
        return None
    return (_load_delta if how.format == "delta" else _load_iceberg)(session, frame, how)


def _load_jdbc(frame: DataFrame, how: Loading) -> None:
    """Write through one connection unless more are wanted: what is appended is there whole then, or not at all.

    A database promises nothing about a second time: what is appended again is there twice.
    """
    rows = frame if "numPartitions" in how.options else frame.coalesce(1)
    writer = rows.write.format("jdbc").options(**jdbc_options(how.options)).option("dbtable", how.location)
    if how.mode == "overwrite":
        writer = writer.option("truncate", True)
    writer.mode(how.mode).save()


def _load_delta(session: SparkSession, frame: DataFrame, how: Loading) -> str:
    there = _is_delta(session, how.location)
    if there and (done := _commit(session, how)):
        return done
    with _set(session, {_DELTA_KEY: how.key, _DELTA_SKIPS: "false"}):
        if there and how.mode == "merge":
            _merge(session, _delta(how), frame, how.keys)
        else:
            _save_delta(frame, how, there=there)
    return _commit(session, how) or ""


def _save_delta(frame: DataFrame, how: Loading, *, there: bool) -> None:
    writer = frame.write.format("delta").options(**how.options)
    if how.partition_by:
        writer = writer.partitionBy(*how.partition_by)
    if how.partitions_only and there:
        writer = writer.option("partitionOverwriteMode", "dynamic")
    elif how.mode == "overwrite":
        writer = writer.option("overwriteSchema", True)
    writer.mode("overwrite" if how.mode == "overwrite" else "append").save(how.location)


def _commit(session: SparkSession, how: Loading) -> str | None:
    """Find what was done with the key: a commit bears it."""
    history = session.sql(f"DESCRIBE HISTORY {_delta(how)}").where(F.col("userMetadata") == how.key)
    found = history.agg(F.max("version")).collect()[0][0]
    return None if found is None else str(found)


def _delta(how: Loading) -> str:
    return f"delta.{quoted(how.location)}"


def _is_delta(session: SparkSession, location: str) -> bool:
    context: Any = session.sparkContext
    tables = context._jvm.io.delta.tables.DeltaTable  # noqa: SLF001 - Delta's own way to ask, without its Python
    return bool(tables.isDeltaTable(session._jsparkSession, location))  # noqa: SLF001 - as above


def _load_iceberg(session: SparkSession, frame: DataFrame, how: Loading) -> str:
    there = session.catalog.tableExists(how.location)
    if there and (done := _snapshot(session, how)):
        return done
    if there and how.mode == "merge":
        with _set(session, {_ICEBERG_KEY: how.key}):
            _merge(session, how.location, frame, how.keys)
    else:
        _save_iceberg(session, frame, how, there=there)
    if (version := _snapshot(session, how)) is None:
        # Where no row comes and none goes, Iceberg makes no snapshot of it, unless nothing is appended.
        _save_iceberg(session, frame.limit(0), how._replace(mode="append"), there=True)
        version = _snapshot(session, how)
    return version or ""


def _save_iceberg(session: SparkSession, frame: DataFrame, how: Loading, *, there: bool) -> None:
    writer = frame.writeTo(how.location).options(**how.options).option(f"snapshot-property.{_KEY}", how.key)
    if there and how.mode == "append":
        writer.append()
    elif there and how.partitions_only:
        writer.overwritePartitions()
    elif there and columns_of(session.table(how.location)) == columns_of(frame):
        writer.overwrite(F.lit(True))
    else:
        columns = [F.col(quoted(name)) for name in how.partition_by]
        writer = writer.using("iceberg")
        (writer.partitionedBy(*columns) if columns else writer).createOrReplace()


def _snapshot(session: SparkSession, how: Loading) -> str | None:
    """Find what was done with the key: a snapshot bears it."""
    snapshots = session.table(f"{how.location}.snapshots").where(F.col("summary")[_KEY] == how.key)
    rows = snapshots.orderBy(F.desc("committed_at")).select("snapshot_id").head(1)
    return str(rows[0][0]) if rows else None


def _merge(session: SparkSession, table: str, frame: DataFrame, keys: Sequence[str]) -> None:
    """Let rows take the place of those with their keys: null is a key like others, and no column is passed over."""
    there, here = session.table(table).columns, frame.columns
    if {one.lower() for one in there} != {one.lower() for one in here}:
        raise BadData(f"the table has the columns {', '.join(there)}, and what is merged into it {', '.join(here)}")
    same = " AND ".join(f"t.{quoted(key)} <=> n.{quoted(key)}" for key in keys)
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
