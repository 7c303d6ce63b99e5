"""Updates stale search documents in batches."""

import time

from bridge.store.database import Database, Insert
from bridge.store.search.documents import SearchDocument, build_documents

_HAS_STALE = "SELECT 1 FROM search_stale WHERE org_id = ?1 LIMIT 1"
_DEQUEUE = """
DELETE FROM search_stale
WHERE seq IN (SELECT seq FROM search_stale WHERE org_id = ?1 ORDER BY seq LIMIT ?2) RETURNING id
"""
_INDEXED = "SELECT id, hit_json, words, sort_key FROM search_entry WHERE org_id = ?1 AND id {ids}"
_REMOVE = "DELETE FROM search_entry WHERE org_id = ?1 AND id = ?2"
_REPLACE = Insert(
    "search_entry",
    {"org_id": str, "kind": str, "id": bytes, "sort_key": bytes, "hit_json": str, "words": str},
    "ON CONFLICT (id, org_id) DO UPDATE SET sort_key = excluded.sort_key, hit_json = excluded.hit_json,"
    " words = excluded.words",
)
_DELETE_ENTRIES = "DELETE FROM search_entry WHERE org_id = ?1"
_DELETE_QUEUE = "DELETE FROM search_stale WHERE org_id = ?1"
_QUEUE_ALL = """
INSERT INTO search_stale (org_id, id)
SELECT org_id, dataset_id FROM ol_dataset WHERE org_id = ?1
UNION ALL SELECT org_id, job_id FROM ol_job WHERE org_id = ?1
"""

#: Number of changes per batch: few enough that writers of events hardly wait for it.
BATCH = 100
#: Pause between batches on an embedded store: longer than the interval at which a waiting writer retries.
_YIELD_SECONDS = 0.01
#: Numbers of batches after which to run ANALYZE on a server: without statistics it reads entries out of order.
_ANALYZE_AFTER = frozenset({4, 32, 256, 2048})


class SearchIndexer:
    """Updates the documents of queued datasets and jobs. Not thread-safe."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org
        self._batch_count = 0

    def index_batch(self, limit: int = BATCH) -> int:
        """Index the oldest changes in one transaction, and return their number.

        Changes are dequeued before the store is read, so a change that arrives in between is queued again. Only one
        indexer works at a time, so no entry can be overwritten with an older one.
        """
        if not self._db.fetch_all(_HAS_STALE, self._org):
            return 0
        with self._db.transaction():
            self._db.lock(f"search of {self._org}")
            dequeued_rows = self._db.fetch_all(_DEQUEUE, self._org, limit)
            self._update_entries({id_ for (id_,) in dequeued_rows})
        self._batch_count += 1
        if self._batch_count in _ANALYZE_AFTER and not self._db.embedded:
            self._db.execute("ANALYZE search_entry")
        return len(dequeued_rows)

    def index_all(self) -> None:
        """Index all queued changes, leaving time for other writers in between."""
        while self.index_batch(BATCH * 5):
            if self._db.embedded:
                time.sleep(_YIELD_SECONDS)

    def rebuild(self) -> None:
        """Empty the index and queue everything."""
        with self._db.transaction():
            self._db.lock(f"search of {self._org}")
            for statement in (_DELETE_ENTRIES, _DELETE_QUEUE, _QUEUE_ALL):
                self._db.execute(statement, self._org)

    def _update_entries(self, stale_ids: set[bytes]) -> None:
        """Replace the entries that have changed, and delete those that no longer have a document."""
        documents = {document.id: document for document in build_documents(self._db, self._org, stale_ids)}
        rows = self._db.fetch_for_ids(_INDEXED, sorted(stale_ids | documents.keys()), self._org)
        indexed_fields = {id_: tuple(fields) for id_, *fields in rows}
        obsolete_ids = sorted(indexed_fields.keys() - documents.keys())
        self._db.execute_many(_REMOVE, [(self._org, id_) for id_ in obsolete_ids])
        changed_documents = [
            document
            for id_, document in sorted(documents.items())
            if indexed_fields.get(id_) != _entry_fields(document)
        ]
        self._db.insert(_REPLACE, [(self._org, *document) for document in changed_documents])

    def close(self) -> None:
        self._db.close()


def _entry_fields(document: SearchDocument) -> tuple[str, str, bytes]:
    return document.hit_json, document.words, document.sort_key
