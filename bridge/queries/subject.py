"""Queries about one dataset or one job."""

from typing import Annotated

import msgspec

from bridge.errors import AmbiguousName, InvalidParameter, NotFound
from bridge.queries.query import A, Query, QueryContext
from bridge.store.references import Id, parse_id
from bridge.store.run_history import find_job, find_jobs
from bridge.store.search.names import find_by_part, find_similar

_JOB_IDS = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id {ids}"


Namespace = Annotated[
    str,
    msgspec.Meta(
        description="If omitted, `name` is split at the longest namespace that exists, or is the last part of a"
        " unique name.",
        min_length=1,
    ),
]
Name = Annotated[str, msgspec.Meta(min_length=1)]


class DatasetSubjectQuery(Query[A], frozen=True, kw_only=True):
    """A query about one dataset, by its id or by any of its names."""

    subject = "dataset"
    id: Id | None = None
    namespace: Namespace | None = None
    name: Name | None = None

    def group_id(self, ctx: QueryContext) -> bytes:
        """Find the identity group of the dataset. Raises NotFound if the store does not contain it."""
        graph = ctx.graph()
        if self.id is not None:
            group = graph.group_of(parse_id(self.id))
            label = f"with the id {self.id}"
        elif self.name is None:
            raise InvalidParameter(
                "missing dataset: specify an id or a name, which may include the namespace", "name"
            )
        elif self.namespace is None:
            group = graph.find_by_full_name(self.name) or _find_by_part(ctx, self.name)
            label = repr(self.name)
        else:
            group = graph.find_dataset(self.namespace, self.name)
            label = f"{self.name!r} in namespace {self.namespace!r}"
        if group is None:
            similar = find_similar(ctx.db, ctx.org, self.name, self.namespace) if self.name else []
            jobs = _jobs_note(ctx, self.name) if self.name else ""
            raise NotFound(
                f"no dataset {label} in the store{jobs}", [f"{hit.namespace} {hit.name}" for hit in similar]
            )
        return group


def _jobs_note(ctx: QueryContext, name: str) -> str:
    """Return a note that lists the jobs with this name, or an empty string."""
    names = sorted(ctx.graph().job_names(find_jobs(ctx.db, ctx.org, name)).values())
    return f"; jobs with this name: {', '.join(map(' '.join, names))}" if names else ""


def _find_by_part(ctx: QueryContext, name: str) -> bytes | None:
    """Find a dataset by the last part of its name. Raises AmbiguousName if several datasets match."""
    hits = find_by_part(ctx.db, ctx.org, name)
    if len(hits) > 1:
        raise AmbiguousName([{"id": hit.id, "namespace": hit.namespace, "name": hit.name} for hit in hits])
    return ctx.graph().group_of(parse_id(hits[0].id)) if hits else None


_COLUMNS = """
SELECT name FROM class_field WHERE org_id = ?1 AND class_id = ?2
UNION SELECT c.target_field FROM ol_dataset d
JOIN column_lineage c ON c.org_id = d.org_id AND c.target_id = d.dataset_id
WHERE d.org_id = ?1 AND d.class_id = ?2
UNION SELECT c.source_field FROM ol_dataset d
JOIN lineage_edge e ON e.org_id = d.org_id AND e.source_id = d.dataset_id AND e.edge_role = 'DERIVES'
JOIN column_lineage c ON c.org_id = e.org_id AND c.target_id = e.target_id AND c.source_id = e.source_id
WHERE d.org_id = ?1 AND d.class_id = ?2
ORDER BY 1
"""
_SHOWN_COLUMNS = 20


def require_column(ctx: QueryContext, dataset: bytes, column: str) -> None:
    """Raise NotFound, with a list of the known columns, if a dataset does not have this column."""
    columns = [name for (name,) in ctx.db.fetch_all(_COLUMNS, ctx.org, dataset) if name]
    if column not in columns:
        ellipsis = ", …" if len(columns) > _SHOWN_COLUMNS else ""
        hint = (
            f"known columns: {', '.join(columns[:_SHOWN_COLUMNS])}{ellipsis}" if columns else "no columns are known"
        )
        raise NotFound(f"no column {column[:256]!r} in the dataset; {hint}")


class JobSubjectQuery(Query[A], frozen=True, kw_only=True):
    """A query about one job, by its id or by its name."""

    subject = "process"
    id: Id | None = None
    namespace: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    name: Name | None = None

    def job_id(self, ctx: QueryContext) -> bytes:
        """Find the id of the job. Raises NotFound if the store does not contain it."""
        job: bytes | None
        if self.id is not None:
            rows = ctx.db.fetch_for_ids(_JOB_IDS, [parse_id(self.id)], ctx.org)
            job = next((job_id for (job_id,) in rows), None)
            label = f"with the id {self.id}"
        elif self.name is None or self.namespace is None:
            raise InvalidParameter(
                "missing job: specify an id, or a namespace and name", "namespace" if self.name else "name"
            )
        else:
            job = find_job(ctx.db, ctx.org, self.namespace, self.name)
            label = f"{self.name!r} in namespace {self.namespace!r}"
        if job is None:
            raise NotFound(f"no job {label} in the store")
        return job
