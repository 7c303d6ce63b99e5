"""Repairs for what the Spark listener gets wrong in names."""

import re

from mappers.memory import remembered

_DOUBLED = re.compile(r"(^|/)([^/]+\.db)/\2/")

#: Columns that table formats add to every scan; they are no columns of the data.
METADATA_COLUMNS = frozenset(
    {"_file", "_pos", "_spec_id", "_partition", "_deleted", "_row_id", "_last_updated_sequence_number"}
)


def repair_path(name: str) -> str:
    """Undo the doubled database directory in the path of a dropped table."""
    return _DOUBLED.sub(r"\1\2/", name) if ".db/" in name else name


@remembered(4096)
def repair_symlink(namespace: str, name: str) -> str:
    """Undo the database directory in the warehouse of a dropped or renamed table's identifier."""
    database = name.partition(".")[0]
    return namespace.removesuffix(f"/{database}.db") if "." in name else namespace
