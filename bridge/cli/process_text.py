"""Text and JSON output of `lineage-bridge process`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mappers.counts import count_of

if TYPE_CHECKING:
    from bridge.process.plan import Plan, PlannedInput, PlannedOutput
    from bridge.process.runner import RunResult


def plan_lines(plan: "Plan") -> Iterator[str]:
    """List what a run would read, run and write."""
    from bridge.process.parameters import format_value

    yield f"process {plan.name}  key {plan.key}"
    for name, value in plan.values.items():
        text = "(none)" if value is None else format_value(value)
        yield f"  param {name} = {text}"
    for planned_input in plan.inputs:
        yield f"  read {planned_input.input.as_}: {planned_input.location}"
        yield f"    {_input_version_text(planned_input)}"
    for planned_step in plan.steps:
        step = planned_step.step
        language = "python" if step.python else "sql"
        materialized = ", materialized" if step.materialize else ""
        yield f"  step {step.name} ({language}{materialized}) <- {', '.join(planned_step.reads) or 'nothing'}"
    for planned_output in plan.outputs:
        output = planned_output.output
        details = f"{planned_output.location} ({output.format}, {output.mode})"
        yield f"  write {output.dataset} <- {output.from_}: {details}"
        yield f"    {_output_version_text(planned_output)}"
        for check in planned_output.checks:
            columns = f" of {', '.join(check.key_columns)}" if check.key_columns else ""
            yield f"    check {check.name or check.check}{columns}, severity {check.severity}"
    if plan.all_outputs_exist and plan.has_unchecked_outputs:
        yield "the checks have changed; a run would check the existing versions"
    if plan.is_up_to_date:
        yield "nothing to write: outputs are already published"
    elif plan.all_outputs_exist:
        yield "all outputs are written; a run would publish them"


def plan_json(plan: "Plan") -> dict[str, Any]:
    from bridge.process.parameters import format_value

    return {
        "process": plan.name,
        "namespace": plan.definition.process.namespace,
        "key": plan.key,
        "params": {name: None if value is None else format_value(value) for name, value in plan.values.items()},
        "inputs": [
            {
                "as": planned.input.as_,
                "namespace": planned.location.namespace,
                "name": planned.location.name,
                "version": planned.version,
                "by": planned.resolved_by,
                "rows": planned.rows,
                "paths": planned.roots,
            }
            for planned in plan.inputs
        ],
        "steps": [
            {"name": planned.step.name, "reads": list(planned.reads), "materialized": planned.step.materialize}
            for planned in plan.steps
        ],
        "outputs": [
            {
                "dataset": planned.output.dataset,
                "namespace": planned.location.namespace,
                "name": planned.location.name,
                "from": planned.output.from_,
                "format": planned.output.format,
                "mode": planned.output.mode,
                "path": planned.path(planned.folder),
                "idempotency_key": planned.key,
                "published": planned.published_tag,
                "made_already": planned.existing_version,
            }
            for planned in plan.outputs
        ],
        "to_do": _next_action(plan),
    }


def _next_action(plan: "Plan") -> str:
    if plan.is_up_to_date:
        return "check" if plan.has_unchecked_outputs else "nothing"
    return "publish" if plan.all_outputs_exist else "run"


def run_lines(result: "RunResult") -> Iterator[str]:
    """List the outputs and the check results of a run."""
    # A run that writes nothing is not reported, so the store does not contain its id.
    run = "" if result.ended == "unchanged" else f"  run {result.run_id}"
    yield f"{result.process}: {result.ended}{run}"
    for output in result.outputs:
        rows = "" if output.rows is None else f"  {count_of(output.rows, 'row')}"
        yield f"  {output.dataset}  version {output.version}{rows}  {output.path or ''}".rstrip()
    for check in result.checks:
        state = "passed" if check.passed else check.severity
        yield f"  {state}  {check.said}"


def _input_version_text(planned_input: "PlannedInput") -> str:
    if planned_input.version is None:
        return "the current content: it has no versions"
    rows = "" if planned_input.rows is None else f", {count_of(planned_input.rows, 'row')}"
    folders = f", in {len(planned_input.roots)} folders" if len(planned_input.roots) > 1 else ""
    return f"version {planned_input.version} ({planned_input.resolved_by}){rows}{folders}"


def _output_version_text(planned_output: "PlannedOutput") -> str:
    if planned_output.existing_version is not None:
        return f"version {planned_output.existing_version} has this content"
    effect = f"replaces {planned_output.published_tag}" if planned_output.published_tag else "first published version"
    return f"{planned_output.path(planned_output.folder) or 'in place'}, {effect}"
