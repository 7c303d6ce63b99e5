"""Queries: one job, registered processes, and their definitions."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from bridge.clock import now_micros
from bridge.errors import NotFound
from bridge.queries.facets import owner_names, read_received_facets
from bridge.queries.query import Cursor, Limit, Page, Query, QueryContext, paginate, parse_cursor
from bridge.queries.runs import RunRecord, run_record
from bridge.queries.subject import JobSubjectQuery
from bridge.store.governance_facets import read_owners, read_slas
from bridge.store.lineage.graph import QualifiedName
from bridge.store.references import NodeReference, format_id, node_reference, parse_id
from bridge.store.run_history import recent_runs
from bridge.versions.definitions import MAX_NUMBER, DefinitionKind, DefinitionStore, RegisteredDefinition, process_id
from bridge.versions.results import DefinitionVersion, definition_version
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
#: Runs with their children and grandchildren: an action of an application is a grandchild of the scheduler's run.
_WITH_DESCENDANTS = """
SELECT r.run_id FROM ol_run r WHERE r.org_id = ?1 AND r.run_id {ids}
UNION SELECT c.run_id FROM ol_run c WHERE c.org_id = ?1 AND c.parent_run_id {ids}
UNION SELECT g.run_id FROM ol_run c JOIN ol_run g ON g.org_id = c.org_id AND g.parent_run_id = c.run_id
WHERE c.org_id = ?1 AND c.parent_run_id {ids}
"""
_USED_DATASETS = """
SELECT DISTINCT d.class_id FROM {table} t JOIN ol_dataset d ON d.org_id = t.org_id AND d.dataset_id = t.dataset_id
WHERE t.org_id = ?1 AND t.run_id {{ids}}
"""
_SHOWN_RUNS = 10


class JobResult(NodeReference, frozen=True):
    """A job with its newest runs, and the datasets that they read and wrote."""

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
    """A job with its newest runs, and the datasets that they read and wrote."""

    result_type = JobResult

    def run(self, ctx: QueryContext) -> JobResult:
        job = self.job_id(ctx)
        db, org, graph = ctx.db, ctx.org, ctx.graph()
        ((process_key, technology, job_type, processing_type, description, created_at, updated_at),) = db.fetch_all(
            _PROCESS, org, job
        )
        name = graph.job_name(job)
        facets = read_received_facets(ctx, job)
        parents = {parent for (parent,) in db.fetch_all(_PARENTS, org, job) if parent != job}
        runs = recent_runs(db, org, _SHOWN_RUNS, jobs=[job])
        rows = db.fetch_for_ids(_WITH_DESCENDANTS, [run.run_id for run in runs], org)
        run_ids = [run for (run,) in rows]
        return JobResult(
            id=format_id(job),
            namespace=name.namespace,
            name=name.name,
            process_key=process_key,
            technology=technology,
            job_type=job_type,
            processing_type=processing_type,
            description=description,
            owners=sorted({*read_owners(db, org, [job]).get(job, []), *owner_names(facets)}),
            created_at=created_at,
            updated_at=updated_at,
            parents=_sorted_references(parents, graph.job_names(parents)),
            inputs=_used_datasets(ctx, "ol_run_input", run_ids),
            outputs=_used_datasets(ctx, "ol_run_output", run_ids),
            sla=read_slas(db, org, [job]).get(job),
            facets=facets,
            runs=[run_record(ctx, run) for run in runs],
        )


def _sorted_references(nodes: Iterable[bytes], names: Mapping[bytes, QualifiedName]) -> list[NodeReference]:
    """Return references to datasets or jobs, sorted by name."""
    return [node_reference(node, names[node]) for node in sorted(nodes, key=names.__getitem__)]


def _used_datasets(ctx: QueryContext, table: str, runs: list[bytes]) -> list[NodeReference]:
    """List the datasets that runs read or wrote, depending on the table."""
    rows = ctx.db.fetch_for_ids(_USED_DATASETS.format(table=table), runs, ctx.org)
    datasets = {dataset for (dataset,) in rows}
    return _sorted_references(datasets, ctx.graph().dataset_names(datasets))


class RegisteredProcess(NodeReference, frozen=True):
    """A process with its active definition and its last run."""

    version: str
    registered_at: str
    registered_by: str
    #: The owner according to the definition; without one, the owners according to events.
    owners: list[str]
    #: How the process may be started: SCHEDULED, EVENT, MANUAL or HYBRID; null if the definition does not specify it.
    trigger_mode: str | None
    last_run: RunRecord | None


class RegisteredProcessesQuery(Query[Page[RegisteredProcess]], frozen=True, kw_only=True):
    """The registered processes, sorted by name, each with its last run."""

    path = "/processes"
    result_type = Page[RegisteredProcess]
    limit: Limit = 100
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[RegisteredProcess]:
        after = parse_cursor(self.after, tuple[str, str]) or ("", "")
        definitions = DefinitionStore(ctx.db, ctx.org, now_micros).list_active("process", self.limit + 1, after)
        page, next_cursor = paginate(
            definitions, self.limit, lambda definition: (definition.namespace, definition.name)
        )
        owners = read_owners(ctx.db, ctx.org, [definition.process for definition in page])
        return Page(
            [_registered_process(ctx, definition, owners.get(definition.process, [])) for definition in page],
            next_cursor,
        )


class _ProcessSection(msgspec.Struct, frozen=True):
    """The part of a definition that the list of processes shows."""

    owner: str | None = None
    trigger_mode: str | None = None


class _DefinitionFile(msgspec.Struct, frozen=True):
    process: _ProcessSection = _ProcessSection()


_decoder = msgspec.json.Decoder(_DefinitionFile)


def _registered_process(ctx: QueryContext, definition: RegisteredDefinition, owners: list[str]) -> RegisteredProcess:
    section = _declared_process(definition.definition)
    last_run = next(iter(recent_runs(ctx.db, ctx.org, 1, jobs=[definition.process])), None)
    return RegisteredProcess(
        id=format_id(definition.process),
        namespace=definition.namespace,
        name=definition.name,
        version=definition.version,
        registered_at=format_timestamp(definition.registered_at),
        registered_by=definition.registered_by,
        owners=[section.owner] if section.owner else owners,
        trigger_mode=section.trigger_mode,
        last_run=run_record(ctx, last_run) if last_run else None,
    )


def _declared_process(definition: str) -> _ProcessSection:
    """Read the process section of a definition, which may be any JSON object."""
    try:
        return _decoder.decode(definition).process
    except msgspec.ValidationError:
        return _ProcessSection()


class DefinitionsQuery(JobSubjectQuery[Page[DefinitionVersion]], frozen=True, kw_only=True):
    """The definitions of a process or DAG, newest first; one of them is active."""

    path = "/versions"
    result_type = Page[DefinitionVersion]
    kind: Annotated[DefinitionKind, msgspec.Meta(description="What the name refers to; not needed with an id.")] = (
        "process"
    )
    limit: Limit = 50
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[DefinitionVersion]:
        (before,) = parse_cursor(self.after, tuple[int]) or (MAX_NUMBER,)
        store = DefinitionStore(ctx.db, ctx.org, now_micros)
        definitions = store.list_versions(self._process_id(ctx, store), self.limit + 1, before)
        page, next_cursor = paginate(definitions, self.limit, lambda definition: (definition.number,))
        return Page([definition_version(definition) for definition in page], next_cursor)

    def _process_id(self, ctx: QueryContext, store: DefinitionStore) -> bytes:
        """Find a process by id or name. A process that has run is found even if it has no definitions."""
        if self.id is not None:
            process = parse_id(self.id)
        elif self.namespace is not None and self.name is not None:
            process = process_id(ctx.org, self.kind, self.namespace, self.name)
        else:
            return self.job_id(ctx)  # raises InvalidParameter
        if store.list_versions(process, 1):
            return process
        if self.kind == "dag" and self.id is None:
            raise NotFound(f"no DAG {self.name!r} in namespace {self.namespace!r} in the store")
        return self.job_id(ctx)
