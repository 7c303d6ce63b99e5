"""Publication history of datasets; the last entry is the published version."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from bridge.store.database import Database
from bridge.store.identity_groups import group_ids
from bridge.store.lineage.evidence import NO_TIME_LIMIT

PublicationKind = Literal["publish", "rollback"]

_COLUMNS = (
    "p.number, p.began, p.dataset_id, p.version_id, p.version_tag, p.follows, p.how, p.moved_by, p.moved_at, p.reason"
)
_ENTRIES = f"""
SELECT {_COLUMNS} FROM ol_dataset d
JOIN publication p ON p.org_id = d.org_id AND p.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id = ?2 AND p.moved_at <= ?3 AND p.number < ?4
ORDER BY p.number DESC
"""
_PAGE = f"{_ENTRIES} LIMIT ?5"
_ENTRIES_OF_PUBLICATION = (
    f"SELECT {_COLUMNS} FROM publication p WHERE p.org_id = ?1 AND p.began = ?2 ORDER BY p.number"
)
_VERSION_TAG = "SELECT p.version_tag FROM publication p WHERE p.org_id = ?1 AND p.number = ?2"
_WAS_PUBLISHED = f"SELECT 1 FROM ({_ENTRIES}) m WHERE m.version_id = ?5 LIMIT 1"
_PUBLISHED_DATASETS = """
SELECT DISTINCT d.class_id FROM publication p
JOIN ol_dataset d ON d.org_id = p.org_id AND d.dataset_id = p.dataset_id WHERE p.org_id = ?1
"""


class PublicationEntry(NamedTuple):
    """A change to the published version of one dataset. Entries published together have the same `publication`."""

    number: int
    publication: int
    #: The member of the group under which the version was written.
    dataset_id: bytes
    version_id: bytes
    tag: str
    #: Number of the previous entry; None if nothing was published before.
    previous_number: int | None
    kind: PublicationKind
    published_by: str
    published_at: int
    reason: str | None


class PublicationHistory:
    """Reads the publication history of datasets, which are identified by their group ids."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org

    def current(self, group_id: bytes, until: int = NO_TIME_LIMIT) -> PublicationEntry | None:
        """Return the last entry of a dataset up to a time (default: now), or None if nothing was published."""
        entries = self.list_newest(group_id, 1, until=until)
        return entries[0] if entries else None

    def list_newest(
        self, group_id: bytes, limit: int, *, before: int = NO_TIME_LIMIT, until: int = NO_TIME_LIMIT
    ) -> list[PublicationEntry]:
        """List the newest entries with a number below `before` and a time up to `until`."""
        return [_entry_from_row(row) for row in self._db.fetch_all(_PAGE, self._org, group_id, until, before, limit)]

    def list_entries(self, publication: int) -> list[PublicationEntry]:
        return [_entry_from_row(row) for row in self._db.fetch_all(_ENTRIES_OF_PUBLICATION, self._org, publication)]

    def get_version_tag(self, number: int) -> str:
        """Return the tag of the version that an entry published."""
        ((version_tag,),) = self._db.fetch_all(_VERSION_TAG, self._org, number)
        return str(version_tag)

    def was_published(self, group_id: bytes, version_id: bytes) -> bool:
        return bool(self._db.fetch_all(_WAS_PUBLISHED, self._org, group_id, NO_TIME_LIMIT, NO_TIME_LIMIT, version_id))

    def group_ids(self, entries: Sequence[PublicationEntry]) -> dict[bytes, bytes]:
        """Map the datasets of entries to their groups."""
        return group_ids(self._db, self._org, {entry.dataset_id for entry in entries})

    def list_layers(self, group_id: bytes, until: int = NO_TIME_LIMIT) -> list[PublicationEntry]:
        """List the entries that are published now, or were at a given time, as layers from bottom to top.

        Readers see the top layer; if it contains only some partitions, the rest is read from the layers below. A
        rollback removes the layers above the version that it returns to.
        """
        rows = self._db.fetch_all(_ENTRIES, self._org, group_id, until, NO_TIME_LIMIT)
        return fold_layers(follow_chain([_entry_from_row(row) for row in rows]))

    def list_published_datasets(self) -> list[bytes]:
        """List the groups that ever had a published version."""
        return sorted(bytes(group_id) for (group_id,) in self._db.fetch_all(_PUBLISHED_DATASETS, self._org))


def follow_chain(entries: Sequence[PublicationEntry]) -> list[PublicationEntry]:
    """Walk the chain back from the newest entry (the first in `entries`), and return it oldest first.

    Datasets that were grouped later have separate histories; only the history of the newest entry counts.
    """
    entries_by_number = {entry.number: entry for entry in entries}
    chain: list[PublicationEntry] = []
    entry = entries[0] if entries else None
    while entry is not None:
        chain.append(entry)
        entry = entries_by_number.get(entry.previous_number) if entry.previous_number is not None else None
    return chain[::-1]


def fold_layers(entries: Sequence[PublicationEntry]) -> list[PublicationEntry]:
    """Reduce a history, given oldest entry first, to the layers that remain at its end."""
    stack: list[PublicationEntry] = []
    for entry in entries:
        if entry.kind == "rollback" and any(layer.version_id == entry.version_id for layer in stack):
            while stack[-1].version_id != entry.version_id:
                stack.pop()
        else:
            stack.append(entry)
    return stack


def _entry_from_row(row: tuple[Any, ...]) -> PublicationEntry:
    number, publication, dataset_id, version_id, *remaining_columns = row
    return PublicationEntry(number, publication, bytes(dataset_id), bytes(version_id), *remaining_columns)
