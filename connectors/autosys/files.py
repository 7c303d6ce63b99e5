"""Finds JIL files, and reads text files in any encoding."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from connectors.errors import ConfigError

_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
#: Text counts as UTF-16 if at least this share of its odd or even bytes is zero.
_MIN_ZERO_SHARE = 0.3


class DecodedText(NamedTuple):
    """Decoded text and its encoding; `lossy` means that invalid bytes were replaced."""

    text: str
    encoding: str
    lossy: bool = False


def decode_text(raw: bytes) -> DecodedText:
    """Decode any bytes.

    A byte order mark determines the encoding. Without a mark, bytes are decoded as UTF-16 if many of them are zero,
    else as UTF-8 if they are valid UTF-8, else as cp1252.
    """
    for bom, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(bom):
            return _decode_leniently(raw, encoding)
    sample = raw[:4096]
    if sample.count(0):
        odd_zeros, even_zeros = sample[1::2].count(0), sample[::2].count(0)
        if max(odd_zeros, even_zeros) >= _MIN_ZERO_SHARE * len(sample) / 2:
            return _decode_leniently(raw, "utf-16-le" if odd_zeros >= even_zeros else "utf-16-be")
    try:
        return DecodedText(raw.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _decode_leniently(raw, "cp1252")


def _decode_leniently(raw: bytes, encoding: str) -> DecodedText:
    try:
        return DecodedText(raw.decode(encoding), encoding)
    except UnicodeDecodeError:
        return DecodedText(raw.decode(encoding, errors="replace"), encoding, lossy=True)


class JilFileList(NamedTuple):
    """The files to read, and the skipped files of each folder."""

    files: list[Path]
    skipped: dict[Path, list[Path]]


def find_jil_files(paths: Iterable[Path]) -> JilFileList:
    """List the given files, and the visible files ending with `.jil` in each given folder, sorted by path."""
    listing = JilFileList([], {})
    for path in paths:
        if not path.is_dir():
            listing.files.append(path)
            continue
        listing.skipped[path] = []
        for file in sorted(file for file in path.rglob("*") if file.is_file()):
            is_visible = not any(part.startswith(".") for part in file.relative_to(path).parts)
            if is_visible and _is_jil(file):
                listing.files.append(file)
            elif is_visible or _is_jil(file):  # other hidden files do not count as skipped
                listing.skipped[path].append(file)
    return listing


def read_text(file: Path) -> DecodedText:
    """Read and decode a file; raises ConfigError with the file name if the file cannot be read."""
    try:
        return decode_text(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error


def _is_jil(file: Path) -> bool:
    return file.suffix.lower() == ".jil" or file.name.lower() == ".jil"
