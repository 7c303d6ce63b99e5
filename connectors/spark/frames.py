"""Reads datasets into frames, and writes frames."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from mappers.naming import quote_spark_identifier

#: Partition column that Spark derives from the folder of a version; the column is not part of the data.
VERSION_COLUMN = "_version"
_DEFAULTS: dict[str, dict[str, Any]] = {"csv": {"header": True}}
#: Spark does not find a driver in `spark.jars.packages` by itself.
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
    """Options for reading a dataset: folders of files, or a version of a table."""

    format: str
    location: str
    #: Folders that contain the files (may be empty); None to read the location itself.
    roots: Sequence[str] | None = None
    version: str | None = None
    columns: Mapping[str, str] = {}
    options: Mapping[str, Any] = {}


class WriteOptions(NamedTuple):
    """Options for writing a frame to a new folder."""

    format: str
    folder: str
    partition_by: Sequence[str] = ()
    options: Mapping[str, Any] = {}


def read_frame(session: SparkSession, options: ReadOptions) -> DataFrame:
    """Read a dataset lazily; if `columns` are missing, Spark infers them immediately."""
    reader = session.read.format(options.format).options(**_DEFAULTS.get(options.format, {}), **options.options)
    if options.format in {"delta", "iceberg"}:
        if options.version:
            reader = reader.option("versionAsOf", options.version)
        return reader.load(options.location)
    if options.format == "jdbc":
        return reader.options(**jdbc_options(options.options)).option("dbtable", options.location).load()
    if options.columns:
        reader = reader.schema(schema_ddl(options.columns))
    if options.roots is None:
        return reader.load(options.location)
    if not options.roots:
        # Creating the frame from Python rows would start a Python worker, even without any rows.
        return session.range(0).select(
            *(F.lit(None).cast(data_type).alias(name) for name, data_type in options.columns.items())
        )
    frame = reader.option("basePath", options.location).load(list(options.roots))
    return frame.select(*_quoted_columns(options.columns)) if options.columns else frame.drop(VERSION_COLUMN)


def write_frame(frame: DataFrame, options: WriteOptions, measures: Mapping[str, str]) -> dict[str, Any]:
    """Write a frame into a new folder; returns the values of the measures, which are evaluated in the same pass."""
    observation = Observation()
    observed_frame = frame.observe(observation, *(F.expr(measure).alias(name) for name, measure in measures.items()))
    writer = observed_frame.write.format(options.format).options(
        **_DEFAULTS.get(options.format, {}), **options.options
    )
    if options.partition_by:
        writer = writer.partitionBy(*options.partition_by)
    writer.mode("errorifexists").save(options.folder)
    return dict(observation.get)


def jdbc_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Add the driver that matches the URL of a database to its options, unless a driver is set."""
    system = str(options.get("url", "")).removeprefix("jdbc:").partition(":")[0].lower()
    default_driver = {"driver": _DRIVERS[system]} if system in _DRIVERS else {}
    return default_driver | dict(options)


def frame_columns(frame: DataFrame) -> dict[str, str]:
    """Return the columns of a frame with their types."""
    return {field.name: field.dataType.simpleString() for field in frame.schema.fields}


def merge_frames(base: DataFrame, new_rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Replace the base rows whose keys occur in the new rows, and add all other new rows. Null equals null."""
    base_rows, new_keys = base.alias("base"), new_rows.select(*_quoted_columns(keys)).distinct().alias("new")
    condition, *other_conditions = [F.col(f"base.`{key}`").eqNullSafe(F.col(f"new.`{key}`")) for key in keys]
    for other_condition in other_conditions:
        condition &= other_condition
    return base_rows.join(new_keys, condition, "left_anti").unionByName(new_rows)


def schema_ddl(columns: Mapping[str, str]) -> str:
    """Format columns as Spark DDL."""
    return ", ".join(
        f"{name} {data_type}" for name, data_type in zip(_quoted_columns(columns), columns.values(), strict=True)
    )


def _quoted_columns(columns: Sequence[str] | Mapping[str, str]) -> list[str]:
    return [quote_spark_identifier(name) for name in columns]
