"""Compares promised columns with actual ones."""

import difflib
from collections.abc import Iterable, Mapping

#: Types as OpenLineage's listener writes them, and as Spark does.
_SPELLINGS = {"long": "bigint", "integer": "int", "byte": "tinyint", "short": "smallint"}


def column_problems(what: str, promised: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Say which promised columns are missing, or of another type."""
    by_name = {name.lower(): kind for name, kind in there.items()}
    said = []
    for name, kind in promised.items():
        found = by_name.get(name.lower())
        if found is None:
            said.append(f"{what}: has no column {name}{_near(name, there)}")
        elif normalize_type(found) != normalize_type(kind):
            said.append(f"{what}: column {name} is {found}, and {kind} is promised")
    return said


def normalize_type(kind: str) -> str:
    """Give the one spelling of a type."""
    plain = kind.lower().replace(" ", "")
    return _SPELLINGS.get(plain, plain)


def _near(name: str, there: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, there, 1)
    return f"; did you mean {near[0]}?" if near else f"; it has {', '.join(there) or 'none'}"
