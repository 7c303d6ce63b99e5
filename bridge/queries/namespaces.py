"""Query: namespaces."""

import msgspec

from bridge.queries.query import Cursor, Limit, Page, Query, QueryContext, paginate, parse_cursor
from mappers.timestamps import format_timestamp

_NAMESPACES = """
SELECT n.namespace_uri, n.created_at, coalesce(d.datasets, 0), coalesce(j.jobs, 0) FROM ol_namespace n
LEFT JOIN (
  SELECT namespace_id, count(*) AS datasets FROM ol_dataset WHERE org_id = ?1 GROUP BY namespace_id
) d ON d.namespace_id = n.namespace_id
LEFT JOIN (
  SELECT namespace_id, count(*) AS jobs FROM ol_job WHERE org_id = ?1 GROUP BY namespace_id
) j ON j.namespace_id = n.namespace_id
WHERE n.org_id = ?1 AND n.namespace_uri > ?2 ORDER BY n.namespace_uri LIMIT ?3
"""


class NamespaceRecord(msgspec.Struct, frozen=True):
    """A namespace, the time it was first seen, and how many dataset and job names it contains."""

    namespace: str
    since: str
    datasets: int
    jobs: int


class NamespacesQuery(Query[Page[NamespaceRecord]], frozen=True, kw_only=True):
    """The namespaces of the store, sorted by name."""

    path = "/namespaces"
    result_type = Page[NamespaceRecord]
    limit: Limit = 50
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[NamespaceRecord]:
        (after,) = parse_cursor(self.after, tuple[str]) or ("",)
        rows = ctx.db.fetch_all(_NAMESPACES, ctx.org, after, self.limit + 1)
        records = [
            NamespaceRecord(namespace, format_timestamp(created_at), datasets, jobs)
            for namespace, created_at, datasets, jobs in rows
        ]
        page, next_cursor = paginate(records, self.limit, lambda record: (record.namespace,))
        return Page(page, next_cursor)
