"""Custom JSON metadata of datasets and versions, changed by merge patch (RFC 7396)."""

from collections.abc import Callable
from typing import Any

import msgspec

from bridge.store.database import Database
from bridge.versions.reader import Version

Metadata = dict[str, Any]

_OF_DATASET = """
SELECT m.metadata_json FROM ol_dataset d
JOIN dataset_metadata m ON m.org_id = d.org_id AND m.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id = ?2 ORDER BY m.set_at DESC, m.dataset_id LIMIT 1
"""
_PUT = """
INSERT INTO dataset_metadata (org_id, dataset_id, metadata_json, set_by, set_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (dataset_id, org_id) DO UPDATE SET metadata_json = excluded.metadata_json, set_by = excluded.set_by,
  set_at = excluded.set_at
"""
_DESCRIBE = """
UPDATE dataset_version SET metadata_json = ?4, checksum = ?5
WHERE org_id = ?1 AND dataset_id = ?2 AND version_id = ?3
"""


class MetadataStore:
    """Keeps custom metadata; what is given is patched into what is there, and a null takes a key away (RFC 7396)."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self._org = org
        self._clock = clock

    def get(self, dataset: bytes) -> Metadata:
        """Give what is remembered of a dataset, given by its class."""
        rows = self._db.fetch_all(_OF_DATASET, self._org, dataset)
        return decode_metadata(rows[0][0]) if rows else {}

    def patch_dataset(self, dataset: bytes, patch: Metadata, by: str) -> Metadata:
        """Remember more of a dataset; gives all that is remembered then."""
        whole = merge_patch(self.get(dataset), patch)
        self._db.execute(_PUT, self._org, dataset, encode_metadata(whole), by, self._clock())
        return whole

    def patch_version(self, version: Version, patch: Metadata, checksum: str | None = None) -> Metadata:
        """Remember more of a version, and how to check what was written; gives all that is remembered then."""
        whole = merge_patch(decode_metadata(version.metadata), patch)
        kept = version.checksum if checksum is None else checksum
        self._db.execute(_DESCRIBE, self._org, version.dataset, version.id, encode_metadata(whole), kept)
        return whole


def merge_patch(value: Any, patch: Metadata) -> Metadata:
    """Give an object with what a merge patch says of it."""
    found = dict(value) if isinstance(value, dict) else {}
    for key, one in patch.items():
        if one is None:
            found.pop(key, None)
        else:
            found[key] = merge_patch(found.get(key), one) if isinstance(one, dict) else one
    return found


def decode_metadata(text: str | None) -> Metadata:
    """Read metadata as the store keeps it."""
    return msgspec.json.decode(text, type=Metadata) if text else {}


def encode_metadata(metadata: Metadata) -> str:
    """Write metadata as the store keeps it."""
    return msgspec.json.encode(metadata, order="sorted").decode()
