"""What answers are made of: datasets, jobs and columns by their ids and names, times as texts."""

from typing import Annotated
from uuid import UUID

import msgspec

from bridge.catalogue.question import A, Question, View
from bridge.store.graph import Named
from bridge.store.runs import find_job
from mappers.errors import BadQuestion, UnknownName
from mappers.when import iso

_JOB_IDS = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id {among}"

Id = Annotated[str, msgspec.Meta(description="A UUID, as answers give it.", min_length=1, max_length=64)]
Namespace = Annotated[
    str, msgspec.Meta(description="Left out, `name` is split at the longest namespace that is known.", min_length=1)
]
Name = Annotated[str, msgspec.Meta(min_length=1)]


class Thing(msgspec.Struct, frozen=True):
    """A dataset or job."""

    id: str
    namespace: str
    name: str


class ColumnOf(Thing, frozen=True):
    """A column of a dataset; null means the whole dataset."""

    column: str | None


class AboutDataset(Question[A], frozen=True, kw_only=True):
    """A question about one dataset, by its id or by any of its names."""

    about = "dataset"
    id: Id | None = None
    namespace: Namespace | None = None
    name: Name | None = None

    def dataset(self, view: View) -> bytes:
        """Find the class of the dataset."""
        graph = view.graph()
        if self.id is not None:
            found = graph.class_of(read_id(self.id))
            called = f"with the id {self.id}"
        elif self.name is None:
            raise BadQuestion("say which dataset: by its name, with its namespace or in one", "name")
        elif self.namespace is None:
            found, called = graph.find_whole(self.name), f"{self.name!r}"
        else:
            found, called = graph.find(self.namespace, self.name), f"{self.name!r} in namespace {self.namespace!r}"
        if found is None:
            raise UnknownName(f"no dataset {called} in the store")
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


def require_column(view: View, dataset: bytes, column: str) -> None:
    """Raise UnknownName, with the columns that are known, when a dataset has none of that name."""
    known = [name for (name,) in view.db.rows(_COLUMNS, view.org, dataset) if name]
    if column not in known:
        more = ", …" if len(known) > _SHOWN_COLUMNS else ""
        there = f"known are {', '.join(known[:_SHOWN_COLUMNS])}{more}" if known else "none is known"
        raise UnknownName(f"no column {column[:256]!r} in the dataset: {there}")


class AboutProcess(Question[A], frozen=True, kw_only=True):
    """A question about one job, by its id or by its name."""

    about = "process"
    id: Id | None = None
    namespace: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    name: Name | None = None

    def job(self, view: View) -> bytes:
        """Find the id of the job."""
        found: bytes | None
        if self.id is not None:
            found = next((job for (job,) in view.db.among(_JOB_IDS, [read_id(self.id)], view.org)), None)
            called = f"with the id {self.id}"
        elif self.name is None or self.namespace is None:
            raise BadQuestion("say which job: by its namespace and name", "namespace" if self.name else "name")
        else:
            found = find_job(view.db, view.org, self.namespace, self.name)
            called = f"{self.name!r} in namespace {self.namespace!r}"
        if found is None:
            raise UnknownName(f"no job {called} in the store")
        return found


def read_id(text: str) -> bytes:
    """Read an id; raises BadQuestion when it is none."""
    try:
        return UUID(text).bytes
    except ValueError as error:
        raise BadQuestion(f"{text[:64]!r} is no UUID", "id") from error


def write_id(id_: bytes) -> str:
    """Write an id as a UUID."""
    return str(UUID(bytes=bytes(id_)))


def thing(id_: bytes, named: Named) -> Thing:
    """Give a dataset or job by its id and names."""
    return Thing(write_id(id_), named.namespace, named.name)


def iso_or_none(micros: int | None) -> str | None:
    """Write a time, if there is one."""
    return None if micros is None else iso(micros)
