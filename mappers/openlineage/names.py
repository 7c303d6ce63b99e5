"""Canonical dataset and job names, with corrections of names from the Spark listener."""

import re
from typing import NamedTuple

from mappers.cache import bounded_lru_cache
from mappers.canonical import identity
from mappers.naming import canonical_namespace

_DUPLICATED_DATABASE = re.compile(r"(^|/)([^/]+\.db)/\2/")

#: Columns that table formats add to every scan, and that are not part of the data.
METADATA_COLUMNS = frozenset(
    {"_file", "_pos", "_spec_id", "_partition", "_deleted", "_row_id", "_last_updated_sequence_number"}
)


def repair_path(name: str) -> str:
    """Remove the duplicated database directory from the path of a dropped table."""
    return _DUPLICATED_DATABASE.sub(r"\1\2/", name) if ".db/" in name else name


@bounded_lru_cache(4096)
def repair_symlink(namespace: str, name: str) -> str:
    """Remove the database directory from the namespace in a symlink of a dropped or renamed table."""
    database = name.partition(".")[0]
    return namespace.removesuffix(f"/{database}.db") if "." in name else namespace


class CanonicalEntity(NamedTuple):
    """A dataset or job under its canonical name, with its ids."""

    id: bytes
    namespace_id: bytes
    namespace: str
    name: str


@bounded_lru_cache(1 << 15)
def canonical_dataset_name(org: str, namespace: str, name: str) -> CanonicalEntity:
    """Repair the path and normalize the namespace of a dataset, and compute its ids."""
    namespace, name = canonical_namespace(namespace), repair_path(name)
    return CanonicalEntity(
        identity.dataset_id(org, namespace, name), identity.namespace_id(org, namespace), namespace, name
    )


@bounded_lru_cache(1 << 15)
def canonical_job_name(org: str, namespace: str, name: str) -> CanonicalEntity:
    return CanonicalEntity(
        identity.job_id(org, namespace, name), identity.namespace_id(org, namespace), namespace, name
    )
