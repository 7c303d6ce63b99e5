"""Maps the run of an event: state, times, parents, dependencies."""

from collections.abc import Iterable
from typing import Any

from mappers.canonical import identity
from mappers.canonical.identity import digest
from mappers.canonical.rank import Rank
from mappers.canonical.rows import RunRow
from mappers.canonical_json import canonical_json
from mappers.openlineage import facets as facet_types
from mappers.openlineage.event import Event, normalize_run_uuid
from mappers.openlineage.facet_parser import ParsedFacet, facet_value, parse_facets
from mappers.openlineage.names import CanonicalEntity
from mappers.openlineage.quality import map_run_tests
from mappers.openlineage.row_builder import RowBuilder
from mappers.timestamps import parse_timestamp

_STATE_RANK = {"START": 1, "RUNNING": 2, "COMPLETE": 3, "ABORT": 4, "FAIL": 5}
_FACETS_IN_COLUMNS: dict[str, type] = {
    "parent": facet_types.ParentFacet,
    "parentRun": facet_types.ParentFacet,
    "nominalTime": facet_types.NominalTimeFacet,
}


def map_run(builder: RowBuilder, event: Event, job: CanonicalEntity, *, explicit: bool) -> bytes:
    """Map the run of an event; returns the run id."""
    uuid = event.run_uuid or ""
    run_id = identity.run_id(builder.org, uuid)
    columns = _map_parent(builder, event, job, run_id) | _nominal_time_columns(builder, event)
    builder.rows.append(_run_row(builder, event, run_id, uuid, job.id, explicit=explicit, **columns))
    stored_in_columns = frozenset(
        name
        for name, facet_type in _FACETS_IN_COLUMNS.items()
        if facet_value(event.run_facets.get(name), facet_type, []) is not None
    )
    builder.add_facets(run_id, event.run_facets, Rank.OUTPUT, stored_in_columns=stored_in_columns)
    tests = facet_value(event.run_facets.get("test"), facet_types.RunTestsFacet, builder.notes)
    if tests:
        map_run_tests(builder, tests, job.id, run_id)
    map_dependencies(builder, event.run_facets.get("jobDependencies"), job)
    return run_id


def _run_row(builder: RowBuilder, event: Event, run_id: bytes, uuid: str, job_id: bytes, **columns: Any) -> RunRow:
    state_rank = _STATE_RANK.get(event.event_type)
    origin = digest(f"{event.producer}\0{event.schema_url}".encode())
    return RunRow(
        org_id=builder.org,
        run_id=run_id,
        run_uuid=uuid,
        claim_order=builder.assertion_order(0, job_id),
        job_id=job_id,
        created_at=builder.micros,
        updated_at=builder.micros,
        least_claimant=job_id,
        greatest_claimant=job_id,
        started_at=builder.micros,
        state_order=builder.assertion_order(state_rank, digest(event.event_type.encode())) if state_rank else None,
        event_type=event.event_type if state_rank else None,
        event_time=builder.micros if state_rank else None,
        origin_order=builder.assertion_order(0, origin),
        producer=event.producer,
        schema_url=event.schema_url,
        **columns,
    )


def _nominal_time_columns(builder: RowBuilder, event: Event) -> dict[str, Any]:
    """Return the columns with the nominal start and end of the run, if they are valid."""
    facet = event.run_facets.get("nominalTime")
    nominal = facet_value(facet, facet_types.NominalTimeFacet, builder.notes)
    if nominal is None or facet is None:
        return {}
    try:
        start, _ = parse_timestamp(nominal.nominalStartTime)
        end = None
        if nominal.nominalEndTime:
            end, _ = parse_timestamp(nominal.nominalEndTime)
    except ValueError:
        builder.notes.append("nominalTime is not a time: ignored")
        return {}
    content = digest(f"{start}\0{end}".encode())
    return {
        "nominal_order": builder.assertion_order(0, content),
        "nominal_start_time": start,
        "nominal_end_time": end,
    }


