"""Who reads a dataset."""

from typing import Literal

from bridge.catalogue.question import After, Limit, Page, View, after, page
from bridge.catalogue.things import AboutDataset, Thing, write_id
from bridge.store.edges import STANDS
from bridge.store.folds import fold_jobs
from bridge.store.owners import owners_of
from mappers.when import iso

_READERS = f"""
SELECT e.target_id, e.evidence, min(e.first_seen), max(e.last_seen) FROM ol_dataset m
JOIN lineage_edge e ON e.org_id = m.org_id AND e.source_id = m.dataset_id AND e.edge_role = 'CONSUMES'
JOIN ol_job j ON j.org_id = e.org_id AND j.job_id = e.job_id
WHERE m.org_id = ?1 AND m.class_id = ?2 AND {STANDS}
GROUP BY e.target_id, e.evidence
"""


class Consumer(Thing, frozen=True):
    """A job that reads a dataset, or only declares to; when events first and last said so."""

    owners: list[str]
    evidence: Literal["observed", "declared"]
    first_seen: str
    last_seen: str


class Consumers(AboutDataset[Page[Consumer]], frozen=True, kw_only=True):
    """The jobs that read a dataset, by name."""

    path = "/consumers"
    answer = Page[Consumer]
    limit: Limit = 50
    after: After = None

    def answered(self, view: View) -> Page[Consumer]:
        """Read a page."""
        readers = self._readers(view)
        names = view.graph().jobs(readers)
        behind = after(self.after, tuple[str, str]) or ("", "")
        order = sorted((*names[job], job) for job in readers if names[job] > behind)
        shown, following = page(order, self.limit, lambda named: named[:2])
        owners = owners_of(view.db, view.org, [job for *_, job in shown])
        return Page(
            [
                Consumer(
                    write_id(job), namespace, name, owners.get(job, []),
                    "declared" if readers[job][0] else "observed", iso(readers[job][1]), iso(readers[job][2]),
                )
                for namespace, name, job in shown
            ],
            following,
        )  # fmt: skip

    def _readers(self, view: View) -> dict[bytes, tuple[bool, int, int]]:
        """Find the jobs that people know: what one run did counts for more than what is declared."""
        rows = view.db.rows(_READERS, view.org, self.dataset(view))
        folds = fold_jobs(view.db, view.org, view.rule, {job for job, *_ in rows})
        readers: dict[bytes, tuple[bool, int, int]] = {}
        for leaf, evidence, first, last in rows:
            for job in folds[leaf]:
                declared, begun, ended = readers.get(job, (True, first, last))
                readers[job] = declared and evidence == "declared", min(begun, first), max(ended, last)
        return readers
