"""Version manifests (`_lineage_bridge.json`) and delivery manifests of input files."""

from typing import Any, TypeVar

import msgspec

from connectors.errors import ConfigError

T = TypeVar("T")

#: Spark ignores files whose names start with an underscore.
MANIFEST_NAME = "_lineage_bridge.json"
#: Folder of one version; the listener strips it from dataset names like a partition.
VERSION_FOLDER_PREFIX = "_version="
#: Each append adds a root; an append to a dataset with this many roots rewrites it into one.
MAX_ROOTS = 64


class VersionRoot(msgspec.Struct, frozen=True, omit_defaults=True):
    """A folder with files of a version; the files were written by this version or by an earlier one."""

    path: str
    version: str
    key: str
    #: The partition, if the folder contains only one.
    partition: str | None = None


class DeliveredFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of a delivery manifest."""

    path: str
    size: int
    sha256: str
    rows: int | None = None


class VersionManifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Files, format and measurements of a version."""

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
    """List of files that a supplier delivers."""

    files: list[DeliveredFile]
    format: str = "csv"
    rows: int | None = None
    columns: dict[str, str] = {}
    business_date: str | None = None
    options: dict[str, Any] = {}


def decode_version_manifest(content: bytes, label: str) -> VersionManifest:
    """Decode a version manifest. Raises ConfigError if the manifest is invalid."""
    return _decode_manifest(content, VersionManifest, label)


def decode_delivery_manifest(content: bytes, label: str) -> DeliveryManifest:
    """Decode a delivery manifest. Raises ConfigError if the manifest is invalid."""
    return _decode_manifest(content, DeliveryManifest, label)


def without_extended_tag(key: str) -> str:
    """Return a key without the part after the @, which names the replaced version, and the run if it is a rerun."""
    process_key, _, _ = key.partition("@")
    return process_key


def _decode_manifest(content: bytes, type_: type[T], label: str) -> T:
    try:
        return msgspec.json.decode(content, type=type_)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{label}: {error}") from error
