"""The namespaces of a store."""

import msgspec

from bridge.catalogue.question import After, Limit, Page, Question, View, after, page
from mappers.when import iso

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
    """A namespace, how many names of datasets and jobs it holds, and since when it is known."""

    namespace: str
    since: str
    datasets: int
    jobs: int


class Namespaces(Question[Page[NamespaceRecord]], frozen=True, kw_only=True):
    """The namespaces of the store, by name."""

    path = "/namespaces"
    answer = Page[NamespaceRecord]
    limit: Limit = 50
    after: After = None

    def answered(self, view: View) -> Page[NamespaceRecord]:
        """Read a page."""
        (behind,) = after(self.after, tuple[str]) or ("",)
        rows = view.db.rows(_NAMESPACES, view.org, behind, self.limit + 1)
        shown, following = page(rows, self.limit, lambda row: row[:1])
        return Page([NamespaceRecord(name, iso(since), *counts) for name, since, *counts in shown], following)
