"""Test cases for all file systems: files to create, a call, and the expected result."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from connectors.spark.file_system import FileSystem

BIG = bytes(range(256)) * 8192


class Case(NamedTuple):
    """Files by path (None: a folder), a call, and its result with paths relative to the folder."""

    files: dict[str, bytes | None]
    call: Callable[[FileSystem, str], Any]
    expected: Any


def _list(subfolder: str) -> Callable[[FileSystem, str], Any]:
    return lambda files, root: [(file.path, file.size) for file in files.list_files(f"{root}{subfolder}")]


def _write(path: str, *contents: bytes) -> Callable[[FileSystem, str], Any]:
    def run(files: FileSystem, root: str) -> Any:
        for content in contents:
            files.write(f"{root}/{path}", content)
        return files.read(f"{root}/{path}"), [file.path for file in files.list_files(root)]

    return run


def _delete(path: str) -> Callable[[FileSystem, str], Any]:
    def run(files: FileSystem, root: str) -> Any:
        files.delete(f"{root}/{path}")
        files.delete(f"{root}/{path}")
        return [file.path for file in files.list_files(root)]

    return run


CASES = {
    "read a file": Case({"a": b"\x00\xff\n"}, lambda files, root: files.read(f"{root}/a"), b"\x00\xff\n"),
    "read an empty file": Case({"a": b""}, lambda files, root: files.read(f"{root}/a"), b""),
    "read a missing file": Case({}, lambda files, root: files.read(f"{root}/a"), None),
    "read in a missing folder": Case({}, lambda files, root: files.read(f"{root}/a/b"), None),
    "read below a file": Case({"a": b"x"}, lambda files, root: files.read(f"{root}/a/b"), None),
    "write a file": Case({}, _write("a", b"\x00one"), (b"\x00one", ["/a"])),
    "overwrite a file": Case({}, _write("a", b"longer", b"new"), (b"new", ["/a"])),
    "write a hidden file": Case({}, _write("_a", b"x"), (b"x", [])),
    "write an empty file": Case({}, _write("a", b""), (b"", ["/a"])),
    "write creates folders": Case({}, _write("a/b/c", b"x"), (b"x", ["/a/b/c"])),
    "list files in order": Case(
        {"b": b"22", "a": b"1", "c/a": b""}, _list(""), [("/a", 1), ("/b", 2), ("/c/a", 0)]
    ),
    "list names that sort before a slash": Case({"a/x": b"1", "a-b/x": b"1"}, _list(""), [("/a-b/x", 1), ("/a/x", 1)]),
    "list one file": Case({"a": b"1", "b": b"2"}, _list("/a"), [("/a", 1)]),
    "list a missing folder": Case({}, _list("/a"), []),
    "list an empty folder": Case({"a": None}, _list(""), []),
    "omit hidden files": Case({"_a": b"1", ".a": b"1", "a.crc": b"1", ".a.crc": b"1"}, _list(""), [("/a.crc", 1)]),
    "omit hidden folders": Case({"_temporary/a": b"1", ".x/a": b"1", "y/_z/a": b"1"}, _list(""), []),
    "list partitions that start with an underscore": Case(
        {"_version=1/day=2/a": b"1", "_day=/a": b"1"}, _list(""), [("/_day=/a", 1), ("/_version=1/day=2/a", 1)]
    ),
    "list a named hidden folder": Case({"_x/a": b"1"}, _list("/_x"), [("/_x/a", 1)]),
    "list names with special characters": Case(
        {"a b%20ä:1/x#y": b"1"}, _list(""), [("/a b%20ä:1/x#y", 1)]
    ),
    "list folders": Case(
        {"b/x": b"", "a/y/z": b"", "_version=1/x": b"", "file": b""},
        lambda files, root: files.list_folders(root),
        ["/_version=1", "/a", "/b"],
    ),
    "list folders of a missing folder": Case({}, lambda files, root: files.list_folders(f"{root}/a"), []),
    "list folders of a file": Case({"a": b""}, lambda files, root: files.list_folders(f"{root}/a"), []),
    "checksum": Case({"a": b"abc"}, lambda files, root: files.sha256(f"{root}/a"), sha256(b"abc").hexdigest()),
    "checksum of an empty file": Case({"a": b""}, lambda files, root: files.sha256(f"{root}/a"), sha256().hexdigest()),
    "checksum of a large file": Case({"a": BIG}, lambda files, root: files.sha256(f"{root}/a"), sha256(BIG).hexdigest()),
    "delete a folder twice": Case({"a/b/c": b"", "a/d": b"", "ab": b""}, _delete("a"), ["/ab"]),
}  # fmt: skip


def check_case(files: FileSystem, folder: Path, case: Case, scheme: str = "") -> None:
    """Create the files of a case, and compare the result of its call."""
    for name, content in case.files.items():
        target = folder / name
        (target if content is None else target.parent).mkdir(parents=True, exist_ok=True)
        if content is not None:
            target.write_bytes(content)
    assert _relative(folder, case.call(files, f"{scheme}{folder}")) == case.expected


def _relative(folder: Path, result: Any) -> Any:
    """Make paths relative to the folder."""
    if isinstance(result, list | tuple):
        return type(result)(_relative(folder, item) for item in result)
    return result.removeprefix("file:").removeprefix(str(folder)) if isinstance(result, str) else result
