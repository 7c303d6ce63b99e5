"""File access: local files directly, all others through Hadoop."""

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

_PIECE = 1 << 20


class DataFile(NamedTuple):
    """A file of data: where it lies, how large it is, and when it was changed, in milliseconds."""

    path: str
    size: int
    changed: int


class FileSystem(Protocol):
    """What is asked of a file system."""

    def read(self, path: str) -> bytes | None:
        """Give what a file holds; None when there is none."""

    def write(self, path: str, content: bytes) -> None:
        """Let a file hold something, all at once."""

    def files(self, path: str) -> list[DataFile]:
        """List the files of data in and beneath a folder, or the one that is named, by their names."""

    def folders(self, path: str) -> list[str]:
        """Name the folders in a folder, in their order."""

    def sha256(self, path: str) -> str:
        """Give the checksum of a file."""

    def delete(self, path: str) -> None:
        """Remove a folder with all that it holds; one that is not there is removed already."""


class LocalFileSystem:
    """The files of this machine."""

    def read(self, path: str) -> bytes | None:
        """Give what a file holds; None when there is none."""
        try:
            return _local(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, path: str, content: bytes) -> None:
        """Let a file hold something, all at once and durably."""
        whole = _local(path)
        whole.parent.mkdir(parents=True, exist_ok=True)
        part = whole.with_name(f".{whole.name}.part")
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(whole)

    def files(self, path: str) -> list[DataFile]:
        """List the files of data."""
        top = _local(path)
        if top.is_file():
            return [_stored(top)]
        return sorted(map(_stored, _walk(top)))

    def folders(self, path: str) -> list[str]:
        """Name the folders in a folder."""
        top = _local(path)
        return sorted(str(one) for one in top.iterdir() if one.is_dir()) if top.is_dir() else []

    def sha256(self, path: str) -> str:
        """Give the checksum of a file."""
        digest = hashlib.sha256()
        with _local(path).open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        return digest.hexdigest()

    def delete(self, path: str) -> None:
        """Remove a folder with all that it holds."""
        with suppress(FileNotFoundError):
            shutil.rmtree(_local(path))


class HadoopFileSystem:
    """The files of whatever Spark can reach: HDFS, S3 and others."""

    def __init__(self, session: Callable[[], "SparkSession"]) -> None:
        self._session = session

    def read(self, path: str) -> bytes | None:
        """Give what a file holds; None when there is none."""
        jvm, system, place = self._at(path)
        if not system.exists(place):
            return None
        stream = system.open(place)
        try:
            return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, path: str, content: bytes) -> None:
        """Let a file hold something; who reads sees it when it is closed."""
        _, system, place = self._at(path)
        stream = system.create(place, True)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def files(self, path: str) -> list[DataFile]:
        """List the files of data."""
        _, system, place = self._at(path)
        if not system.exists(place):
            return []
        found, listed = [], system.listFiles(place, True)
        top = str(place.toString()).rstrip("/")
        while listed.hasNext():
            one = listed.next()
            whole = str(one.getPath().toString())
            inside = urlsplit(whole).path.removeprefix(urlsplit(top).path)
            if not any(map(_hidden, inside.split("/"))):
                found.append(DataFile(whole, one.getLen(), one.getModificationTime()))
        return sorted(found)

    def folders(self, path: str) -> list[str]:
        """Name the folders in a folder."""
        _, system, place = self._at(path)
        if not system.exists(place):
            return []
        return sorted(str(one.getPath().toString()) for one in system.listStatus(place) if one.isDirectory())

    def sha256(self, path: str) -> str:
        """Give the checksum of a file."""
        jvm, system, place = self._at(path)
        stream = system.open(place)
        try:
            return str(jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    def delete(self, path: str) -> None:
        """Remove a folder with all that it holds."""
        _, system, place = self._at(path)
        system.delete(place, True)

    def _at(self, path: str) -> tuple[Any, Any, Any]:
        context: Any = self._session().sparkContext
        jvm = context._jvm  # noqa: SLF001 - PySpark offers no other way to Hadoop's file systems
        place = jvm.org.apache.hadoop.fs.Path(path)
        return jvm, place.getFileSystem(context._jsc.hadoopConfiguration()), place  # noqa: SLF001 - as above


class FileSystems:
    """Files anywhere; Spark is started when the first is asked for that does not lie on this machine."""

    def __init__(self, session: Callable[[], "SparkSession"]) -> None:
        self._local: FileSystem = LocalFileSystem()
        self._distant: FileSystem = HadoopFileSystem(session)

    def for_path(self, path: str) -> FileSystem:
        """Choose who knows the files of a path."""
        return self._local if urlsplit(path).scheme in {"", "file"} else self._distant


def _local(path: str) -> Path:
    plain = path.removeprefix("file:")
    return Path(plain.removeprefix("//") if plain.startswith("///") else plain)


def _stored(file: Path) -> DataFile:
    status = file.stat()
    return DataFile(str(file), status.st_size, status.st_mtime_ns // 1_000_000)


def _walk(top: Path) -> Iterator[Path]:
    """Find files as Spark finds them: hidden names are passed over, but partitions that begin with `_`."""
    for folder, folders, names in os.walk(top, followlinks=True):
        folders[:] = sorted(one for one in folders if not _hidden(one))
        yield from (Path(folder, name) for name in sorted(names) if not _hidden(name))


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
