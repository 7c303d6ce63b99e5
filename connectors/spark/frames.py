"""Reads datasets into frames, and writes frames: which form, which version, from where to where."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls them

from mappers.naming import quote_spark_identifier

#: The folder of one version is a partition to Spark; its column is no column of the data.
VERSION_COLUMN = "_version"
_DEFAULTS: dict[str, dict[str, Any]] = {"csv": {"header": True}}
#: Java finds the drivers of `spark.jars.packages` by their names only.
_DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "db2": "com.ibm.db2.jcc.DB2Driver",
    "oracle": "oracle.jdbc.OracleDriver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "teradata": "com.teradata.jdbc.TeraDriver",
}


class ReadOptions(NamedTuple):
    """What shall be read: folders of files, or a version of a table."""

    format: str
    location: str
    #: The folders of its files, none of which may be there; None where the place itself is read.
    roots: Sequence[str] | None = None
    version: str | None = None
    columns: Mapping[str, str] = {}
    options: Mapping[str, Any] = {}


class WriteOptions(NamedTuple):
    """Where a frame shall be written, in files of its own."""

    format: str
    folder: str
    partition_by: Sequence[str] = ()
    options: Mapping[str, Any] = {}


def read_frame(session: SparkSession, options: ReadOptions) -> DataFrame:
    """Read a dataset; nothing of it is looked at yet but, where nobody knows the columns, what they are."""
    reader = session.read.format(options.format).options(**_DEFAULTS.get(options.format, {}), **options.options)
    if options.format in {"delta", "iceberg"}:
        return (reader.option("versionAsOf", options.version) if options.version else reader).load(options.location)
    if options.format == "jdbc":
        return reader.options(**jdbc_options(options.options)).option("dbtable", options.location).load()
    if options.columns:
        reader = reader.schema(schema_ddl(options.columns))
    if options.roots is None:
        return reader.load(options.location)
    if not options.roots:
        # Rows from Python, even none, start one to read them.
        return session.range(0).select(
            *(F.lit(None).cast(kind).alias(name) for name, kind in options.columns.items())
        )
    frame = reader.option("basePath", options.location).load(list(options.roots))
    return frame.select(*_named(options.columns)) if options.columns else frame.drop(VERSION_COLUMN)


def write_frame(frame: DataFrame, options: WriteOptions, measures: Mapping[str, str]) -> dict[str, Any]:
    """Write a frame into a new folder, and count what flows there: one pass does both."""
    told = Observation()
    observed = frame.observe(told, *(F.expr(text).alias(name) for name, text in measures.items()))
    writer = observed.write.format(options.format).options(**_DEFAULTS.get(options.format, {}), **options.options)
    if options.partition_by:
        writer = writer.partitionBy(*options.partition_by)
    writer.mode("errorifexists").save(options.folder)
    return dict(told.get)


def jdbc_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the options of a database, with the driver that goes with its address where none is named."""
    system = str(options.get("url", "")).removeprefix("jdbc:").partition(":")[0].lower()
    return ({"driver": _DRIVERS[system]} if system in _DRIVERS else {}) | dict(options)


def frame_columns(frame: DataFrame) -> dict[str, str]:
    """Give the columns of a frame with their types."""
    return {field.name: field.dataType.simpleString() for field in frame.schema.fields}


def merge_frames(base: DataFrame, new: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Put rows into others: those of the same keys are replaced; null is a key like others."""
    left, right = base.alias("l"), new.select(*_named(keys)).distinct().alias("r")
    same = [F.col(f"l.`{key}`").eqNullSafe(F.col(f"r.`{key}`")) for key in keys]
    condition = same[0]
    for one in same[1:]:
        condition &= one
    return left.join(right, condition, "left_anti").unionByName(new)


def schema_ddl(columns: Mapping[str, str]) -> str:
    """Write columns as Spark declares them."""
    return ", ".join(f"{name} {kind}" for name, kind in zip(_named(columns), columns.values(), strict=True))


def _named(columns: Sequence[str] | Mapping[str, str]) -> list[str]:
    return [quote_spark_identifier(name) for name in columns]
