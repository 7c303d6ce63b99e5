"""Brings rows into tables that keep versions of their own, or none: Delta, Iceberg, JDBC."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls them

from connectors.spark.frames import merged

_KEY = "lineage-bridge-key"
_RESULTS = 1_000


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
    """Fill a table that promises nothing about a second time: what is appended again is there twice."""
    writer = frame.write.format("jdbc").options(**how.options).option("dbtable", how.location)
    if how.mode == "overwrite":
        writer = writer.option("truncate", True)
    writer.mode(how.mode).save()


def _load_delta(session: SparkSession, frame: DataFrame, how: Loading) -> str:
    history = f"SELECT version FROM (DESCRIBE HISTORY delta.`{how.location}`) WHERE userMetadata = '{how.key}'"
    there = _is_delta(session, how.location)
    if there and (done := session.sql(history).collect()):
        return str(done[0][0])
    rows = frame
    if there and how.mode == "merge":
        rows = merged(session.read.format("delta").load(how.location), frame, how.keys)
    writer = rows.write.format("delta").options(**how.options).option("userMetadata", how.key)
    if how.partition_by:
        writer = writer.partitionBy(*how.partition_by)
    if how.partitions_only and there:
        writer = writer.option("partitionOverwriteMode", "dynamic")
    elif how.mode == "overwrite":
        writer = writer.option("overwriteSchema", True)
    writer.mode("append" if how.mode == "append" else "overwrite").save(how.location)
    return str(session.sql(history).collect()[0][0])


def _is_delta(session: SparkSession, location: str) -> bool:
    context: Any = session.sparkContext
    tables = context._jvm.io.delta.tables.DeltaTable  # noqa: SLF001 - Delta's own way to ask, without its Python
    return bool(tables.isDeltaTable(session._jsparkSession, location))  # noqa: SLF001 - as above


def _load_iceberg(session: SparkSession, frame: DataFrame, how: Loading) -> str:
    there = session.catalog.tableExists(how.location)
    if there and (done := _snapshot(session, how)):
        return done
    rows = frame
    if there and how.mode == "merge":
        rows = merged(session.table(how.location), frame, how.keys)
    writer = rows.writeTo(how.location).options(**how.options).option(f"snapshot-property.{_KEY}", how.key)
    if not there:
        writer = writer.using("iceberg")
        columns = [F.col(name) for name in how.partition_by]
        (writer.partitionedBy(*columns) if columns else writer).create()
    elif how.mode == "append":
        writer.append()
    elif how.partitions_only:
        writer.overwritePartitions()
    else:
        writer.overwrite(F.lit(True))
    return _snapshot(session, how) or ""


def _snapshot(session: SparkSession, how: Loading) -> str | None:
    rows = session.sql(
        f"SELECT snapshot_id FROM {how.location}.snapshots WHERE summary['{_KEY}'] = '{how.key}'"
        " ORDER BY committed_at DESC LIMIT 1"
    ).collect()
    return str(rows[0][0]) if rows else None
