"""Version manifests (`_lineage_bridge.json`) and delivery manifests of input files."""

from typing import Any, TypeVar

import msgspec

from connectors.errors import ConfigError

T = TypeVar("T")

#: Spark reads no file whose name begins so.
MANIFEST_NAME = "_lineage_bridge.json"
#: A folder of one version; the listener takes it from the dataset's name as it does with partitions.
VERSION_FOLDER_PREFIX = "_version="
#: Appending makes one more root each time; with so many, all is written anew in one.
MAX_ROOTS = 64


class VersionRoot(msgspec.Struct, frozen=True, omit_defaults=True):
    """A folder whose files belong to a version: that of the version itself, or of one before it."""

    path: str
    version: str
    key: str
    #: The partition that it holds, where it holds just one.
    partition: str | None = None


class DeliveredFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file, as a manifest names it."""

    path: str
    size: int
    sha256: str
    rows: int | None = None


class VersionManifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A version: its files, its form, and what was counted while it was written."""

    version: str
    key: str
    format: str
    roots: list[VersionRoot]
    columns: dict[str, str]
    rows: int | None = None
    checksum: str | None = None
    options: dict[str, Any] = {}
    partition_by: list[str] = []


class DeliveryManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody says of files that they brought."""

    files: list[DeliveredFile]
    format: str = "csv"
    rows: int | None = None
    columns: dict[str, str] = {}
    business_date: str | None = None
    options: dict[str, Any] = {}


def decode_version_manifest(text: bytes, where: str) -> VersionManifest:
    """Read what a version consists of; raises ConfigError."""
    return _read(text, VersionManifest, where)


def decode_delivery_manifest(text: bytes, where: str) -> DeliveryManifest:
    """Read a manifest; raises ConfigError."""
    return _read(text, DeliveryManifest, where)


def _read(text: bytes, kind: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{where}: {error}") from error
