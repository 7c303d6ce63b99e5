"""Legacy names and their OpenLineage equivalents."""

import pytest

from mappers.errors import InvalidInput
from mappers.legacy.body_fields import BodyFields
from mappers.legacy.names import DatasetName, JobName, LegacyNamespaces, read_dataset_name, resolve_job_name

NAMES = LegacyNamespaces("PRD", "db2://db2:50000", "SALES", "teradata://td:1025", "hdfs://nn:8020")
UNKNOWN_KEYWORD = "namespace {!r} is not a known keyword: used as it is"
LOGIN_REMOVED = "{} contained a login, which was removed"
FIRST_PART = "name is not a URL: its first part was read as the bucket"


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        ("AUTOSYS", "JobA", JobName("autosys://PRD", "JobA")),
        ("autosys", "BOX/JobA", JobName("autosys://PRD", "JobA", ("BOX",))),
        ("Autosys", "OUTER/BOX/JobA", JobName("autosys://PRD", "JobA", ("OUTER", "BOX"))),
        ("AUTOSYS", "/BOX // JobA/", JobName("autosys://PRD", "JobA", ("BOX",))),
        ("AUTOSYS:DEV", "JobA", JobName("autosys://DEV", "JobA")),
        ("autosys://DEV", "BOX/JobA", JobName("autosys://DEV", "JobA", ("BOX",))),
        ("AUTOSYS://dev/", "JobA", JobName("autosys://dev", "JobA")),
        ("AUTOSYS:", "JobA", JobName("autosys://PRD", "JobA")),
        ("AUTOSYSTEM", "BOX/JobA", JobName("AUTOSYSTEM", "BOX/JobA")),
        ("airflow://prod", "dag.task", JobName("airflow://prod", "dag.task")),
        ("cron", "a/b", JobName("cron", "a/b")),
    ],
)
def test_job_names(namespace: str, name: str, expected: JobName) -> None:
    assert resolve_job_name(namespace, name, NAMES, "job.name") == expected


@pytest.mark.parametrize("name", ["/", " / / "])
def test_name_of_slashes_is_rejected(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"job\.name: contains no job name"):
        resolve_job_name("AUTOSYS", name, NAMES, "job.name")


def read_name(namespace: str | None, name: str, names: LegacyNamespaces = NAMES) -> tuple[DatasetName, list[str]]:
    notes: list[str] = []
    return read_dataset_name(BodyFields({"namespace": namespace, "name": name}, "", notes), names), notes


@pytest.mark.parametrize(
    ("namespace", "name", "expected", "note"),
    [
        ("S3", "s3://bucket/out/v1", ("s3://bucket", "out/v1"), None),
        ("s3", "s3a://bucket/out/v1/", ("s3://bucket", "out/v1"), None),
        ("S3A", "S3N://bucket//out", ("s3://bucket", "out"), None),
        ("S3", "s3://bucket", ("s3://bucket", "/"), None),
        ("S3", "bucket/out/v1", ("s3://bucket", "out/v1"), FIRST_PART),
        ("s3a://bucket", "out/v1", ("s3://bucket", "out/v1"), None),
        ("s3://bucket", "s3://bucket/out/v1", ("s3://bucket", "out/v1"), None),
        (None, "s3://bucket/out", ("s3://bucket", "out"), None),
        ("GCS", "gs://bucket/a b", ("gs://bucket", "a b"), None),
        ("gs", "bucket/x", ("gs://bucket", "x"), FIRST_PART),
        ("HDFS", "hdfs://other:9000/data/x/", ("hdfs://other:9000", "/data/x"), None),
        ("HDFS", "/data/x", ("hdfs://nn:8020", "/data/x"), None),
        (None, "abfss://c@a.dfs.core.windows.net/x", ("abfss://c@a.dfs.core.windows.net", "/x"), None),
        ("FILE", "/data/x", ("file", "/data/x"), None),
        ("local", "/data/x", ("file", "/data/x"), None),
        (None, "file:///data/x", ("file", "/data/x"), None),
        (None, "file://host/data/x", ("file://host", "/data/x"), None),
        ("file", "/data/x", ("file", "/data/x"), None),
        ("DB2", "SCHEMA.TABLE", ("db2://db2:50000", "SALES.SCHEMA.TABLE"), None),
        ("db2", "OTHER.SCHEMA.TABLE", ("db2://db2:50000", "OTHER.SCHEMA.TABLE"), None),
        ("DB2", "TABLE", ("db2://db2:50000", "TABLE"), None),
        ("db2://else:1", "SCHEMA.TABLE", ("db2://else:1", "SCHEMA.TABLE"), None),
        ("TERADATA", "DB.TABLE", ("teradata://td:1025", "DB.TABLE"), None),
        ("postgresql://pg:5432", "d.s.t", ("postgres://pg:5432", "d.s.t"), None),
        ("ORACLE", "S.T", ("ORACLE", "S.T"), UNKNOWN_KEYWORD.format("ORACLE")),
        ("S3X", "a/b", ("S3X", "a/b"), UNKNOWN_KEYWORD.format("S3X")),
        ("kafka://k:9092", "topic", ("kafka://k:9092", "topic"), None),
        (None, "s3://AK:SK@b/y", ("s3://b", "y"), LOGIN_REMOVED.format("name")),
        (None, "s3a://AK:S/K@b/y", ("s3://b", "y"), LOGIN_REMOVED.format("name")),
        ("db2://ann:pw@h:50000", "D.S.T", ("db2://h:50000", "D.S.T"), LOGIN_REMOVED.format("namespace")),
        ("HDFS", "hdfs://nn:8020/a@b", ("hdfs://nn:8020", "/a@b"), None),
        ("kafka://k:9092", "http://a/b", ("kafka://k:9092", "http://a/b"), None),
    ],
)
def test_dataset_names(namespace: str | None, name: str, expected: tuple[str, str], note: str | None) -> None:
    assert read_name(namespace, name) == (DatasetName(*expected), [note] if note else [])


def test_db2_table_without_a_database_keeps_its_name() -> None:
    assert read_name("DB2", "S.T", NAMES._replace(db2_database=None))[0].name == "S.T"


@pytest.mark.parametrize(
    ("namespace", "name", "message"),
    [
        ("DB2", "S.T", "namespace: DB2 is not a URL: set legacy.db2_url, or send db2://host:port"),
        (
            "teradata",
            "D.T",
            "namespace: TERADATA is not a URL: set legacy.teradata_url, or send teradata://host:port",
        ),
        ("HDFS", "/x", "namespace: HDFS is not a URL: set legacy.hdfs_url, or send hdfs://host:port"),
        (None, "S.T", "namespace: is missing, and the name is not a URL"),
        ("S3", "/", "name: contains no bucket: '/'"),
        ("S3", "s3:///key", "name: contains no bucket: 's3:///key'"),
        ("S3", "http://x/key", "name: contains no bucket: 'http://x/key'"),
        ("S3", "", "name: is missing"),
    ],
)
def test_invalid_dataset_names_are_rejected_with_the_field(namespace: str | None, name: str, message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        read_name(namespace, name, LegacyNamespaces())
    assert str(raised.value) == message
