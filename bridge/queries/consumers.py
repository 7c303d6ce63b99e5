"""Query: jobs that read a dataset."""

from typing import Literal, NamedTuple

from bridge.queries.query import Cursor, Limit, Page, QueryContext, paginate, parse_cursor
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
    """A job that reads a dataset or declares it as an input.

    `first_seen` and `last_seen` are the times of the first and the last event that reports the job as a reader.
    """

    owners: list[str]
    evidence: Literal["observed", "declared"]
    first_seen: str
    last_seen: str


class _Reader(NamedTuple):
    """What is known about a logical job that reads the dataset."""

    declared_only: bool
    first_seen: int
    last_seen: int


class ConsumersQuery(DatasetSubjectQuery[Page[Consumer]], frozen=True, kw_only=True):
    """Jobs that read a dataset, sorted by name."""

    path = "/consumers"
    result_type = Page[Consumer]
    limit: Limit = 50
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[Consumer]:
        readers = self._find_readers(ctx)
        names = ctx.graph().job_names(readers)
        after = parse_cursor(self.after, tuple[str, str]) or ("", "")
        remaining_jobs = sorted((job for job in readers if names[job] > after), key=lambda job: (names[job], job))
        page, next_cursor = paginate(remaining_jobs, self.limit, lambda job: names[job])
        owners = read_owners(ctx.db, ctx.org, page)
        consumers = [
            Consumer(
                format_id(job),
                *names[job],
                owners=owners.get(job, []),
                evidence="declared" if readers[job].declared_only else "observed",
                first_seen=format_timestamp(readers[job].first_seen),
                last_seen=format_timestamp(readers[job].last_seen),
            )
            for job in page
        ]
        return Page(consumers, next_cursor)

    def _find_readers(self, ctx: QueryContext) -> dict[bytes, _Reader]:
        """Find the logical jobs that read the dataset, which count as observed if any run reports it."""
        rows = ctx.db.fetch_all(_READERS, ctx.org, self.group_id(ctx))
        logical_jobs_by_job = logical_jobs(ctx.db, ctx.org, ctx.rule, {job for job, *_ in rows})
        readers: dict[bytes, _Reader] = {}
        for reporting_job, evidence, first_seen, last_seen in rows:
            for job in logical_jobs_by_job[reporting_job]:
                reader = readers.get(job, _Reader(declared_only=True, first_seen=first_seen, last_seen=last_seen))
                readers[job] = _Reader(
                    reader.declared_only and evidence == "declared",
                    min(reader.first_seen, first_seen),
                    max(reader.last_seen, last_seen),
                )
        return readers
