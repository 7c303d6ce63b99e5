"""A job: what is known of it, its last runs, and what those read and wrote."""

from typing import Any

import msgspec

from bridge.catalogue.facets import facets_of
from bridge.catalogue.history import RunRecord, tell_run
from bridge.catalogue.question import View
from bridge.catalogue.things import AboutProcess, Thing, thing, write_id
from bridge.store.graph import Named
from bridge.store.owners import owners_of
from bridge.store.runs import newest_runs
from bridge.store.said import promises_of
from mappers.canonical.identity import NOBODY

_PROCESS = """
SELECT p.process_key, p.technology, j.job_type, j.processing_type, p.description, p.created_at, p.updated_at
FROM process p JOIN ol_job j ON j.org_id = p.org_id AND j.job_id = p.process_id
WHERE p.org_id = ?1 AND p.process_id = ?2
"""
_PARENTS = """
SELECT DISTINCT e.source_id FROM lineage_edge e
WHERE e.org_id = ?1 AND e.target_id = ?2 AND e.edge_role = 'PARENT'
"""
#: A run, its children and theirs: an application with its actions, and what started it.
_BENEATH = """
SELECT r.run_id FROM ol_run r WHERE r.org_id = ?1 AND r.run_id {among}
UNION SELECT c.run_id FROM ol_run c WHERE c.org_id = ?1 AND c.parent_run_id {among}
UNION SELECT g.run_id FROM ol_run c JOIN ol_run g ON g.org_id = c.org_id AND g.parent_run_id = c.run_id
WHERE c.org_id = ?1 AND c.parent_run_id {among}
"""
_TOUCHED = """
SELECT DISTINCT d.class_id FROM {table} t JOIN ol_dataset d ON d.org_id = t.org_id AND d.dataset_id = t.dataset_id
WHERE t.org_id = ?1 AND t.run_id {{among}}
"""
_SHOWN_RUNS = 10


class ProcessAnswer(Thing, frozen=True):
    """What is known of a job, its newest runs, and what these read and wrote."""

    process_key: str
    technology: str
    job_type: str | None
    processing_type: str | None
    description: str | None
    owners: list[str]
    created_at: str
    updated_at: str
    parents: list[Thing]
    inputs: list[Thing]
    outputs: list[Thing]
    sla: dict[str, Any] | None
    facets: dict[str, msgspec.Raw]
    runs: list[RunRecord]


class Process(AboutProcess[ProcessAnswer], frozen=True, kw_only=True):
    """What is known of a job, its newest runs, and what these read and wrote."""

    answer = ProcessAnswer

    def answered(self, view: View) -> ProcessAnswer:
        """Look it up."""
        job = self.job(view)
        db, org, graph = view.db, view.org, view.graph()
        ((key, technology, kind, processing, description, created, updated),) = db.rows(_PROCESS, org, job)
        named = graph.job(job)
        runs = newest_runs(db, org, _SHOWN_RUNS, job=job)
        beneath = [run for (run,) in db.among(_BENEATH, [run.run_id for run in runs], org)]
        return ProcessAnswer(
            id=write_id(job),
            namespace=named.namespace,
            name=named.name,
            process_key=key,
            technology=technology,
            job_type=kind,
            processing_type=processing,
            description=description,
            owners=owners_of(db, org, [job]).get(job, []),
            created_at=created,
            updated_at=updated,
            parents=_sorted(graph.jobs([parent for (parent,) in db.rows(_PARENTS, org, job)]), job),
            inputs=_touched(view, "ol_run_input", beneath),
            outputs=_touched(view, "ol_run_output", beneath),
            sla=promises_of(db, org, [job]).get(job),
            facets=facets_of(view, job),
            runs=[tell_run(view, run) for run in runs],
        )


def _sorted(names: dict[bytes, Named], without: bytes = NOBODY) -> list[Thing]:
    return [thing(one, named) for one, named in sorted(names.items(), key=lambda item: item[1]) if one != without]


def _touched(view: View, table: str, runs: list[bytes]) -> list[Thing]:
    found = view.db.among(_TOUCHED.format(table=table), runs, view.org)
    return _sorted(view.graph().datasets(dataset for (dataset,) in found))
