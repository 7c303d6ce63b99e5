"""From one event to the statements it makes about the canonical store."""

from typing import NamedTuple

from mappers.canonical.facts import Job
from mappers.canonical.identity import NOBODY
from mappers.canonical.merge import Row
from mappers.canonical.order import Rank, order
from mappers.openlineage import facets as f
from mappers.openlineage.datasets import Place, Side, state_dataset
from mappers.openlineage.event import Event
from mappers.openlineage.explicit import Asserter, DeclaredBy, state_job_lineage
from mappers.openlineage.owners import split_owners
from mappers.openlineage.parts import understand
from mappers.openlineage.runs import state_dependencies, state_run
from mappers.openlineage.statements import Named, Rules, Statements, name_dataset, name_job


class Mapped(NamedTuple):
    """The statements of an event, and what had to be assumed to make them."""

    rows: list[Row]
    notes: list[str]


def map_event(event: Event, rules: Rules) -> Mapped:
    """Turn an event of any kind into statements."""
    say = Statements(event, rules)
    if event.dataset is not None:
        state_dataset(say, event.dataset, Place(Side.ITSELF, NOBODY, "", NOBODY))
    elif event.job is not None:
        job = name_job(rules.org, *event.job)
        say.namespace(job)
        if event.run_uuid is None:
            _map_job_event(say, event, job)
        else:
            _map_run_event(say, event, job, event.run_uuid)
    return Mapped(say.rows, list(dict.fromkeys(say.notes)))


def _map_run_event(say: Statements, event: Event, job: Named, run_uuid: str) -> None:
    say.rows.append(_job_row(say, event, job, Rank.OUTPUT))
    run = state_run(say, event, job)
    _state_job_facets(say, event, job, Rank.OUTPUT)
    for side, parts in ((Side.INPUT, event.inputs), (Side.OUTPUT, event.outputs)):
        place = Place(side, run, run_uuid, job.id)
        for part in parts:
            state_dataset(say, part, place)
    lineage = understand(event.job_facets.get("lineage"), f.JobLineage, say.notes)
    if lineage:
        state_job_lineage(say, lineage, Asserter(run, job, None))
        _mark_explicit(say, run)


def _mark_explicit(say: Statements, run: bytes) -> None:
    for i, row in enumerate(say.rows):
        if type(row).__name__ == "Run" and row[1] == run:
            say.rows[i] = row._replace(explicit=True)  # type: ignore[attr-defined]  # rows are NamedTuples


def _map_job_event(say: Statements, event: Event, job: Named) -> None:
    row = _job_row(say, event, job, Rank.JOB_EVENT)
    if event.inputs or event.outputs:
        row = row._replace(declared_io=say.moment)
    lineage = understand(event.job_facets.get("lineage"), f.JobLineage, say.notes)
    if lineage:
        row = row._replace(declared_lineage=order(DeclaredBy.LINEAGE, say.micros, say.event_hash))
    say.rows.append(row)
    _state_job_facets(say, event, job, Rank.JOB_EVENT)
    place = Place(Side.DECLARED, NOBODY, "", job.id)
    for role, parts in (("CONSUMES", event.inputs), ("PRODUCES", event.outputs)):
        for part in parts:
            dataset = ("dataset", state_dataset(say, part, place).id)
            source, target = (dataset, ("job", job.id)) if role == "CONSUMES" else (("job", job.id), dataset)
            say.edge(role, source, target, job.id, "declared", declared_io=say.moment)
    if lineage:
        state_job_lineage(say, lineage, Asserter(NOBODY, job, row.declared_lineage))


def _state_job_facets(say: Statements, event: Event, job: Named, rank: int) -> None:
    read = frozenset({"lineage"}) if event.run_uuid else frozenset()
    say.facets(job.id, event.job_facets, rank, read=read)
    state_dependencies(say, event.job_facets.get("lineageBridge_jobDependencies"), job)


def _job_row(say: Statements, event: Event, job: Named, rank: int) -> Job:
    row = say.job_row(job)
    facet = event.job_facets.get("jobType")
    kind = understand(facet, f.JobType, say.notes)
    if kind and facet:
        pattern = kind.emissionPattern
        row = row._replace(
            type_order=say.order(rank, facet.digest),
            job_type=kind.jobType,
            processing_type=kind.processingType,
            integration=kind.integration,
            emits_snapshots=bool(pattern and pattern.eventContentMode == "COMPLETE_SNAPSHOT"),
        )
    facet = event.job_facets.get("documentation")
    text = understand(facet, f.Documentation, say.notes)
    if facet and (text or facet.body is None):
        row = row._replace(
            documentation_order=say.order(rank, facet.digest), description=text.description if text else None
        )
    facet = event.job_facets.get("ownership")
    ownership = understand(facet, f.Ownership, say.notes)
    if facet and (ownership or facet.body is None):
        team, email = split_owners(ownership.owners if ownership else None)
        row = row._replace(
            ownership_order=say.order(rank, facet.digest), owner_team=team, owner_email=email
        )
    return row


__all__ = ["Mapped", "Rules", "map_event", "name_dataset", "name_job"]
