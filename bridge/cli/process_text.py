"""Plans and runs of processes, for people."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.process.plan import Plan, PlannedInput, PlannedOutput
    from bridge.process.runner import RunResult


def plan_lines(plan: "Plan") -> Iterator[str]:
    """Write a plan."""
    from bridge.process.parameters import format_value

    yield f"process {plan.name}  key {plan.key}"
    for name, value in plan.values.items():
        yield f"  param {name} = {'(none)' if value is None else format_value(value)}"
    for one in plan.inputs:
        yield f"  read {one.input.as_}: {one.location}"
        yield f"    {_version(one)}"
    for made in plan.steps:
        kind = "python" if made.step.python else "sql"
        also = ", written down" if made.step.materialize else ""
        yield f"  step {made.step.name} ({kind}{also}) <- {', '.join(made.reads) or 'nothing'}"
    for out in plan.outputs:
        how = f"{out.output.format}, {out.output.mode}"
        yield f"  write {out.output.dataset} <- {out.output.from_}: {out.location} ({how})"
        yield f"    {_becomes(out)}"
        for check in out.checks:
            about = f" of {', '.join(check.key_columns)}" if check.key_columns else ""
            yield f"    check {check.name or check.check}{about}, else {check.severity}"
    if plan.is_up_to_date:
        yield "nothing to do: this is published already"
    elif plan.all_outputs_exist:
        yield "all is written already: a run would publish it"


def plan_told(plan: "Plan") -> dict[str, Any]:
    """Give a plan for programs."""
    from bridge.process.parameters import format_value

    return {
        "process": plan.name,
        "namespace": plan.definition.process.namespace,
        "key": plan.key,
        "params": {name: None if value is None else format_value(value) for name, value in plan.values.items()},
        "inputs": [
            {
                "as": one.input.as_,
                "namespace": one.location.namespace,
                "name": one.location.name,
                "version": one.version,
                "by": one.resolved_by,
                "rows": one.rows,
                "paths": one.roots,
            }
            for one in plan.inputs
        ],
        "steps": [
            {"name": one.step.name, "reads": list(one.reads), "materialized": one.step.materialize}
            for one in plan.steps
        ],
        "outputs": [
            {
                "dataset": one.output.dataset,
                "namespace": one.location.namespace,
                "name": one.location.name,
                "from": one.output.from_,
                "format": one.output.format,
                "mode": one.output.mode,
                "path": one.path(one.folder),
                "idempotency_key": one.key,
                "published": one.published,
                "made_already": one.existing_version,
            }
            for one in plan.outputs
        ],
        "to_do": "nothing" if plan.is_up_to_date else "publish" if plan.all_outputs_exist else "run",
    }


def run_lines(ran: "RunResult") -> Iterator[str]:
    """Write how a run ended."""
    yield f"{ran.process}: {ran.ended}  run {ran.run_id}"
    for one in ran.outputs:
        rows = "" if one.rows is None else f"  {one.rows:,} rows"
        yield f"  {one.dataset}  version {one.version}{rows}  {one.path or ''}".rstrip()
    for check in ran.checks:
        yield f"  {'passed' if check.passed else check.severity}  {check.said}"


def _version(one: "PlannedInput") -> str:
    if one.version is None:
        return "what lies there now: no version of it is kept"
    rows = "" if one.rows is None else f", {one.rows:,} rows"
    files = f", in {len(one.roots)} folders" if len(one.roots) > 1 else ""
    return f"version {one.version} ({one.resolved_by}){rows}{files}"


def _becomes(out: "PlannedOutput") -> str:
    if out.existing_version is not None:
        return f"version {out.existing_version} is it already"
    before = f", in place of {out.published}" if out.published else ", the first to be published"
    return f"{out.path(out.folder) or 'where it lies'}{before}"