def _map_parent(builder: RowBuilder, event: Event, job: CanonicalEntity, run_id: bytes) -> dict[str, Any]:
    """Add the parent and root of a run; returns the columns that refer to them."""
    facet = event.run_facets.get("parent") or event.run_facets.get("parentRun")
    parent = facet_value(facet, facet_types.ParentFacet, builder.notes)
    if parent is None or facet is None:
        return {}
    parent_uuid, parent_run_id, parent_job = _add_referenced_run(builder, parent.run, parent.job)
    root_run_id, root_job_id = None, None
    if parent.root and (parent.root.run, parent.root.job) == (parent.run, parent.job):
        root_run_id, root_job_id = parent_run_id, parent_job.id
    elif parent.root:
        _, root_run_id, root_job = _add_referenced_run(builder, parent.root.run, parent.root.job)
        root_job_id = root_job.id
    if parent_job.id != job.id:
        builder.add_edge("PARENT", ("job", parent_job.id), ("job", job.id), job.id, "explicit")
    if parent_run_id == run_id:
        builder.notes.append("the run names itself as its parent: ignored")
        return {}
    return {
        "parent_order": builder.assertion_order(0, facet.digest),
        "parent_run_id": parent_run_id,
        "parent_run_uuid": parent_uuid,
        "parent_job_id": parent_job.id,
        "root_run_id": root_run_id,
        "root_job_id": root_job_id,
    }


def _add_referenced_run(
    builder: RowBuilder, run_ref: facet_types.RunRef, job_ref: facet_types.JobRef
) -> tuple[str, bytes, CanonicalEntity]:
    """Add a run that an event refers to; its forwarded facets rank below the facets in its own events."""
    job = builder.reference_job(job_ref.namespace, job_ref.name)
    uuid = normalize_run_uuid(run_ref.runId, (job_ref.namespace, job_ref.name), builder.notes)
    run_id = identity.run_id(builder.org, uuid)
    builder.rows.append(
        RunRow(builder.org, run_id, uuid, builder.assertion_order(1, job.id), job.id, builder.micros, builder.micros)
    )
    for owner_id, forwarded_facets in ((run_id, run_ref.facets), (job.id, job_ref.facets)):
        builder.add_facets(owner_id, parse_facets(forwarded_facets, "parent", builder.notes), Rank.MENTION)
    return uuid, run_id, job


def map_dependencies(
    builder: RowBuilder, facet: ParsedFacet | None, job: CanonicalEntity, declared_lineage: bytes | None = None
) -> None:
    """Map the upstream and downstream jobs of a job; declared dependencies apply until the next declaration."""
    content = facet_value(facet, facet_types.JobDependenciesFacet, builder.notes)
    if content is None:
        return
    for is_upstream, dependencies in ((True, content.upstream), (False, content.downstream)):
        # A job may depend on another one in several ways, which are combined in one edge.
        dependencies_by_job: dict[tuple[str, str], list[facet_types.JobDependency]] = {}
        for dependency in dependencies or ():
            dependencies_by_job.setdefault((dependency.job.namespace, dependency.job.name), []).append(dependency)
        for job_name, job_dependencies in dependencies_by_job.items():
            other_job = builder.reference_job(*job_name)
            source, target = (other_job, job) if is_upstream else (job, other_job)
            rules = {
                key: _join_distinct(getattr(dependency, key) for dependency in job_dependencies)
                for key in ("dependency_type", "sequence_trigger_rule", "status_trigger_rule")
            }
            meta = canonical_json({**rules, "trigger_rule": content.trigger_rule})
            evidence = "declared" if declared_lineage else "explicit"
            builder.add_edge(
                "DEPENDS",
                ("job", source.id),
                ("job", target.id),
                job.id,
                evidence,
                meta=meta,
                declared_lineage=declared_lineage,
            )


def _join_distinct(rules: Iterable[str | None]) -> str | None:
    """Join the distinct rules in their original order."""
    return ", ".join(dict.fromkeys(rule for rule in rules if rule)) or None


def map_boxes(builder: RowBuilder, facet: ParsedFacet | None, job: CanonicalEntity) -> None:
    """Map the boxes that contain a job, but not their runs, which are unknown."""
    content = facet_value(facet, facet_types.BoxesFacet, builder.notes)
    inner_job = job
    for name in reversed(content.boxes if content else ()):
        box = builder.reference_job(job.namespace, name)
        if box.id != inner_job.id:
            builder.add_edge("PARENT", ("job", box.id), ("job", inner_job.id), inner_job.id, "explicit")
        inner_job = box
