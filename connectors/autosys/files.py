"""Finds JIL files; reads text files in any encoding."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from connectors.errors import ConfigError

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
#: From here on every other byte is zero often enough to be the half of a letter.
_HALF = 0.3


class DecodedText(NamedTuple):
    """A text, and what it was encoded in; `lossy` where some bytes are no letters of it."""

    text: str
    encoding: str
    lossy: bool = False


def decode_text(raw: bytes) -> DecodedText:
    """Decode any bytes: by their mark, as UTF-8, by the zeros of UTF-16, else as cp1252."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _decoded(raw, encoding)
    zeros = raw[:4096]
    if zeros.count(0):
        odd, even = zeros[1::2].count(0), zeros[::2].count(0)
        if max(odd, even) >= _HALF * len(zeros) / 2:
            return _decoded(raw, "utf-16-le" if odd >= even else "utf-16-be")
    try:
        return DecodedText(raw.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _decoded(raw, "cp1252")


def _decoded(raw: bytes, encoding: str) -> DecodedText:
    try:
        return DecodedText(raw.decode(encoding), encoding)
    except UnicodeDecodeError:
        return DecodedText(raw.decode(encoding, errors="replace"), encoding, lossy=True)


class JilFileList(NamedTuple):
    """The files that are meant, and those of each folder that are not read."""

    files: list[Path]
    skipped: dict[Path, list[Path]]


def find_jil_files(places: Iterable[Path]) -> JilFileList:
    """Name the files that are meant; of a folder those that end with `.jil`, by their names, but hidden ones."""
    found = JilFileList([], {})
    for place in places:
        if not place.is_dir():
            found.files.append(place)
            continue
        inside = sorted(one for one in place.rglob("*") if one.is_file())
        seen = [one for one in inside if not any(part.startswith(".") for part in one.relative_to(place).parts)]
        meant = [one for one in seen if _is_jil(one)]
        found.files.extend(meant)
        found.skipped[place] = [one for one in inside if one not in meant and (one in seen or _is_jil(one))]
    return found


def read_text(file: Path) -> DecodedText:
    """Read a file; raises ConfigError that names it."""
    try:
        return decode_text(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error


def _is_jil(file: Path) -> bool:
    return file.suffix.lower() == ".jil" or file.name.lower() == ".jil"
