"""Updates stale search documents in batches."""

import time

from bridge.store.database import Database, Insert
from bridge.store.search.documents import SearchDocument, build_documents

_WAITING = "SELECT 1 FROM search_stale WHERE org_id = ?1 LIMIT 1"
_TAKE = """
DELETE FROM search_stale
WHERE seq IN (SELECT seq FROM search_stale WHERE org_id = ?1 ORDER BY seq LIMIT ?2) RETURNING id
"""
_KNOWN = "SELECT id, hit_json, words, sort_key FROM search_entry WHERE org_id = ?1 AND id {ids}"
_REMOVE = "DELETE FROM search_entry WHERE org_id = ?1 AND id = ?2"
_REPLACE = Insert(
    "search_entry",
    {"org_id": str, "kind": str, "id": bytes, "sort_key": bytes, "hit_json": str, "words": str},
    "ON CONFLICT (id, org_id) DO UPDATE SET sort_key = excluded.sort_key, hit_json = excluded.hit_json,"
    " words = excluded.words",
)
_FORGET = "DELETE FROM search_entry WHERE org_id = ?1"
_FORGET_WAITING = "DELETE FROM search_stale WHERE org_id = ?1"
_QUEUE_ALL = """
INSERT INTO search_stale (org_id, id)
SELECT org_id, dataset_id FROM ol_dataset WHERE org_id = ?1
UNION ALL SELECT org_id, job_id FROM ol_job WHERE org_id = ?1
"""

#: How many changes are taken at once: so few that whoever writes events hardly waits for a batch.
BATCH = 100
#: How long an embedded store is left to others between batches: longer than a writer waits until it asks again.
_YIELD_SECONDS = 0.01
#: After how many batches a server counts anew what is there: a planner that knows nothing reads entries out of order.
_ANALYZED_AT = frozenset({4, 32, 256, 2048})


class SearchIndexer:
    """Takes what is queued and computes its entries anew. Not for several threads at once."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org
        self._batches = 0

    def index_batch(self, limit: int = BATCH) -> int:
        """Index what was queued first, in one transaction; gives how many changes that were, 0 when none is left.

        What is queued is taken before the store is read, so a change that comes in between is queued again. Of
        several indexers one works at a time: none can write an entry that is older than what another one wrote.
        """
        if not self._db.fetch_all(_WAITING, self._org):
            return 0
        with self._db.transaction():
            self._db.lock(f"search of {self._org}")
            taken = self._db.fetch_all(_TAKE, self._org, limit)
            self._replace({id_ for (id_,) in taken})
        self._batches += 1
        if self._batches in _ANALYZED_AT and not self._db.embedded:
            self._db.execute("ANALYZE search_entry")
        return len(taken)

    def index_all(self) -> None:
        """Index all that is queued, and let others write in between."""
        while self.index_batch(BATCH * 5):
            if self._db.embedded:
                time.sleep(_YIELD_SECONDS)

    def rebuild(self) -> None:
        """Forget the index, and queue everything there is."""
        with self._db.transaction():
            self._db.lock(f"search of {self._org}")
            for statement in (_FORGET, _FORGET_WAITING, _QUEUE_ALL):
                self._db.execute(statement, self._org)

    def _replace(self, stale: set[bytes]) -> None:
        made = {document.id: document for document in build_documents(self._db, self._org, stale)}
        known = {
            id_: tuple(held) for id_, *held in self._db.fetch_for_ids(_KNOWN, sorted(stale | made.keys()), self._org)
        }
        gone = sorted(known.keys() - made.keys())
        self._db.execute_many(_REMOVE, [(self._org, id_) for id_ in gone])
        changed = [made[id_] for id_ in sorted(made) if known.get(id_) != _held(made[id_])]
        self._db.insert(_REPLACE, [(self._org, *document) for document in changed])

    def close(self) -> None:
        """Close the connection."""
        self._db.close()


def _held(document: SearchDocument) -> tuple[str, str, bytes]:
    return document.hit_json, document.words, document.sort_key
