"""One run: how it ended, what it read and wrote, and in which versions."""

from typing import Annotated

import msgspec

from bridge.catalogue.facets import facets_of
from bridge.catalogue.history import RunRecord, tell_run
from bridge.catalogue.quality import CheckResult, results_of_run
from bridge.catalogue.question import Question, View
from bridge.catalogue.things import Thing, iso_or_none, read_id, thing, write_id
from bridge.store.runs import one_run
from mappers.canonical.identity import run_id
from mappers.errors import UnknownName

_RUN = """
SELECT r.run_id, r.job_id, r.parent_run_uuid, r.parent_job_id, r.nominal_start_time, r.nominal_end_time, r.producer,
  CASE WHEN r.least_claimant <> r.greatest_claimant THEN 1 ELSE 0 END
FROM ol_run r WHERE r.org_id = ?1 AND r.run_id {among} AND r.least_claimant IS NOT NULL
"""
_READ = """
SELECT d.class_id, i.version, i.row_count, i.byte_count, i.file_count FROM ol_run_input i
JOIN ol_dataset d ON d.org_id = i.org_id AND d.dataset_id = i.dataset_id
WHERE i.org_id = ?1 AND i.run_id = ?2 ORDER BY d.class_id, i.dataset_id, i.job_id
"""
_WRITTEN = """
SELECT d.class_id, v.version_tag, v.row_count, v.byte_count, v.file_count FROM ol_run_output o
JOIN ol_dataset d ON d.org_id = o.org_id AND d.dataset_id = o.dataset_id
LEFT JOIN dataset_version v ON v.org_id = o.org_id AND v.dataset_id = o.dataset_id AND v.writer_id = o.run_id
WHERE o.org_id = ?1 AND o.run_id = ?2 ORDER BY d.class_id, o.dataset_id, o.job_id
"""
_SHOWN_STEPS = 200


class Touched(msgspec.Struct, frozen=True):
    """A dataset that a run read or wrote, in which version, and how much of it."""

    dataset: Thing
    version: str | None
    rows: int | None
    bytes: int | None
    files: int | None


class RunAnswer(msgspec.Struct, frozen=True):
    """A run with its newest steps, what it read and wrote, and what was checked in it."""

    run: RunRecord
    job: Thing
    parent_run_id: str | None
    parent_job: Thing | None
    nominal_start: str | None
    nominal_end: str | None
    producer: str | None
    #: Whether several jobs claim the run.
    claim_disputed: bool
    inputs: list[Touched]
    outputs: list[Touched]
    quality: list[CheckResult]
    facets: dict[str, msgspec.Raw]


class Run(Question[RunAnswer], frozen=True, kw_only=True):
    """A run by the UUID that its events carry: how it ended, what it read and wrote, in which versions."""

    about = "run"
    answer = RunAnswer
    id: Annotated[str, msgspec.Meta(description="The UUID of the run.", min_length=1, max_length=64)]

    def answered(self, view: View) -> RunAnswer:
        """Look it up."""
        own = run_id(view.org, write_id(read_id(self.id)))
        rows = view.db.among(_RUN, [own], view.org)
        found = one_run(view.db, view.org, own)
        if not rows or found is None:
            raise UnknownName(f"no run {self.id} in the store")
        run, job, parent, parent_job, nominal_start, nominal_end, producer, disputed = rows[0]
        jobs = view.graph().jobs(one for one in (job, parent_job) if one)
        return RunAnswer(
            run=tell_run(view, found, steps=_SHOWN_STEPS),
            job=thing(job, jobs[job]),
            parent_run_id=parent,
            parent_job=thing(parent_job, jobs[parent_job]) if parent_job else None,
            nominal_start=iso_or_none(nominal_start),
            nominal_end=iso_or_none(nominal_end),
            producer=producer,
            claim_disputed=bool(disputed),
            inputs=_touched(view, _READ, run),
            outputs=_touched(view, _WRITTEN, run),
            quality=results_of_run(view, run),
            facets=facets_of(view, run),
        )


def _touched(view: View, sql: str, run: bytes) -> list[Touched]:
    """Give what a run touched; what was told under several names of a dataset, or by several jobs, once."""
    found: dict[bytes, tuple[str | int | None, ...]] = {}
    for dataset, *said in view.db.rows(sql, view.org, run):
        known = found.get(dataset, (None,) * len(said))
        found[dataset] = tuple(old if old is not None else new for old, new in zip(known, said, strict=True))
    names = view.graph().datasets(found)
    return [Touched(thing(one, names[one]), *found[one]) for one in sorted(found, key=lambda one: names[one])]  # type: ignore[arg-type]
