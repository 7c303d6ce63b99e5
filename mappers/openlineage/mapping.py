"""From one event to the statements it makes about the canonical store."""

from typing import NamedTuple

from mappers.canonical.facts import Job
from mappers.canonical.identity import NOBODY
from mappers.canonical.merge import Row
from mappers.canonical.order import Rank, order
from mappers.openlineage import facets as f
from mappers.openlineage.datasets import state_dataset
from mappers.openlineage.event import Event
from mappers.openlineage.explicit import Asserter, DeclaredBy, state_job_lineage
from mappers.openlineage.parts import understand
from mappers.openlineage.place import Place, Side
from mappers.openlineage.runs import state_boxes, state_dependencies, state_run
from mappers.openlineage.statements import Named, Rules, Statements, name_job


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
    lineage = understand(event.job_facets.get("lineage"), f.Lineage, say.notes)
    run = state_run(say, event, job, explicit=lineage is not None)
    _state_job_facets(say, event, job, Rank.OUTPUT)
    for side, parts in ((Side.INPUT, event.inputs), (Side.OUTPUT, event.outputs)):
        place = Place(side, run, run_uuid, job.id)
        for part in parts:
            state_dataset(say, part, place)
    if lineage:
        state_job_lineage(say, lineage, Asserter(run, job, None))


def _map_job_event(say: Statements, event: Event, job: Named) -> None:
    row = _job_row(say, event, job, Rank.JOB_EVENT)
    if event.inputs or event.outputs:
        row = row._replace(declared_io=say.moment)
    lineage = understand(event.job_facets.get("lineage"), f.Lineage, say.notes)
    if lineage:
        row = row._replace(declared_lineage=order(DeclaredBy.LINEAGE, say.micros, say.event_hash))
    say.rows.append(row)
    _state_job_facets(say, event, job, Rank.JOB_EVENT, row.declared_lineage)
    place = Place(Side.DECLARED, NOBODY, "", job.id)
    for role, parts in (("CONSUMES", event.inputs), ("PRODUCES", event.outputs)):
        for part in parts:
            dataset = ("dataset", state_dataset(say, part, place).id)
            source, target = (dataset, ("job", job.id)) if role == "CONSUMES" else (("job", job.id), dataset)
            say.edge(role, source, target, job.id, "declared", declared_io=say.moment)
    if lineage:
        state_job_lineage(say, lineage, Asserter(NOBODY, job, row.declared_lineage))


def _state_job_facets(
    say: Statements, event: Event, job: Named, rank: int, declared_lineage: bytes | None = None
) -> None:
    say.facets(job.id, event.job_facets, rank)
    state_dependencies(say, event.job_facets.get("lineageBridge_jobDependencies"), job, declared_lineage)
    state_boxes(say, event.job_facets.get("lineageBridge_boxes"), job)


def _job_row(say: Statements, event: Event, job: Named, rank: int) -> Job:
    row = say.job_row(job)
    facets = event.job_facets
    if (kind := say.register(facets.get("jobType"), f.JobType, rank)) is not None:
        ordered, type_ = kind
        pattern = type_.emissionPattern if type_ else None
        row = row._replace(
            type_order=ordered,
            job_type=type_.jobType if type_ else None,
            processing_type=type_.processingType if type_ else None,
            integration=type_.integration if type_ else None,
            emits_snapshots=bool(pattern and pattern.eventContentMode == "COMPLETE_SNAPSHOT"),
        )
    return row._replace(**say.described(facets, rank))
