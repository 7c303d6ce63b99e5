"""Custom JSON metadata of datasets and versions, changed by merge patch (RFC 7396)."""

from collections.abc import Callable
from typing import Any

import msgspec

from bridge.store.database import Database
from bridge.versions.reader import Version

Metadata = dict[str, Any]

#: Keys in the metadata of a version: by process, the hash of the checks that it passed and the checks that it failed.
PASSED_CHECKS = "checks"
FAILED_CHECKS = "failed_checks"

_DATASET_METADATA = """
SELECT m.metadata_json FROM ol_dataset d
JOIN dataset_metadata m ON m.org_id = d.org_id AND m.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id = ?2 ORDER BY m.set_at DESC, m.dataset_id LIMIT 1
"""
_SAVE_DATASET_METADATA = """
INSERT INTO dataset_metadata (org_id, dataset_id, metadata_json, set_by, set_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (dataset_id, org_id) DO UPDATE SET metadata_json = excluded.metadata_json, set_by = excluded.set_by,
  set_at = excluded.set_at
"""
_SAVE_VERSION_METADATA = """
UPDATE dataset_version SET metadata_json = ?4, checksum = ?5
WHERE org_id = ?1 AND dataset_id = ?2 AND version_id = ?3
"""


class MetadataStore:
    """Custom metadata. Changes are merge patches, in which a null removes a key (RFC 7396)."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org = org
        self._clock = clock

    def get(self, group_id: bytes) -> Metadata:
        """Return the metadata of the dataset with this group id."""
        rows = self._db.fetch_all(_DATASET_METADATA, self._org, group_id)
        return decode_metadata(next((metadata_json for (metadata_json,) in rows), None))

    def patch_dataset(self, group_id: bytes, patch: Metadata, actor: str) -> Metadata:
        """Patch the metadata of a dataset, and return the patched metadata."""
        patched_metadata = merge_patch(self.get(group_id), patch)
        self._db.execute(
            _SAVE_DATASET_METADATA, self._org, group_id, encode_metadata(patched_metadata), actor, self._clock()
        )
        return patched_metadata

    def patch_version(self, version: Version, patch: Metadata, checksum: str | None = None) -> Metadata:
        """Patch the metadata of a version, set its checksum if given, and return the patched metadata."""
        patched_metadata = merge_patch(decode_metadata(version.metadata), patch)
        new_checksum = version.checksum if checksum is None else checksum
        self._db.execute(
            _SAVE_VERSION_METADATA,
            self._org,
            version.dataset_id,
            version.id,
            encode_metadata(patched_metadata),
            new_checksum,
        )
        return patched_metadata


def merge_patch(value: Any, patch: Metadata) -> Metadata:
    """Apply a merge patch to a value."""
    patched = dict(value) if isinstance(value, dict) else {}
    for key, patch_value in patch.items():
        if patch_value is None:
            patched.pop(key, None)
        elif isinstance(patch_value, dict):
            patched[key] = merge_patch(patched.get(key), patch_value)
        else:
            patched[key] = patch_value
    return patched


def decode_metadata(text: str | None) -> Metadata:
    return msgspec.json.decode(text, type=Metadata) if text else {}


def encode_metadata(metadata: Metadata) -> str:
    return msgspec.json.encode(metadata, order="sorted").decode()
