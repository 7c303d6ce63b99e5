"""Queries about one dataset or one job."""

from typing import Annotated

import msgspec

from bridge.errors import InvalidParameter, NotFound
from bridge.queries.query import A, Query, QueryContext
from bridge.store.references import Id, parse_id
from bridge.store.run_history import find_job

_JOB_IDS = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id {ids}"


Namespace = Annotated[
    str, msgspec.Meta(description="Left out, `name` is split at the longest namespace that is known.", min_length=1)
]
Name = Annotated[str, msgspec.Meta(min_length=1)]


class DatasetSubjectQuery(Query[A], frozen=True, kw_only=True):
    """A question about one dataset, by its id or by any of its names."""

    subject = "dataset"
    id: Id | None = None
    namespace: Namespace | None = None
    name: Name | None = None

    def group_id(self, view: QueryContext) -> bytes:
        """Find the class of the dataset."""
        graph = view.graph()
        if self.id is not None:
            found = graph.group_of(parse_id(self.id))
            called = f"with the id {self.id}"
        elif self.name is None:
            raise InvalidParameter("say which dataset: by its name, with its namespace or in one", "name")
        elif self.namespace is None:
            found, called = graph.find_by_full_name(self.name), f"{self.name!r}"
        else:
            found, called = (
                graph.find_dataset(self.namespace, self.name),
                f"{self.name!r} in namespace {self.namespace!r}",
            )
        if found is None:
            raise NotFound(f"no dataset {called} in the store")
        return found


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


def require_column(view: QueryContext, dataset: bytes, column: str) -> None:
    """Raise UnknownName, with the columns that are known, when a dataset has none of that name."""
    known = [name for (name,) in view.db.fetch_all(_COLUMNS, view.org, dataset) if name]
    if column not in known:
        more = ", …" if len(known) > _SHOWN_COLUMNS else ""
        there = f"known are {', '.join(known[:_SHOWN_COLUMNS])}{more}" if known else "none is known"
        raise NotFound(f"no column {column[:256]!r} in the dataset: {there}")


class JobSubjectQuery(Query[A], frozen=True, kw_only=True):
    """A question about one job, by its id or by its name."""

    subject = "process"
    id: Id | None = None
    namespace: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    name: Name | None = None

    def job_id(self, view: QueryContext) -> bytes:
        """Find the id of the job."""
        found: bytes | None
        if self.id is not None:
            found = next((job for (job,) in view.db.fetch_for_ids(_JOB_IDS, [parse_id(self.id)], view.org)), None)
            called = f"with the id {self.id}"
        elif self.name is None or self.namespace is None:
            raise InvalidParameter("say which job: by its namespace and name", "namespace" if self.name else "name")
        else:
            found = find_job(view.db, view.org, self.namespace, self.name)
            called = f"{self.name!r} in namespace {self.namespace!r}"
        if found is None:
            raise NotFound(f"no job {called} in the store")
        return found
