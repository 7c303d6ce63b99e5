"""What is true of files wherever they lie: each case makes some in a folder, asks, and says what must come of it."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from connectors.spark.file_system import FileSystem

BIG = bytes(range(256)) * 8192


class Case(NamedTuple):
    """Files by their paths, where None makes a folder; what is asked; what is answered, paths without the folder."""

    there: dict[str, bytes | None]
    ask: Callable[[FileSystem, str], Any]
    answer: Any


def _listed(inside: str) -> Callable[[FileSystem, str], Any]:
    return lambda files, top: [(one.path, one.size) for one in files.files(f"{top}{inside}")]


def _written(path: str, *contents: bytes) -> Callable[[FileSystem, str], Any]:
    def ask(files: FileSystem, top: str) -> Any:
        for content in contents:
            files.write(f"{top}/{path}", content)
        return files.read(f"{top}/{path}"), [one.path for one in files.files(top)]

    return ask


def _deleted(path: str) -> Callable[[FileSystem, str], Any]:
    def ask(files: FileSystem, top: str) -> Any:
        files.delete(f"{top}/{path}")
        files.delete(f"{top}/{path}")
        return [one.path for one in files.files(top)]

    return ask


CASES = {
    "a file is read": Case({"a": b"\x00\xff\n"}, lambda files, top: files.read(f"{top}/a"), b"\x00\xff\n"),
    "an empty file is read": Case({"a": b""}, lambda files, top: files.read(f"{top}/a"), b""),
    "no file is none": Case({}, lambda files, top: files.read(f"{top}/a"), None),
    "no folder is none": Case({}, lambda files, top: files.read(f"{top}/a/b"), None),
    "nothing is beneath a file": Case({"a": b"x"}, lambda files, top: files.read(f"{top}/a/b"), None),
    "what is written is read": Case({}, _written("a", b"\x00one"), (b"\x00one", ["/a"])),
    "what is written again is read": Case({}, _written("a", b"longer", b"new"), (b"new", ["/a"])),
    "what is written is hidden if its name is": Case({}, _written("_a", b"x"), (b"x", [])),
    "nothing is written": Case({}, _written("a", b""), (b"", ["/a"])),
    "folders are made for what is written": Case({}, _written("a/b/c", b"x"), (b"x", ["/a/b/c"])),
    "files are listed in their order": Case(
        {"b": b"22", "a": b"1", "c/a": b""}, _listed(""), [("/a", 1), ("/b", 2), ("/c/a", 0)]
    ),
    "names that sort beside a slash": Case({"a/x": b"1", "a-b/x": b"1"}, _listed(""), [("/a-b/x", 1), ("/a/x", 1)]),
    "one file is listed": Case({"a": b"1", "b": b"2"}, _listed("/a"), [("/a", 1)]),
    "what is not there has no files": Case({}, _listed("/a"), []),
    "an empty folder has no files": Case({"a": None}, _listed(""), []),
    "hidden files are none": Case({"_a": b"1", ".a": b"1", "a.crc": b"1", ".a.crc": b"1"}, _listed(""), [("/a.crc", 1)]),
    "hidden folders are none": Case({"_temporary/a": b"1", ".x/a": b"1", "y/_z/a": b"1"}, _listed(""), []),
    "partitions may begin so": Case(
        {"_version=1/day=2/a": b"1", "_day=/a": b"1"}, _listed(""), [("/_day=/a", 1), ("/_version=1/day=2/a", 1)]
    ),
    "a hidden folder that is named is listed": Case({"_x/a": b"1"}, _listed("/_x"), [("/_x/a", 1)]),
    "names with signs in them": Case(
        {"a b%20ä:1/x#y": b"1"}, _listed(""), [("/a b%20ä:1/x#y", 1)]
    ),
    "folders are named": Case(
        {"b/x": b"", "a/y/z": b"", "_version=1/x": b"", "file": b""},
        lambda files, top: files.folders(top),
        ["/_version=1", "/a", "/b"],
    ),
    "what is not there has no folders": Case({}, lambda files, top: files.folders(f"{top}/a"), []),
    "a file has no folders": Case({"a": b""}, lambda files, top: files.folders(f"{top}/a"), []),
    "a checksum": Case({"a": b"abc"}, lambda files, top: files.sha256(f"{top}/a"), sha256(b"abc").hexdigest()),
    "a checksum of nothing": Case({"a": b""}, lambda files, top: files.sha256(f"{top}/a"), sha256().hexdigest()),
    "a checksum of much": Case({"a": BIG}, lambda files, top: files.sha256(f"{top}/a"), sha256(BIG).hexdigest()),
    "a folder is deleted with all in it, twice": Case({"a/b/c": b"", "a/d": b"", "ab": b""}, _deleted("a"), ["/ab"]),
}  # fmt: skip


def prove(files: FileSystem, folder: Path, case: Case, scheme: str = "") -> None:
    """See that files answer as they must, by paths with and without a scheme."""
    for name, content in case.there.items():
        place = folder / name
        (place if content is None else place.parent).mkdir(parents=True, exist_ok=True)
        if content is not None:
            place.write_bytes(content)
    assert _without(folder, case.ask(files, f"{scheme}{folder}")) == case.answer


def _without(folder: Path, answer: Any) -> Any:
    """Leave the folder out of paths."""
    if isinstance(answer, list | tuple):
        return type(answer)(_without(folder, one) for one in answer)
    return answer.removeprefix("file:").removeprefix(str(folder)) if isinstance(answer, str) else answer
