"""Imports changes made in OpenMetadata into the store, or reports them with a patch."""

import re
from pathlib import Path
from typing import Literal, NamedTuple

import structlog

from bridge.governance.applier import AssetApplier
from bridge.governance.matcher import QualifiedName
from bridge.governance.pull import FileEdit, edit_file
from bridge.sync.item_store import SyncItemStore
from bridge.sync.openmetadata.governance import OWNERS
from bridge.sync.openmetadata.governance_plan import describe_remote_changes
from bridge.sync.sync_item import SyncItem
from mappers.governance.facet import FILE, asset_content, build_facet, facet_fields
from mappers.governance.merge import changed_fields
from mappers.governance.merge_base import RemoteChanges
from mappers.openmetadata.governance import TagVocabulary
from mappers.openmetadata.remote_changes import import_remote_changes

_log = structlog.get_logger()
_NO_NAME = re.compile(r"[^\w.-]+")

#: Another daemon may settle things a little later, or by a clock that goes behind ours.
_OVERLAP = 60_000_000

RemoteChangeMode = Literal["apply", "report"]


class ImportedChange(NamedTuple):
    """What was changed of a dataset over there, and the file as it would read then."""

    name: QualifiedName
    said: list[str]
    pulled: FileEdit | None


class RemoteChangeImporter:
    """Looks for what others changed since it looked last. Not for several threads at once."""

    def __init__(
        self,
        stewardship: AssetApplier,
        items: SyncItemStore,
        words: TagVocabulary,
        mode: RemoteChangeMode,
        patches: Path | None,
    ) -> None:
        self._stewardship = stewardship
        self._items = items
        self._words = words
        self._mode = mode
        self._patches = patches
        self._watermark = 0
        #: What was settled within the overlap, and when.
        self._recently_seen: dict[bytes, int | None] = {}

    def import_changes(self) -> list[ImportedChange]:
        """Take over what was changed, or say it."""
        since = max(0, self._watermark - _OVERLAP)
        found = {item.key: item for item in self._items.completed_since("governance", since)}
        items = [item for item in found.values() if self._recently_seen.get(item.key) != item.completed_at]
        self._watermark = max([self._watermark, *(item.completed_at or 0 for item in items)])
        self._recently_seen = {
            key: item.completed_at
            for key, item in found.items()
            if (item.completed_at or 0) >= self._watermark - _OVERLAP
        }
        changed = {item.key: item for item in items if RemoteChanges.read(item.record).fields}
        names = self._stewardship.dataset_names(changed)
        return [self._import_change(names[key], item) for key, item in sorted(changed.items()) if key in names]

    def _import_change(self, name: QualifiedName, item: SyncItem) -> ImportedChange:
        theirs = RemoteChanges.read(item.record).fields
        said = describe_remote_changes(theirs)
        facet = self._stewardship.governance_facets([name]).get(name, {})
        adopted = import_remote_changes(facet_fields(facet), theirs, self._words, item.record.get(OWNERS, {}))
        of = " ".join(name)
        for one in (*said, *adopted.problems):
            _log.warning("changed in OpenMetadata", dataset=of, what=one, kept=self._mode == "apply")
        own = self._stewardship.find_own_asset(item.key, item.remote.name if item.remote else "")
        pulled = edit_file(own, facet, adopted.changes, adopted.problems) if own else None
        for problem in pulled.problems[len(adopted.problems) :] if pulled else ():
            _log.warning("an asset file cannot say what was changed", reason=problem)
        if pulled and self._patches and pulled.patch:
            self._write(self._patches, pulled)
        if self._mode == "apply" and changed_fields(facet_fields(facet), {**facet_fields(facet), **adopted.changes}):
            fields = {
                path: value for path, value in (facet_fields(facet) | adopted.changes).items() if value is not None
            }
            self._stewardship.write_facet(name, build_facet(fields, facet) | {FILE: asset_content(facet)})
        return ImportedChange(name, said, pulled)

    def _write(self, place: Path, pulled: FileEdit) -> None:
        """Write the patch of a file; the newest one counts, for it holds all that is to be taken over."""
        file = place / f"{_NO_NAME.sub('_', pulled.source).strip('_')}.patch"
        try:
            place.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pulled.patch.encode())
        except OSError as error:
            _log.warning("a patch of an asset file cannot be written", file=str(file), reason=str(error))
            return
        _log.info("a patch of an asset file", file=str(file))
