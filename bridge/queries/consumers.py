"""Query: jobs that read a dataset."""

from typing import Literal

from bridge.queries.query import Cursor, Limit, Page, QueryContext, paginate, read_cursor
from bridge.queries.subject import DatasetSubjectQuery
from bridge.store.governance_facets import read_owners
from bridge.store.job_families import logical_jobs
from bridge.store.lineage.evidence import IS_CURRENT_SQL
from bridge.store.references import NodeReference, format_id
from mappers.timestamps import format_timestamp

_READERS = f"""
SELECT e.target_id, e.evidence, min(e.first_seen), max(e.last_seen) FROM ol_dataset m
JOIN lineage_edge e ON e.org_id = m.org_id AND e.source_id = m.dataset_id AND e.edge_role = 'CONSUMES'
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
WHERE m.org_id = ?1 AND m.class_id = ?2 AND {IS_CURRENT_SQL}
GROUP BY e.target_id, e.evidence
"""


class Consumer(NodeReference, frozen=True):
    """A job that reads a dataset, or only declares to; when events first and last said so."""

    owners: list[str]
    evidence: Literal["observed", "declared"]
    first_seen: str
    last_seen: str


class ConsumersQuery(DatasetSubjectQuery[Page[Consumer]], frozen=True, kw_only=True):
    """The jobs that read a dataset, by name."""

    path = "/consumers"
    result_type = Page[Consumer]
    limit: Limit = 50
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[Consumer]:
        """Read a page."""
        readers = self._readers(view)
        names = view.graph().job_names(readers)
        behind = read_cursor(self.after, tuple[str, str]) or ("", "")
        order = sorted((*names[job], job) for job in readers if names[job] > behind)
        shown, following = paginate(order, self.limit, lambda named: named[:2])
        owners = read_owners(view.db, view.org, [job for *_, job in shown])
        return Page(
            [
                Consumer(
                    format_id(job), namespace, name, owners.get(job, []),
                    "declared" if readers[job][0] else "observed",
                    format_timestamp(readers[job][1]), format_timestamp(readers[job][2]),
                )
                for namespace, name, job in shown
            ],
            following,
        )  # fmt: skip

    def _readers(self, view: QueryContext) -> dict[bytes, tuple[bool, int, int]]:
        """Find the jobs that people know: what one run did counts for more than what is declared."""
        rows = view.db.fetch_all(_READERS, view.org, self.group_id(view))
        folds = logical_jobs(view.db, view.org, view.rule, {job for job, *_ in rows})
        readers: dict[bytes, tuple[bool, int, int]] = {}
        for leaf, evidence, first, last in rows:
            for job in folds[leaf]:
                declared, begun, ended = readers.get(job, (True, first, last))
                readers[job] = declared and evidence == "declared", min(begun, first), max(ended, last)
        return readers
