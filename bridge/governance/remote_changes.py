"""Imports changes made in OpenMetadata into the store, or reports them with a patch."""

import re
from pathlib import Path
from typing import Literal, NamedTuple

import structlog

from bridge.governance.applier import AssetApplier
from bridge.governance.matcher import QualifiedName
from bridge.governance.pull import FileEdit, plan_file_edit
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.governance_plan import GovernanceRecord, describe_remote_changes
from bridge.sync.sync_item import SyncItem
from mappers.governance.facet import FILE, asset_content, build_facet, facet_fields
from mappers.governance.merge import changed_fields
from mappers.openmetadata.governance import TagVocabulary
from mappers.openmetadata.remote_changes import import_remote_changes

_log = structlog.get_logger()
_UNSAFE_CHARACTERS = re.compile(r"[^\w.-]+")

#: Overlap of successive reads, because other daemons may complete items late or have a slow clock.
_OVERLAP_MICROS = 60_000_000

RemoteChangeMode = Literal["apply", "report"]


class ImportedChange(NamedTuple):
    """A change in OpenMetadata, and the edit that would make the same change in the asset file."""

    name: QualifiedName
    messages: list[str]
    file_edit: FileEdit | None


class RemoteChangeImporter:
    """Imports or reports changes since the last call. Not thread-safe."""

    def __init__(
        self,
        applier: AssetApplier,
        items: SyncItemStore,
        vocabulary: TagVocabulary,
        mode: RemoteChangeMode,
        patch_directory: Path | None,
    ) -> None:
        self._applier = applier
        self._items = items
        self._vocabulary = vocabulary
        self._mode = mode
        self._patch_directory = patch_directory
        self._watermark = 0
        #: Completion times of items within the overlap.
        self._recently_seen: dict[bytes, int | None] = {}

    def import_changes(self) -> list[ImportedChange]:
        """Import new remote changes, or report them, depending on the mode."""
        overlap_start = max(0, self._watermark - _OVERLAP_MICROS)
        completed_items = {item.key: item for item in self._items.completed_since("governance", overlap_start)}
        items = [item for item in completed_items.values() if self._recently_seen.get(item.key) != item.completed_at]
        self._watermark = max([self._watermark, *(item.completed_at or 0 for item in items)])
        self._recently_seen = {
            key: item.completed_at
            for key, item in completed_items.items()
            if (item.completed_at or 0) >= self._watermark - _OVERLAP_MICROS
        }
        changed_items = {item.key: item for item in items if item.read_record(GovernanceRecord).remote_fields}
        names = self._applier.dataset_names(changed_items)
        return [self._import_change(names[key], item) for key, item in sorted(changed_items.items()) if key in names]

    def _import_change(self, name: QualifiedName, item: SyncItem) -> ImportedChange:
        """Log the changes of a dataset, write a patch for its asset file and, in mode `apply`, store the changes."""
        record = item.read_record(GovernanceRecord)
        remote_fields = record.remote_fields
        messages = describe_remote_changes(remote_fields)
        facet = self._applier.governance_facets([name]).get(name, {})
        current_fields = facet_fields(facet)
        import_result = import_remote_changes(current_fields, remote_fields, self._vocabulary, record.owners)
        dataset = " ".join(name)
        for message in (*messages, *import_result.problems):
            _log.warning("changed in OpenMetadata", dataset=dataset, change=message, imported=self._mode == "apply")
        own_asset = self._applier.find_own_asset(item.key, item.remote.name if item.remote else "")
        file_edit = (
            plan_file_edit(own_asset, facet, import_result.changes, import_result.problems) if own_asset else None
        )
        for problem in file_edit.problems if file_edit else ():
            if problem not in import_result.problems:
                _log.warning("change cannot be written into an asset file", reason=problem)
        if file_edit and self._patch_directory and file_edit.patch:
            self._write_patch(self._patch_directory, file_edit)
        new_fields = current_fields | import_result.changes
        if self._mode == "apply" and changed_fields(current_fields, new_fields):
            fields = {path: value for path, value in new_fields.items() if value is not None}
            self._applier.write_facet(name, build_facet(fields, facet) | {FILE: asset_content(facet)})
        return ImportedChange(name, messages, file_edit)

    def _write_patch(self, directory: Path, file_edit: FileEdit) -> None:
        """Write the patch of an asset file. A new patch replaces an older one, whose changes it includes."""
        file = directory / f"{_UNSAFE_CHARACTERS.sub('_', file_edit.source).strip('_')}.patch"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            file.write_bytes(file_edit.patch.encode())
        except OSError as error:
            _log.warning("patch of an asset file cannot be written", file=str(file), reason=str(error))
            return
        _log.info("patch of an asset file written", file=str(file))
