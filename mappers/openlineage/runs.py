"""What an event says about its run: state, times, parents, tests and dependencies."""

from collections.abc import Iterable

from mappers.canonical.facts import Run
from mappers.canonical.identity import digest, run_id
from mappers.canonical.order import Rank
from mappers.openlineage import facets as f
from mappers.openlineage.clock_time import parse_time
from mappers.openlineage.event import Event, run_uuid
from mappers.openlineage.parts import FacetPart, canonical_json, read_facets, understand
from mappers.openlineage.quality import state_tests
from mappers.openlineage.statements import Named, Statements

_STATE_RANK = {"START": 1, "RUNNING": 2, "COMPLETE": 3, "ABORT": 4, "FAIL": 5}
_READ: dict[str, type] = {"parent": f.Parent, "parentRun": f.Parent, "nominalTime": f.NominalTime}


def state_run(say: Statements, event: Event, job: Named, *, explicit: bool) -> bytes:
    """State what the event says about its run; gives the run's id."""
    uuid = event.run_uuid or ""
    run = run_id(say.org, uuid)
    row = _run_row(say, event, run, uuid, job.id)._replace(explicit=explicit)
    say.rows.append(_nominal(say, event, _parent(say, event, job, row)))
    understood = frozenset(
        name for name in _READ if understand(event.run_facets.get(name), _READ[name], []) is not None
    )
    say.facets(run, event.run_facets, Rank.OUTPUT, read=understood)
    tests = understand(event.run_facets.get("test"), f.Tests, say.notes)
    if tests:
        state_tests(say, tests, job.id, run)
    state_dependencies(say, event.run_facets.get("jobDependencies"), job)
    return run


def _run_row(say: Statements, event: Event, run: bytes, uuid: str, job: bytes) -> Run:
    state = _STATE_RANK.get(event.event_type)
    origin = digest(f"{event.producer}\0{event.schema_url}".encode())
    return Run(
        say.org,
        run,
        uuid,
        say.order(0, job),
        job,
        say.micros,
        say.micros,
        job,
        job,
        say.micros,
        say.order(state, digest(event.event_type.encode())) if state else None,
        event.event_type if state else None,
        say.micros if state else None,
        say.order(0, origin),
        event.producer,
        event.schema_url,
    )


def _nominal(say: Statements, event: Event, row: Run) -> Run:
    facet = event.run_facets.get("nominalTime")
    nominal = understand(facet, f.NominalTime, say.notes)
    if nominal is None or facet is None:
        return row
    try:
        start = parse_time(nominal.nominalStartTime)[0]
        end = parse_time(nominal.nominalEndTime)[0] if nominal.nominalEndTime else None
    except ValueError:
        say.notes.append("nominalTime holds no time: ignored")
        return row
    content = digest(f"{start}\0{end}".encode())
    return row._replace(nominal_order=say.order(0, content), nominal_start_time=start, nominal_end_time=end)


def _parent(say: Statements, event: Event, job: Named, row: Run) -> Run:
    facet = event.run_facets.get("parent") or event.run_facets.get("parentRun")
    parent = understand(facet, f.Parent, say.notes)
    if parent is None or facet is None:
        return row
    parent_uuid, parent_run, parent_job = _stub(say, parent.run, parent.job)
    root_run, root_job = None, None
    if parent.root:
        _, root_run, root_job_named = _stub(say, parent.root.run, parent.root.job)
        root_job = root_job_named.id
    if parent_job.id != job.id:
        say.edge("PARENT", ("job", parent_job.id), ("job", job.id), job.id, "explicit")
    if parent_run == row.run_id:
        say.notes.append("the run names itself as its parent: ignored")
        return row
    return row._replace(
        parent_order=say.order(0, facet.digest),
        parent_run_id=parent_run,
        parent_run_uuid=parent_uuid,
        parent_job_id=parent_job.id,
        root_run_id=root_run,
        root_job_id=root_job,
    )


def _stub(say: Statements, run: f.RunRef, job: f.JobRef) -> tuple[str, bytes, Named]:
    """State that a run exists, and what a child forwards of it: less than anything it says itself."""
    named = say.job(job.namespace, job.name)
    uuid = run_uuid(run.runId, (job.namespace, job.name), say.notes)
    stub = run_id(say.org, uuid)
    say.rows.append(Run(say.org, stub, uuid, say.order(1, named.id), named.id, say.micros, say.micros))
    for owner, forwarded in ((stub, run.facets), (named.id, job.facets)):
        say.facets(owner, read_facets(forwarded, "parent", say.notes), Rank.MENTION)
    return uuid, stub, named


def state_dependencies(
    say: Statements, facet: FacetPart | None, job: Named, declared_lineage: bytes | None = None
) -> None:
    """State which jobs must come before and after this one; what is declared holds until it is declared otherwise."""
    found = understand(facet, f.JobDependencies, say.notes)
    if found is None:
        return
    for upstream, dependencies in ((True, found.upstream), (False, found.downstream)):
        # One job may be waited for in several ways, which are one edge.
        ways: dict[tuple[str, str], list[f.Dependency]] = {}
        for dependency in dependencies or ():
            ways.setdefault((dependency.job.namespace, dependency.job.name), []).append(dependency)
        for named, same in ways.items():
            other = say.job(*named)
            before, after = (other.id, job.id) if upstream else (job.id, other.id)
            meta = canonical_json(
                {
                    "dependency_type": _each(one.dependency_type for one in same),
                    "sequence_trigger_rule": _each(one.sequence_trigger_rule for one in same),
                    "status_trigger_rule": _each(one.status_trigger_rule for one in same),
                    "trigger_rule": found.trigger_rule,
                }
            )
            evidence = "declared" if declared_lineage else "explicit"
            ends = ("job", before), ("job", after)
            say.edge("DEPENDS", *ends, job.id, evidence, meta=meta, declared_lineage=declared_lineage)


def _each(rules: Iterable[str | None]) -> str | None:
    """Write each rule once, in their order."""
    return ", ".join(dict.fromkeys(rule for rule in rules if rule)) or None


def state_boxes(say: Statements, facet: FacetPart | None, job: Named) -> None:
    """State the boxes that a job lies in, which claims nothing about any run of theirs."""
    found = understand(facet, f.Boxes, say.notes)
    inner = job
    for name in reversed(found.boxes if found else ()):
        box = say.job(job.namespace, name)
        if box.id != inner.id:
            say.edge("PARENT", ("job", box.id), ("job", inner.id), inner.id, "explicit")
        inner = box
