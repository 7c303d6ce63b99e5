"""Files of JIL as one estate, applied in the order in which they are named."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from connectors.autosys.files import jil_files, read_text
from mappers.errors import MissingPart
from mappers.legacy.jil.estate import Estate
from mappers.legacy.jil.statements import Level, Problem, read_statements
from mappers.legacy.jil.unread import unread

#: So many names are told.
_MOST = 20


def read_estate(files: Iterable[Path]) -> Estate:
    """Read files, and keep all that is wrong with them in the estate's problems; raises MissingPart."""
    try:
        import lark  # noqa: F401, PLC0415 - an extra: whether it is there is all that is asked
        import sqlglot  # noqa: F401, PLC0415 - as above
        import tree_sitter_bash  # noqa: F401, PLC0415 - as above
    except ImportError as error:
        raise MissingPart(
            "JIL is read with lark, sqlglot and tree-sitter: pip install 'lineage-bridge[autosys]'"
        ) from error
    estate = Estate()
    named = jil_files(files)
    for folder, others in named.passed_over.items():
        estate.problems += _passed_over(folder, others)
        if not any(one.is_relative_to(folder) for one in named.read):
            estate.problems.append(Problem(str(folder), 0, "error", "holds no file that ends with .jil"))
    for file in named.read:
        decoded = read_text(file)
        if decoded.lossy:
            said = f"some bytes are no letters of {decoded.encoding}: they were replaced"
            estate.problems.append(Problem(str(file), 1, "warning", said))
        read = read_statements(decoded.text, str(file))
        estate.problems += read.problems
        if not read.statements:
            # An export that failed leaves nothing, or its error; comments alone are somebody's.
            level: Level = "warning" if set(read.fates) <= {"blank", "comment"} and decoded.text.strip() else "error"
            estate.problems.append(Problem(str(file), 1, level, "holds no statement of JIL"))
        estate.apply(read.statements)
    estate.problems += unread(estate)
    return estate


def _passed_over(folder: Path, others: list[Path]) -> Iterator[Problem]:
    if others:
        names = ", ".join(str(one.relative_to(folder)) for one in others[:_MOST])
        more = f", and {len(others) - _MOST} more" if len(others) > _MOST else ""
        said = f"{len(others)} files are hidden or do not end with .jil: not read: {names}{more}"
        yield Problem(str(folder), 0, "warning", said)
