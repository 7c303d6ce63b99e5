"""Job and dataset names of legacy bodies."""

import re
from typing import NamedTuple

from mappers.errors import InvalidInput
from mappers.legacy.body_fields import BodyFields
from mappers.naming import canonical_namespace

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/]*)(.*)", re.DOTALL)
_AUTOSYS = re.compile(r"autosys(?::(?://)?(.*))?", re.IGNORECASE | re.DOTALL)
#: Names in object stores have no leading slash; paths in file systems have one.
_OBJECT_STORE_SCHEMES = frozenset({"s3", "gs"})
_FILE_SYSTEM_SCHEMES = frozenset({"hdfs", "dbfs", "abfss", "abfs", "wasbs", "wasb", "adl"})
_OBJECT_STORE_KEYWORDS = {"S3": "s3", "S3A": "s3", "S3N": "s3", "GS": "gs", "GCS": "gs"}
_FILE_KEYWORDS = frozenset({"FILE", "LOCAL", "NFS", "UNIX"})
#: `user:password@` before the host; a password may contain a slash, and a port is a number.
_LOGIN = re.compile(r"(?<=://)(?:[^/]*@|[^/@:]*:(?!\d+/)[^@]{0,256}@)")
#: URLs with a container before the `@`, where other URLs have a login.
_CONTAINER_URLS = ("abfss://", "abfs://", "wasbs://", "wasb://")
_SERVER_SETTINGS = {"DB2": "db2_url", "TERADATA": "teradata_url", "HDFS": "hdfs_url"}


class LegacyNamespaces(NamedTuple):
    """Settings that resolve the keywords of legacy namespaces."""

    autosys_instance: str = "default"
    db2_url: str | None = None
    db2_database: str | None = None
    teradata_url: str | None = None
    hdfs_url: str | None = None


class JobName(NamedTuple):
    """A job, and the boxes that contain it, outermost first."""

    namespace: str
    name: str
    boxes: tuple[str, ...] = ()


class DatasetName(NamedTuple):
    """Namespace and name of a dataset."""

    namespace: str
    name: str


def read_job_name(job: BodyFields, namespaces: LegacyNamespaces, *, default_namespace: str | None = None) -> JobName:
    """Read the name of a job; the namespace is required unless there is a default."""
    namespace = job.text("namespace") if default_namespace else job.required("namespace")
    return resolve_job_name(
        namespace or default_namespace or "", job.required("name"), namespaces, job.path_to("name")
    )


def resolve_job_name(namespace: str, name: str, namespaces: LegacyNamespaces, path: str) -> JobName:
    """Resolve a job name.

    `AUTOSYS` stands for the configured instance, `AUTOSYS:PRD` for the instance PRD, and `BOX/JOB` for a boxed job.
    """
    autosys_match = _AUTOSYS.fullmatch(namespace)
    if autosys_match is None:
        return JobName(namespace, name)
    instance = (autosys_match[1] or "").strip("/ ") or namespaces.autosys_instance
    parts = [part.strip() for part in name.split("/") if part.strip()]
    if not parts:
        raise InvalidInput("contains no job name", path)
    *boxes, job = parts
    return JobName(f"autosys://{instance}", job, tuple(boxes))


def read_dataset_name(dataset: BodyFields, namespaces: LegacyNamespaces) -> DatasetName:
    """Read the name of a dataset; if the name is a URL, the URL determines the namespace."""
    name = _without_login(dataset.required("name"), dataset.path_to("name"), dataset.notes)
    namespace = dataset.text("namespace")
    if (url_name := _name_from_url(name)) is not None:
        return url_name
    if namespace is None:
        raise InvalidInput("is missing, and the name is not a URL", dataset.path_to("namespace"))
    namespace = _without_login(namespace, dataset.path_to("namespace"), dataset.notes)
    keyword = namespace.upper()
    if keyword in _OBJECT_STORE_KEYWORDS:
        return _name_in_bucket(name, _OBJECT_STORE_KEYWORDS[keyword], dataset)
    if keyword in _FILE_KEYWORDS:
        return DatasetName("file", name)
    if keyword in _SERVER_SETTINGS:
        return _name_on_server(name, keyword, namespaces, dataset)
    if not _URL.fullmatch(namespace) and not namespace.startswith(("file", "inmemory")):
        dataset.notes.append(
            f"{dataset.path_to('namespace')} {namespace[:64]!r} is not a known keyword: used as it is"
        )
    return DatasetName(canonical_namespace(namespace), name)


def _without_login(url: str, path: str, notes: list[str]) -> str:
    """Remove user and password from a URL, because names are visible to all users."""
    if not _URL.fullmatch(url) or url.lower().startswith(_CONTAINER_URLS):
        return url
    cleaned_url = _LOGIN.sub("", url, count=1)
    if cleaned_url != url:
        notes.append(f"{path} contained a login, which was removed")
    return cleaned_url


def _name_from_url(name: str) -> DatasetName | None:
    """Split the URL of a stored dataset into a namespace (bucket or host) and a name (key or path)."""
    match = _URL.fullmatch(name)
    if match is None:
        return None
    url_scheme, authority, path = match.groups()
    scheme = canonical_namespace(f"{url_scheme.lower()}://").removesuffix("://")
    if scheme == "file":
        return DatasetName(f"file://{authority}" if authority else "file", path or "/")
    if scheme in _OBJECT_STORE_SCHEMES and authority:
        return DatasetName(f"{scheme}://{authority}", path.strip("/") or "/")
    if scheme in _FILE_SYSTEM_SCHEMES and authority:
        return DatasetName(f"{scheme}://{authority}", path.rstrip("/") or "/")
    return None


def _name_in_bucket(name: str, scheme: str, dataset: BodyFields) -> DatasetName:
    bucket, _, key = name.strip("/").partition("/")
    if "://" in name or not bucket:
        raise InvalidInput(f"contains no bucket: {name[:64]!r}", dataset.path_to("name"))
    dataset.notes.append(f"{dataset.path_to('name')} is not a URL: its first part was read as the bucket")
    return DatasetName(f"{scheme}://{bucket}", key.strip("/") or "/")


def _name_on_server(name: str, keyword: str, namespaces: LegacyNamespaces, dataset: BodyFields) -> DatasetName:
    """Resolve the name of a table or file on the server that the settings name for a keyword."""
    setting = _SERVER_SETTINGS[keyword]
    url: str | None = getattr(namespaces, setting)
    if url is None:
        raise InvalidInput(
            f"{keyword} is not a URL: set legacy.{setting}, or send {keyword.lower()}://host:port",
            dataset.path_to("namespace"),
        )
    if keyword == "DB2" and name.count(".") == 1:
        if namespaces.db2_database:
            name = f"{namespaces.db2_database}.{name}"
        else:
            dataset.notes.append(
                f"{dataset.path_to('name')} contains no database, and legacy.db2_database is not set: used as it is"
            )
    return DatasetName(url, name)
