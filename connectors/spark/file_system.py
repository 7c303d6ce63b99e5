"""File access: directly for local files, through Hadoop for everything else."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHUNK_BYTES = 1 << 20


class DataFile(NamedTuple):
    """A data file: its path, its size, and the time of its last change in milliseconds."""

    path: str
    size: int
    changed_at: int


class FileSystem(Protocol):
    """File operations that processes need."""

    def read(self, path: str) -> bytes | None:
        """Read a file; returns None if the file does not exist."""

    def write(self, path: str, content: bytes) -> None:
        """Write a file atomically."""

    def list_files(self, path: str) -> list[DataFile]:
        """List the data files in a folder and its subfolders, sorted by path; for a file, list the file itself."""

    def list_folders(self, path: str) -> list[str]:
        """List the direct subfolders of a folder, sorted."""

    def sha256(self, path: str) -> str:
        """Compute the checksum of a file."""

    def delete(self, path: str) -> None:
        """Delete a folder with its content, if it exists."""


class LocalFileSystem:
    """Accesses the files of this machine."""

    def read(self, path: str) -> bytes | None:
        try:
            return _local_path(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, content: bytes) -> None:
        """Write a file atomically and durably."""
        target = _local_path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial_file = target.with_name(f".{target.name}.part")
        with partial_file.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial_file.replace(target)

    def list_files(self, path: str) -> list[DataFile]:
        top = _local_path(path)
        if top.is_file():
            return [_data_file(top)]
        return sorted(map(_data_file, _visible_files(top)))

    def list_folders(self, path: str) -> list[str]:
        top = _local_path(path)
        return sorted(str(child) for child in top.iterdir() if child.is_dir()) if top.is_dir() else []

    def sha256(self, path: str) -> str:
        digest = hashlib.sha256()
        with _local_path(path).open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(_local_path(path))


class HadoopFileSystem:
    """Accesses files through Hadoop, for example in HDFS and S3."""

    def __init__(self, session: Callable[[], "SparkSession"]) -> None:
        self._session = session

    def read(self, path: str) -> bytes | None:
        jvm, system, hadoop_path = self._hadoop_objects(path)
        if not system.exists(hadoop_path):
            return None
        stream = system.open(hadoop_path)
        try:
            return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, path: str, content: bytes) -> None:
        """Write a file; readers see the file only after it has been closed."""
        _, system, hadoop_path = self._hadoop_objects(path)
        stream = system.create(hadoop_path, True)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def list_files(self, path: str) -> list[DataFile]:
        _, system, hadoop_path = self._hadoop_objects(path)
        if not system.exists(hadoop_path):
            return []
        files = []
        iterator = system.listFiles(hadoop_path, True)
        top = str(hadoop_path.toString()).rstrip("/")
        while iterator.hasNext():
            status = iterator.next()
            full_path = str(status.getPath().toString())
            relative_path = urlsplit(full_path).path.removeprefix(urlsplit(top).path)
            if not any(map(_is_hidden, relative_path.split("/"))):
                files.append(DataFile(full_path, status.getLen(), status.getModificationTime()))
        return sorted(files)

    def list_folders(self, path: str) -> list[str]:
        _, system, hadoop_path = self._hadoop_objects(path)
        if not system.exists(hadoop_path):
            return []
        return sorted(
            str(status.getPath().toString()) for status in system.listStatus(hadoop_path) if status.isDirectory()
        )

    def sha256(self, path: str) -> str:
        jvm, system, hadoop_path = self._hadoop_objects(path)
        stream = system.open(hadoop_path)
        try:
            return str(jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    def delete(self, path: str) -> None:
        _, system, hadoop_path = self._hadoop_objects(path)
        system.delete(hadoop_path, True)

    def _hadoop_objects(self, path: str) -> tuple[Any, Any, Any]:
        """Return the JVM, the Hadoop file system of a path, and the Hadoop path."""
        context: Any = self._session().sparkContext
        jvm = context._jvm  # noqa: SLF001 - PySpark offers no other way to Hadoop's file systems
        hadoop_path = jvm.org.apache.hadoop.fs.Path(path)
        return jvm, hadoop_path.getFileSystem(context._jsc.hadoopConfiguration()), hadoop_path  # noqa: SLF001 - as above


class FileSystems:
    """Selects the file system of a path; Spark is started on the first access to a path that is not local."""

    def __init__(self, session: Callable[[], "SparkSession"]) -> None:
        self._local: FileSystem = LocalFileSystem()
        self._remote: FileSystem = HadoopFileSystem(session)

    def for_path(self, path: str) -> FileSystem:
        return self._local if urlsplit(path).scheme in {"", "file"} else self._remote


def _local_path(path: str) -> Path:
    without_scheme = path.removeprefix("file:")
    if without_scheme.startswith("///"):
        return Path(without_scheme.removeprefix("//"))
    return Path(without_scheme)


def _data_file(file: Path) -> DataFile:
    status = file.stat()
    return DataFile(str(file), status.st_size, status.st_mtime_ns // 1_000_000)


def _visible_files(top: Path) -> Iterator[Path]:
    """Yield files as Spark does: without hidden names, but with partition folders whose names begin with `_`."""
    for folder, folders, names in os.walk(top, followlinks=True):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        yield from (Path(folder, name) for name in sorted(names) if not _is_hidden(name))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
