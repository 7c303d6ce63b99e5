"""Queries: one job, registered processes, and their definitions."""

from typing import Annotated, Any

import msgspec

from bridge.clock import now_micros
from bridge.errors import NotFound
from bridge.queries.facets import read_facets_of
from bridge.queries.query import Cursor, Limit, Page, Query, QueryContext, paginate, read_cursor
from bridge.queries.runs import RunRecord, run_record
from bridge.queries.subject import JobSubjectQuery
from bridge.store.governance_facets import read_owners, read_slas
from bridge.store.lineage.graph import QualifiedName
from bridge.store.references import NodeReference, format_id, node_reference, parse_id
from bridge.store.run_history import recent_runs
from bridge.versions.definitions import MAX_NUMBER, DefinitionKind, DefinitionStore, RegisteredDefinition, process_id
from bridge.versions.results import DefinitionVersion, definition_version
from mappers.canonical.identity import NO_ID
from mappers.timestamps import format_timestamp

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
SELECT r.run_id FROM ol_run r WHERE r.org_id = ?1 AND r.run_id {ids}
UNION SELECT c.run_id FROM ol_run c WHERE c.org_id = ?1 AND c.parent_run_id {ids}
UNION SELECT g.run_id FROM ol_run c JOIN ol_run g ON g.org_id = c.org_id AND g.parent_run_id = c.run_id
WHERE c.org_id = ?1 AND c.parent_run_id {ids}
"""
_TOUCHED = """
SELECT DISTINCT d.class_id FROM {table} t JOIN ol_dataset d ON d.org_id = t.org_id AND d.dataset_id = t.dataset_id
WHERE t.org_id = ?1 AND t.run_id {{ids}}
"""
_SHOWN_RUNS = 10


class JobResult(NodeReference, frozen=True):
    """What is known of a job, its newest runs, and what these read and wrote."""

    process_key: str
    technology: str
    job_type: str | None
    processing_type: str | None
    description: str | None
    owners: list[str]
    created_at: str
    updated_at: str
    parents: list[NodeReference]
    inputs: list[NodeReference]
    outputs: list[NodeReference]
    sla: dict[str, Any] | None
    facets: dict[str, msgspec.Raw]
    runs: list[RunRecord]


class JobQuery(JobSubjectQuery[JobResult], frozen=True, kw_only=True):
    """What is known of a job, its newest runs, and what these read and wrote."""

    result_type = JobResult

    def run(self, view: QueryContext) -> JobResult:
        """Look it up."""
        job = self.job_id(view)
        db, org, graph = view.db, view.org, view.graph()
        ((key, technology, kind, processing, description, created, updated),) = db.fetch_all(_PROCESS, org, job)
        named = graph.job_name(job)
        runs = recent_runs(db, org, _SHOWN_RUNS, job=job)
        beneath = [run for (run,) in db.fetch_for_ids(_BENEATH, [run.run_id for run in runs], org)]
        return JobResult(
            id=format_id(job),
            namespace=named.namespace,
            name=named.name,
            process_key=key,
            technology=technology,
            job_type=kind,
            processing_type=processing,
            description=description,
            owners=read_owners(db, org, [job]).get(job, []),
            created_at=created,
            updated_at=updated,
            parents=_sorted(graph.job_names([parent for (parent,) in db.fetch_all(_PARENTS, org, job)]), job),
            inputs=_touched(view, "ol_run_input", beneath),
            outputs=_touched(view, "ol_run_output", beneath),
            sla=read_slas(db, org, [job]).get(job),
            facets=read_facets_of(view, job),
            runs=[run_record(view, run) for run in runs],
        )


def _sorted(names: dict[bytes, QualifiedName], without: bytes = NO_ID) -> list[NodeReference]:
    return [
        node_reference(one, named) for one, named in sorted(names.items(), key=lambda item: item[1]) if one != without
    ]


def _touched(view: QueryContext, table: str, runs: list[bytes]) -> list[NodeReference]:
    found = view.db.fetch_for_ids(_TOUCHED.format(table=table), runs, view.org)
    return _sorted(view.graph().dataset_names(dataset for (dataset,) in found))


class RegisteredProcess(NodeReference, frozen=True):
    """A process with the definition that is in effect, and how its last run went."""

    version: str
    registered_at: str
    registered_by: str
    #: Who the definition says owns it; where it says nothing, who events say does.
    owners: list[str]
    #: What it may be started by: SCHEDULED, EVENT, MANUAL or HYBRID; null where the definition does not say.
    trigger_mode: str | None
    last_run: RunRecord | None


class RegisteredProcessesQuery(Query[Page[RegisteredProcess]], frozen=True, kw_only=True):
    """The processes that are registered, by their names, and how the last run of each went."""

    path = "/processes"
    result_type = Page[RegisteredProcess]
    limit: Limit = 100
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[RegisteredProcess]:
        """Read a page."""
        behind = read_cursor(self.after, tuple[str, str]) or ("", "")
        definitions = DefinitionStore(view.db, view.org, now_micros).list_active("process", self.limit + 1, behind)
        shown, following = paginate(definitions, self.limit, lambda one: (one.namespace, one.name))
        owners = read_owners(view.db, view.org, [one.process for one in shown])
        return Page([_result(view, one, owners.get(one.process, [])) for one in shown], following)


class _Process(msgspec.Struct, frozen=True):
    owner: str | None = None
    trigger_mode: str | None = None


class _File(msgspec.Struct, frozen=True):
    process: _Process = _Process()


_decoder = msgspec.json.Decoder(_File)


def _result(view: QueryContext, one: RegisteredDefinition, owners: list[str]) -> RegisteredProcess:
    said = _read(one.definition)
    runs = recent_runs(view.db, view.org, 1, job=one.process)
    return RegisteredProcess(
        id=format_id(one.process),
        namespace=one.namespace,
        name=one.name,
        version=one.version,
        registered_at=format_timestamp(one.registered_at),
        registered_by=one.registered_by,
        owners=[said.owner] if said.owner else owners,
        trigger_mode=said.trigger_mode,
        last_run=run_record(view, runs[0]) if runs else None,
    )


def _read(definition: str) -> _Process:
    """Read what a process file says; a definition may be any object."""
    try:
        return _decoder.decode(definition).process
    except msgspec.ValidationError:
        return _Process()


class DefinitionsQuery(JobSubjectQuery[Page[DefinitionVersion]], frozen=True, kw_only=True):
    """What a process or DAG was defined as, newest first, and which definition is in effect."""

    path = "/versions"
    result_type = Page[DefinitionVersion]
    kind: Annotated[DefinitionKind, msgspec.Meta(description="What is named; an id tells it by itself.")] = "process"
    limit: Limit = 50
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[DefinitionVersion]:
        """Read a page."""
        definitions = DefinitionStore(view.db, view.org, now_micros)
        (before,) = read_cursor(self.after, tuple[int]) or (MAX_NUMBER,)
        process = self._process(view)
        found = definitions.list_versions(process, self.limit + 1, before)
        shown, following = paginate(found, self.limit, lambda one: (one.number,))
        return Page([definition_version(one) for one in shown], following)

    def _process(self, view: QueryContext) -> bytes:
        """Find a process by what was registered; one that only ran is known, too, and has no definitions."""
        named = self.id is None and self.namespace is not None and self.name is not None
        if named:
            process = process_id(view.org, self.kind, self.namespace or "", self.name or "")
        elif self.id is not None:
            process = parse_id(self.id)
        else:
            return self.job_id(view)
        if DefinitionStore(view.db, view.org, now_micros).list_versions(process, 1):
            return process
        if self.kind == "dag" and named:
            raise NotFound(f"no DAG {self.name!r} in namespace {self.namespace!r} in the store")
        return self.job_id(view)
