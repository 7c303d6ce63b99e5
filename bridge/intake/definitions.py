"""Files of JIL as one estate, applied in the order in which they are named."""

from collections.abc import Iterable
from pathlib import Path

from mappers.errors import ConfigError, MissingPart
from mappers.legacy.jil.decoding import decode
from mappers.legacy.jil.estate import Estate
from mappers.legacy.jil.statements import Problem, read_statements


def read_estate(files: Iterable[Path]) -> Estate:
    """Read files, and keep all that is wrong with them in the estate's problems; raises MissingPart."""
    try:
        import lark  # noqa: F401, PLC0415 - an extra: whether it is there is all that is asked
        import tree_sitter_bash  # noqa: F401, PLC0415 - as above
    except ImportError as error:
        raise MissingPart("JIL is read with lark and tree-sitter: pip install 'lineage-bridge[autosys]'") from error
    estate = Estate()
    for file in jil_files(files):
        try:
            raw = file.read_bytes()
        except OSError as error:
            raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
        decoded = decode(raw)
        if decoded.lossy:
            said = f"some bytes are no letters of {decoded.encoding}: they were replaced"
            estate.problems.append(Problem(str(file), 1, "warning", said))
        read = read_statements(decoded.text, str(file))
        estate.problems += read.problems
        estate.apply(read.statements)
    return estate


def jil_files(places: Iterable[Path]) -> list[Path]:
    """Name the files that are meant; of a folder those that end with `.jil`, by their names."""
    found: list[Path] = []
    for place in places:
        found += sorted(place.rglob("*.jil")) if place.is_dir() else [place]
    return found
