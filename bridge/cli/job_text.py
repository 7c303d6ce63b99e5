"""Text about the definition of a job: command, conditions, declared files and SLA."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class _DeclaredFile(msgspec.Struct, frozen=True):
    side: str
    namespace: str
    name: str
    evidence: str = ""


class _AutosysFacet(msgspec.Struct, frozen=True, rename="camel"):
    defined_in: str | None = None
    command: str | None = None
    retired: bool = False
    attributes: dict[str, Any] = {}
    speaks_of: list[_DeclaredFile] = []
    schedule: dict[str, Any] = {}


class _Job(msgspec.Struct, frozen=True):
    namespace: str
    name: str


class _Dependency(msgspec.Struct, frozen=True):
    job: _Job
    status_trigger_rule: str | None = None


class _DependenciesFacet(msgspec.Struct, frozen=True):
    upstream: list[_Dependency] = []


def autosys_lines(facets: Mapping[str, msgspec.Raw]) -> Iterator[str]:
    """Yield what the definition of an Autosys job declares; nothing for other jobs."""
    definition = _decode_facet(facets, "lineageBridge_autosys", _AutosysFacet)
    if definition is None:
        return
    attributes = definition.attributes
    status = "no longer defined in Autosys" if definition.retired else None
    yield from fact_lines(status=status, defined_in=definition.defined_in, command=definition.command)
    yield from fact_lines(machine=attributes.get("machine"), schedule=_schedule_text(definition.schedule))
    yield from fact_lines(condition=attributes.get("condition"))
    dependencies = _decode_facet(facets, "lineageBridge_jobDependencies", _DependenciesFacet)
    if dependencies is not None and dependencies.upstream:
        yield "  waits for:"
        for dependency in dependencies.upstream:
            rule = f"  {dependency.status_trigger_rule}" if dependency.status_trigger_rule else ""
            yield f"    {dependency.job.namespace} {dependency.job.name}{rule}"
    if definition.speaks_of:
        yield "  declared files:"
    for file in definition.speaks_of:
        yield f"    {file.side:<6}  {file.namespace} {file.name}  ({file.evidence})"


def _schedule_text(schedule: dict[str, Any]) -> str:
    """Describe a schedule by its attributes. Deadlines are part of the SLA."""
    attributes = [
        f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in schedule.items()
        if name not in ("active", "must_start_times", "must_complete_times")
    ]
    inactive = "" if schedule.get("active", True) else " (inactive: date_conditions is off)"
    return f"{'; '.join(attributes)}{inactive}" if attributes else ""


def _decode_facet(facets: Mapping[str, msgspec.Raw], name: str, facet_type: type[T]) -> T | None:
    """Decode a facet. Return None if the job lacks it, or if a producer sent it in another structure."""
    try:
        return msgspec.json.decode(facets[name], type=facet_type) if name in facets else None
    except msgspec.ValidationError:
        return None


#: How a member of an SLA is shown.
_SLA_TEXT = {
    "expected_by": "expected by {}",
    "must_start_times": "starts by {}",
    "must_complete_times": "completes by {}",
    "freshness": "at most {} old",
    "min_duration": "runs at least {}",
    "max_duration": "runs at most {}",
    "ended_after": "terminated after {}",
}
_SLA_ORDER = {name: position for position, name in enumerate(_SLA_TEXT)}


def sla_text(sla: dict[str, Any] | None) -> str:
    """Describe an SLA in words. The time zone applies to its times of day."""
    members = dict(sla or {})
    timezone = members.pop("timezone", None)
    phrases = []
    for name in sorted(members, key=lambda name: _SLA_ORDER.get(name, len(_SLA_ORDER))):
        value = members[name]
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        phrases.append(_SLA_TEXT[name].format(text) if name in _SLA_TEXT else f"{name} {text}")
    if phrases and timezone:
        phrases.append(f"time zone {timezone}")
    return "; ".join(phrases)


def fact_lines(**facts: object) -> Iterator[str]:
    """Yield a line for each fact that has a value."""
    for name, value in facts.items():
        if value not in (None, "", []):
            display_value = ", ".join(value) if isinstance(value, list) else value
            yield f"  {name.replace('_', ' ')}: {display_value}"
