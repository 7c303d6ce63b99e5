"""Builds a run plan and validates it against the registry and the files, before Spark starts."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from bridge.errors import NotFound, ProcessNotReady, StateConflict
from bridge.process.backend import ProcessBackend
from bridge.process.check_definition import CheckDefinition
from bridge.process.column_types import column_problems
from bridge.process.dataset_location import DatasetLocation, locate_dataset
from bridge.process.definition import FILE_FORMATS, LIVE, DatasetSpec, Input, Output, ProcessDefinition
from bridge.process.input_resolver import InputResolver
from bridge.process.manifest import VersionManifest, without_extended_tag
from bridge.process.parameters import ParameterValue, bind_parameters, format_value, substitute
from bridge.process.plan import Plan, PlannedInput, PlannedOutput
from bridge.process.steps import PlannedStep, load_steps, trace_steps
from bridge.queries.publications import PublicationsQuery
from bridge.queries.versions import ResolveVersionQuery
from bridge.versions.results import Publication, ResolvedVersion
from connectors.errors import ConfigError
from connectors.spark.file_system import FileSystems

#: Maximum number of publications that are searched for a rollback.
_MAX_PUBLICATIONS = 100


class RunRequest(NamedTuple):
    """What to run, and how."""

    definition: ProcessDefinition
    file: Path
    params: Mapping[str, str]
    run_id: str
    #: Base path for bare dataset names, unless the process file sets one.
    lake: str | None = None
    #: Idempotency key shared by all attempts; computed from the inputs by default.
    key: str | None = None
    #: Create a new version even if nothing changed.
    rerun: bool = False


class Planner:
    """Builds run plans."""

    def __init__(self, backend: ProcessBackend, file_systems: FileSystems, now: datetime) -> None:
        self._backend = backend
        self._resolver = InputResolver(backend, file_systems)
        self._now = now

    def plan(self, request: RunRequest) -> Plan:
        """Resolve inputs, steps and outputs of a run into a plan.

        Raises ConfigError if the process file is invalid, and ProcessNotReady if the run cannot start.
        """
        definition = request.definition
        values = bind_parameters(definition.params, request.params)
        steps, problems = load_steps(definition, request.file.parent)
        if problems:
            raise ConfigError("\n".join(f"{request.file}: {problem}" for problem in problems))
        inputs = self._resolve_inputs(definition, values, request.lake)
        outputs = resolve_outputs(definition, values, request.lake)
        output_names = {output.location: output.output.dataset for output in outputs}
        problems = [
            *contract_problems(inputs),
            *trace_steps(steps, _known_columns(inputs)).problems,
            *self._cycle_problems(inputs, output_names),
        ]
        if problems:
            raise ProcessNotReady("\n".join(problems))
        is_repeatable = all(planned_input.fingerprint is not None for planned_input in inputs)
        distinguishing_run_id = "" if is_repeatable else request.run_id
        key = request.key or _idempotency_key(definition, steps, values, inputs, distinguishing_run_id)
        process_key = f"{definition.process.name}:{key}"
        planned_outputs = [self._plan_output(output, process_key, request) for output in outputs]
        return Plan(definition, request.file, values, request.run_id, key, inputs, steps, planned_outputs)

    def _resolve_inputs(
        self, definition: ProcessDefinition, values: Mapping[str, ParameterValue], lake: str | None
    ) -> list[PlannedInput]:
        """Resolve all inputs. Raises ProcessNotReady with one line per input that cannot be resolved."""
        inputs, problems = [], []
        for input_ in definition.inputs:
            try:
                substituted = substitute_input(input_, values, f"inputs.{input_.as_}")
                location = _locate(substituted, definition, values, lake)
                inputs.append(self._resolver.resolve(substituted, location))
            except ProcessNotReady as error:
                problems.append(str(error))
        if problems:
            raise ProcessNotReady("\n".join(problems))
        return inputs

    def _plan_output(self, resolved_output: "ResolvedOutput", process_key: str, request: RunRequest) -> PlannedOutput:
        """Locate the new version, its base, and an existing version with the same key."""
        output, location, checks, is_step_output = resolved_output
        publications = self._list_publications(location)
        published_tag = published_version = None
        if publications:
            newest, *_ = publications
            published_tag = newest.to_version
            published_version = self._resolve_or_none(location, f"version:{newest.version_id}")
        base_manifest = existing = None
        extends_published = output.format in FILE_FORMATS and _extends_published(output)
        if extends_published and published_version is not None:
            base_manifest = self._resolver.read_version_manifest(published_version.path)
        key = f"{process_key}@{published_tag or ''}"
        if request.rerun:
            key = f"{key}+{request.run_id}"
        elif output.format not in FILE_FORMATS:
            key, existing = self._find_table_version(output, location, process_key, published_version)
        elif not extends_published:
            key, existing = self._find_replacement(location, process_key, published_version)
        elif base_manifest is not None and _contains_run(base_manifest, process_key, output):
            existing = published_version
        else:
            key, existing = self._find_by_key(location, key)
        return PlannedOutput(
            output,
            location,
            key,
            tag=f"{self._now.astimezone(UTC):%Y%m%dT%H%M%S}-{request.run_id[-8:]}",
            published_tag=published_tag,
            base_manifest=base_manifest,
            existing=existing,
            was_rolled_back=_was_rolled_back(existing.tag if existing else None, publications),
            checks=checks,
            is_step_output=is_step_output,
        )

    def _find_replacement(
        self, location: DatasetLocation, key: str, published_version: ResolvedVersion | None
    ) -> tuple[str, ResolvedVersion | None]:
        """Find the version with a key, preferably the published one, which may be that of a rerun."""
        if published_version is not None and published_version.invalid is None:
            published_key = published_version.idempotency_key or ""
            if without_extended_tag(published_key) == key:
                return published_key, published_version
        return self._find_by_key(location, key)

    def _find_table_version(
        self, output: Output, location: DatasetLocation, key: str, published_version: ResolvedVersion | None
    ) -> tuple[str, ResolvedVersion | None]:
        """Return the key of a table's next version, and the existing version with the same content, if any.

        Appended rows remain in all later versions. Rows that replaced others are lost with the next version, so they
        still exist only if their version is published_version, or newer than the published_version one.
        """
        if output.mode != "append":
            if published_version is not None and without_extended_tag(published_version.idempotency_key or "") == key:
                return key, published_version
            published_tag = published_version.tag if published_version else ""
            key = f"{key}@{published_tag}"
        version_key, existing = self._find_by_key(location, key)
        if existing is None:
            return version_key, None
        if published_version is not None and existing.produced_at <= published_version.produced_at:
            return version_key, published_version
        return version_key, existing

    def _find_by_key(self, location: DatasetLocation, key: str) -> tuple[str, ResolvedVersion | None]:
        """Find the valid version with a key. Return its key and, if there is one, the version.

        Keys of invalid versions are skipped by adding a suffix. Without a valid version, the returned key is free.
        """
        candidate_key = key
        for number in count(2):
            version = self._resolve_or_none(location, f"version:{candidate_key}")
            if version is None or version.invalid is None:
                break
            candidate_key = f"{key}~{number}"
        return candidate_key, version

    def _list_publications(self, location: DatasetLocation) -> list[Publication]:
        """Return the latest publications, newest first, including those that were rolled back."""
        try:
            return self._backend.query(
                PublicationsQuery(namespace=location.namespace, name=location.name, limit=_MAX_PUBLICATIONS)
            ).items
        except NotFound:
            return []

    def _resolve_or_none(self, location: DatasetLocation, pin: str) -> ResolvedVersion | None:
        try:
            return self._backend.query(ResolveVersionQuery(namespace=location.namespace, name=location.name, pin=pin))
        except (NotFound, StateConflict):
            return None

    def _cycle_problems(self, inputs: Iterable[PlannedInput], outputs: Mapping[DatasetLocation, str]) -> list[str]:
        """List inputs that derive from outputs of this process through other jobs."""
        problems = []
        for planned_input in inputs:
            location, input_ = planned_input.location, planned_input.input
            # A fixed version does not change when this process writes its outputs.
            is_fixed_version = planned_input.resolved_by not in {"published", "latest", LIVE}
            if location in outputs or input_.feedback or is_fixed_version:
                continue
            problems += [
                f"inputs.{input_.as_} ({location}): cycle: other processes derive it from output {output}"
                for output in self._resolver.outputs_upstream_of(location, outputs)
            ]
        return problems


def substitute_input(input_: Input, values: Mapping[str, ParameterValue], label: str) -> Input:
    """Substitute parameters in an input."""
    substituted_fields = {
        "dataset": substitute(input_.dataset, values, label),
        "pin": substitute(input_.pin, values, label),
        "partition": substitute(input_.partition, values, label) if input_.partition else None,
        "manifest": substitute(input_.manifest, values, label) if input_.manifest else None,
        "options": {
            key: substitute(value, values, label) if isinstance(value, str) else value
            for key, value in input_.options.items()
        },
    }
    # Copy only changed fields, because copied fields count as set; for example, a default pin must not.
    return input_.model_copy(
        update={key: value for key, value in substituted_fields.items() if value != getattr(input_, key)}
    )


class ResolvedOutput(NamedTuple):
    """An output with its location and checks."""

    output: Output
    location: DatasetLocation
    checks: Sequence[CheckDefinition]
    is_step_output: bool


def resolve_outputs(
    definition: ProcessDefinition, values: Mapping[str, ParameterValue], lake: str | None
) -> list[ResolvedOutput]:
    """Return everything to write: materialized steps, then outputs."""

    def resolve(name: str, output: Output, *, is_step_output: bool) -> ResolvedOutput:
        substituted = output.model_copy(update={"dataset": substitute(output.dataset, values, f"outputs.{name}")})
        checks = [check for check in definition.quality if check.on == name]
        if output.keys:
            checks.append(CheckDefinition(on=name, check="unique", columns=list(output.keys), name="merge keys"))
        location = _locate(substituted, definition, values, lake)
        return ResolvedOutput(substituted, location, checks, is_step_output)

    resolved_outputs = []
    for step in definition.steps:
        if step.materialize:
            dataset = f"{definition.process.name}/{step.name}"
            step_output = Output.model_validate({"dataset": dataset, "from": step.name, "columns": step.columns})
            resolved_outputs.append(resolve(step.name, step_output, is_step_output=True))
    resolved_outputs += [resolve(output.dataset, output, is_step_output=False) for output in definition.outputs]
    return resolved_outputs


def _known_columns(inputs: Iterable[PlannedInput]) -> dict[str, list[str]]:
    return {planned.input.as_: list(planned.columns) for planned in inputs if planned.columns}


def contract_problems(inputs: Iterable[PlannedInput]) -> list[str]:
    """List missing columns, and columns with unexpected types, of all inputs."""
    problems = []
    for planned_input in inputs:
        if planned_input.columns:
            label = f"inputs.{planned_input.input.as_} ({planned_input.location})"
            problems += column_problems(label, planned_input.input.columns, planned_input.columns)
    return problems


def _locate(
    dataset: DatasetSpec, definition: ProcessDefinition, values: Mapping[str, ParameterValue], lake: str | None
) -> DatasetLocation:
    """Locate a dataset of a process file. The lake of the process takes precedence over `lake`."""
    url = dataset.options.get("url")
    lake = definition.process.lake or lake
    substituted_lake = substitute(lake, values, "process.lake") if lake else None
    return locate_dataset(
        dataset.dataset, dataset.namespace, dataset.format, str(url) if url else None, substituted_lake
    )


def _was_rolled_back(version: str | None, publications: Iterable[Publication]) -> bool:
    """Return True if the newest publication that involves a version rolled the version back."""
    if version is None:
        return False
    for publication in publications:
        if version in {publication.from_version, publication.to_version}:
            return publication.how == "rollback" and publication.from_version == version
    return False


def _extends_published(output: Output) -> bool:
    """Return True if a new version contains parts of the published version."""
    return output.mode != "overwrite" or output.replaces_partitions


def _contains_run(base: VersionManifest, key: str, output: Output) -> bool:
    """Return True if a version already contains the output of a run with this key."""
    stored_keys = [root.key for root in base.roots] if output.mode == "append" else [base.key]
    return key in map(without_extended_tag, stored_keys)


def _idempotency_key(
    definition: ProcessDefinition,
    steps: Iterable[PlannedStep],
    values: Mapping[str, ParameterValue],
    inputs: Iterable[PlannedInput],
    distinguishing_run_id: str,
) -> str:
    """Return a hash of everything that determines the result: definition, code, parameters and input versions.

    `distinguishing_run_id` is empty if runs with the same inputs have the same result.
    """
    determinants = {
        "definition": definition.model_dump(mode="json", by_alias=True, include={"inputs", "steps", "outputs"}),
        "code": {planned_step.step.name: planned_step.source_code for planned_step in steps},
        "values": {name: format_value(value) for name, value in values.items() if value is not None},
        "inputs": {planned_input.input.as_: planned_input.fingerprint for planned_input in inputs},
        "run": distinguishing_run_id,
    }
    return hashlib.sha256(msgspec.json.encode(determinants, order="sorted")).hexdigest()[:16]
