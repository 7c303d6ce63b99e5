"""Names as legacy jobs write them, and the names OpenLineage has for the same things."""

import re
from typing import NamedTuple

from mappers.errors import InvalidInput
from mappers.legacy.body_fields import BodyFields
from mappers.naming import canonical_namespace

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)(.*)", re.DOTALL)
_AUTOSYS = re.compile(r"autosys(?::(?://)?(.*))?", re.IGNORECASE | re.DOTALL)
#: Object stores, whose keys have no leading slash, and file systems, whose paths keep it.
_BUCKETS = frozenset({"s3", "gs"})
_FOLDERS = frozenset({"hdfs", "dbfs", "abfss", "abfs", "wasbs", "wasb", "adl"})
_BUCKET_WORDS = {"S3": "s3", "S3A": "s3", "S3N": "s3", "GS": "gs", "GCS": "gs"}
_FILE_WORDS = frozenset({"FILE", "LOCAL", "NFS", "UNIX"})
#: `user:password@` before the host; a password may have a slash, and what is no number behind a host is no port.
_LOGIN = re.compile(r"(?<=://)(?:[^/]*@|[^/@:]*:(?!\d+/)[^@]*@)")
#: Schemes in whose addresses a container stands where others have a login.
_CONTAINERS = ("abfss://", "abfs://", "wasbs://", "wasb://")
_SERVERS = {"DB2": "db2_url", "TERADATA": "teradata_url", "HDFS": "hdfs_url"}


class LegacyNamespaces(NamedTuple):
    """What the words of legacy namespaces stand for."""

    autosys_instance: str = "default"
    db2_url: str | None = None
    db2_database: str | None = None
    teradata_url: str | None = None
    hdfs_url: str | None = None


class JobName(NamedTuple):
    """A job, and the boxes it lies in, outermost first."""

    namespace: str
    name: str
    boxes: tuple[str, ...] = ()


class DatasetName(NamedTuple):
    """A dataset."""

    namespace: str
    name: str


def read_job_name(job: BodyFields, names: LegacyNamespaces, *, namespace: str | None = None) -> JobName:
    """Read a job's name; `namespace` stands in when the body names none."""
    sent = job.text("namespace") if namespace else job.required("namespace")
    return job_name(sent or namespace or "", job.required("name"), names, job.path_to("name"))


def job_name(namespace: str, name: str, names: LegacyNamespaces, path: str) -> JobName:
    """Name a job: `AUTOSYS` means the configured instance, `AUTOSYS:PRD` another, `BOX/JOB` a job in a box."""
    autosys = _AUTOSYS.fullmatch(namespace)
    if autosys is None:
        return JobName(namespace, name)
    instance = (autosys[1] or "").strip("/ ") or names.autosys_instance
    parts = [part for part in (part.strip() for part in name.split("/")) if part]
    if not parts:
        raise InvalidInput("names no job", path)
    return JobName(f"autosys://{instance}", parts[-1], tuple(parts[:-1]))


def read_dataset_name(dataset: BodyFields, names: LegacyNamespaces) -> DatasetName:
    """Read a dataset's name; a URL names its namespace by itself."""
    name = _without_login(dataset.required("name"), dataset.path_to("name"), dataset.notes)
    namespace = dataset.text("namespace")
    if (named := _name_url(name)) is not None:
        return named
    if namespace is None:
        raise InvalidInput("is missing, and the name is no URL", dataset.path_to("namespace"))
    namespace = _without_login(namespace, dataset.path_to("namespace"), dataset.notes)
    word = namespace.upper()
    if word in _BUCKET_WORDS:
        return _name_in_bucket(name, _BUCKET_WORDS[word], dataset)
    if word in _FILE_WORDS:
        return DatasetName("file", name)
    if word in _SERVERS:
        return _name_on_server(name, word, names, dataset)
    if not _URL.fullmatch(namespace) and not namespace.startswith(("file", "inmemory")):
        dataset.notes.append(f"{dataset.path_to('namespace')} {namespace[:64]!r} is no known word: taken as it is")
    return DatasetName(canonical_namespace(namespace), name)


def _without_login(address: str, path: str, notes: list[str]) -> str:
    """Take user and password out of an address: names are for everybody to read."""
    if not _URL.fullmatch(address) or address.lower().startswith(_CONTAINERS):
        return address
    found = _LOGIN.sub("", address, count=1)
    if found != address:
        notes.append(f"{path} had a login, which was left out")
    return found


def _name_url(name: str) -> DatasetName | None:
    """Split the URL of a stored dataset: the bucket or host is the namespace, key or path the name."""
    match = _URL.fullmatch(name)
    if match is None:
        return None
    scheme, authority, path = match[1].lower(), match[2], match[3]
    scheme = canonical_namespace(f"{scheme}://").removesuffix("://")
    if scheme == "file":
        return DatasetName(f"file://{authority}" if authority else "file", path or "/")
    if scheme in _BUCKETS and authority:
        return DatasetName(f"{scheme}://{authority}", path.strip("/") or "/")
    if scheme in _FOLDERS and authority:
        return DatasetName(f"{scheme}://{authority}", path.rstrip("/") or "/")
    return None


def _name_in_bucket(name: str, scheme: str, dataset: BodyFields) -> DatasetName:
    bucket, _, key = name.strip("/").partition("/")
    if "://" in name or not bucket:
        raise InvalidInput(f"names no bucket: {name[:64]!r}", dataset.path_to("name"))
    dataset.notes.append(f"{dataset.path_to('name')} is no URL: its first part was read as the bucket")
    return DatasetName(f"{scheme}://{bucket}", key.strip("/") or "/")


def _name_on_server(name: str, word: str, names: LegacyNamespaces, dataset: BodyFields) -> DatasetName:
    setting = _SERVERS[word]
    url: str | None = getattr(names, setting)
    if url is None:
        raise InvalidInput(
            f"{word} is no address: set legacy.{setting}, or send {word.lower()}://host:port",
            dataset.path_to("namespace"),
        )
    if word == "DB2" and name.count(".") == 1:
        if names.db2_database:
            name = f"{names.db2_database}.{name}"
        else:
            dataset.notes.append(
                f"{dataset.path_to('name')} names no database, nor does legacy.db2_database: taken as it is"
            )
    return DatasetName(url, name)
