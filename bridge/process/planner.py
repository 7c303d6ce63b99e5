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
from bridge.process.manifest import VersionManifest
from bridge.process.parameters import ParameterValue, bind_parameters, format_value, substitute
from bridge.process.plan import Plan, PlannedInput, PlannedOutput
from bridge.process.steps import PlannedStep, load_steps
from bridge.queries.publications import PublicationsQuery
from bridge.queries.versions import ResolveVersionQuery
from bridge.versions.results import Publication, ResolvedVersion
from connectors.errors import ConfigError
from connectors.spark.file_system import FileSystems
from mappers.errors import InvalidSql
from mappers.sql.lineage import missing_columns, trace_columns

#: How far back it is looked for whether a version was rolled back.
_MOVES = 100


class RunRequest(NamedTuple):
    """What somebody wants to run, and how."""

    definition: ProcessDefinition
    file: Path
    params: Mapping[str, str]
    run_id: str
    #: Where datasets lie that are named by a word, where the file does not say it.
    lake: str | None = None
    #: What all attempts at this run share; else it is computed from all that goes into it.
    key: str | None = None
    #: Whether it shall be done again, though nothing has changed.
    rerun: bool = False


class Planner:
    """Makes plans."""

    def __init__(self, link: ProcessBackend, storage: FileSystems, now: datetime) -> None:
        self._link = link
        self._finder = InputResolver(link, storage)
        self._now = now

    def plan(self, wanted: RunRequest) -> Plan:
        """Resolve everything; raises ConfigError for what is wrong with the file, Unready for what is not there."""
        definition, values = wanted.definition, bind_parameters(wanted.definition.params, wanted.params)
        steps, problems = load_steps(definition, wanted.file.parent)
        if problems:
            raise ConfigError("\n".join(f"{wanted.file}: {one}" for one in problems))
        inputs = self._inputs(definition, values, wanted.lake)
        outputs = resolve_outputs(definition, values, wanted.lake)
        names = {one.address: one.output.dataset for one in outputs}
        problems = [*contract_problems(inputs), *sql_problems(steps, inputs), *self._cycles(inputs, names)]
        if problems:
            raise ProcessNotReady("\n".join(problems))
        same = not wanted.rerun and all(one.fingerprint is not None for one in inputs)
        key = wanted.key or _idempotency_key(definition, steps, values, inputs, "" if same else wanted.run_id)
        whole = f"{definition.process.name}:{key}"
        planned = [self._output(one, whole, wanted.run_id) for one in outputs]
        return Plan(definition, wanted.file, values, wanted.run_id, key, inputs, steps, planned)

    def _inputs(
        self, definition: ProcessDefinition, values: Mapping[str, ParameterValue], lake: str | None
    ) -> list[PlannedInput]:
        found, problems = [], []
        for one in definition.inputs:
            try:
                whole = substitute_input(one, values, f"inputs.{one.as_}")
                found.append(self._finder.resolve(whole, _address(whole, definition, values, lake)))
            except ProcessNotReady as error:
                problems.append(str(error))
        if problems:
            raise ProcessNotReady("\n".join(problems))
        return found

    def _output(self, one: "ResolvedOutput", key: str, run_id: str) -> PlannedOutput:
        """Say where a new version will lie, upon what it is built, and whether it is there already."""
        output, address, checks, step = one
        moves = self._publications(address)
        published = moves[0].to_version if moves else None
        now = self._resolved(address, f"version:{moves[0].version_id}") if moves else None
        tag = f"{self._now.astimezone(UTC):%Y%m%dT%H%M%S}-{run_id[-8:]}"
        if output.format not in FILE_FORMATS:
            key, found = self._find_table_version(output, address, key, now)
            back = _rolled_back(found, moves)
            return PlannedOutput(output, address, key, tag, published, None, found, back, checks, step)
        base = self._finder.read_version_manifest(now.path) if now and _extends_published(output) else None
        found = None
        if _extends_published(output):
            if base is not None and _contains_run(base, key, output):
                found = published
            key = f"{key}@{published or ''}"
        if found is None:
            key, there = self._made(address, key)
            found = there.tag if there else None
        back = _rolled_back(found, moves)
        return PlannedOutput(output, address, key, tag, published, base, found, back, checks, step)

    def _find_table_version(
        self, output: Output, address: DatasetLocation, key: str, now: ResolvedVersion | None
    ) -> tuple[str, str | None]:
        """Give the key of a table's next version, and the version that has it already.

        Rows that were appended stay in all versions after theirs. What takes the place of other rows is gone with the
        next version: it is there already only where it is what is published, or is still to be.
        """
        if output.mode != "append":
            if now is not None and (now.idempotency_key or "").partition("@")[0] == key:
                return key, now.tag
            key = f"{key}@{now.tag if now else ''}"
        key, there = self._made(address, key)
        if there is None:
            return key, None
        return key, now.tag if now is not None and there.produced_at <= now.produced_at else there.tag

    def _made(self, address: DatasetLocation, key: str) -> tuple[str, ResolvedVersion | None]:
        """Find the version that has a key; one that is not to be read is made again, under a key of its own."""
        tried = key
        for number in count(2):
            there = self._resolved(address, f"version:{tried}")
            if there is None or there.invalid is None:
                return tried, there
            tried = f"{key}~{number}"
        raise AssertionError

    def _publications(self, address: DatasetLocation) -> list[Publication]:
        """List what was published last, the newest first, whatever is said against it since."""
        try:
            return self._link.query(
                PublicationsQuery(namespace=address.namespace, name=address.name, limit=_MOVES)
            ).items
        except NotFound:
            return []

    def _resolved(self, address: DatasetLocation, pin: str) -> ResolvedVersion | None:
        try:
            return self._link.query(ResolveVersionQuery(namespace=address.namespace, name=address.name, pin=pin))
        except (NotFound, StateConflict):
            return None

    def _cycles(self, inputs: Iterable[PlannedInput], outputs: Mapping[DatasetLocation, str]) -> list[str]:
        """Find inputs that are made from outputs, by other jobs."""
        return [
            f"inputs.{one.input.as_} ({one.address}): is made from the output {output} by other processes: a cycle"
            for one in inputs
            if one.address not in outputs
            and one.resolved_by in {"published", "latest", LIVE}
            and not one.input.feedback
            for output in self._finder.outputs_upstream_of(one.address, outputs)
        ]


def substitute_input(one: Input, values: Mapping[str, ParameterValue], where: str) -> Input:
    """Put the values of parameters into an input."""
    texts = {
        "dataset": substitute(one.dataset, values, where),
        "pin": substitute(one.pin, values, where),
        "partition": substitute(one.partition, values, where) if one.partition else None,
        "manifest": substitute(one.manifest, values, where) if one.manifest else None,
        "options": {
            key: substitute(value, values, where) if isinstance(value, str) else value
            for key, value in one.options.items()
        },
    }
    # What is copied counts as given: a pin that nobody wrote is none.
    return one.model_copy(update={key: text for key, text in texts.items() if text != getattr(one, key)})


class ResolvedOutput(NamedTuple):
    """Something that is written, where, and what must hold of it."""

    output: Output
    address: DatasetLocation
    checks: Sequence[CheckDefinition]
    step: bool


def resolve_outputs(
    definition: ProcessDefinition, values: Mapping[str, ParameterValue], lake: str | None
) -> list[ResolvedOutput]:
    """Give all that is written: steps that are written down, then the outputs."""
    outputs = [
        (
            one.name,
            Output.model_validate(
                {"dataset": f"{definition.process.name}/{one.name}", "from": one.name, "columns": one.columns}
            ),
        )
        for one in definition.steps
        if one.materialize
    ]
    steps = len(outputs)
    outputs += [(one.dataset, one) for one in definition.outputs]
    found = []
    for i, (name, one) in enumerate(outputs):
        whole = one.model_copy(update={"dataset": substitute(one.dataset, values, f"outputs.{name}")})
        checks = [check for check in definition.quality if check.on == name]
        if one.keys:
            checks.append(CheckDefinition(on=name, check="unique", columns=list(one.keys), name="keys of the merge"))
        found.append(ResolvedOutput(whole, _address(whole, definition, values, lake), checks, i < steps))
    return found


def contract_problems(inputs: Iterable[PlannedInput]) -> list[str]:
    """Say which inputs are not what the process was promised."""
    return [
        said
        for one in inputs
        if one.columns
        for said in column_problems(f"inputs.{one.input.as_} ({one.address})", one.input.columns, one.columns)
    ]


def sql_problems(steps: Iterable[PlannedStep], inputs: Iterable[PlannedInput]) -> list[str]:
    """Say which columns the SQL wants that are not there, as far as columns are known."""
    schemas: dict[str, list[str]] = {one.input.as_.lower(): list(one.columns) for one in inputs if one.columns}
    problems: list[str] = []
    for one in steps:
        if one.sql is None:
            if one.step.columns:
                schemas[one.step.name.lower()] = list(one.step.columns)
            continue
        said = missing_columns(one.sql, schemas)
        problems += [f"steps.{one.step.name}: {text}" for text in said]
        if not said and all(name.lower() in schemas for name in one.reads):
            try:
                schemas[one.step.name.lower()] = list(trace_columns(one.sql, schemas).columns)
            except InvalidSql as error:
                problems.append(f"steps.{one.step.name}: {error}")
    return problems


def _address(
    place: DatasetSpec, definition: ProcessDefinition, values: Mapping[str, ParameterValue], lake: str | None
) -> DatasetLocation:
    url = place.options.get("url")
    lake = definition.process.lake or lake
    filled_lake = substitute(lake, values, "process.lake") if lake else None
    return locate_dataset(place.dataset, place.namespace, place.format, str(url) if url else None, filled_lake)


def _rolled_back(version: str | None, moves: Iterable[Publication]) -> bool:
    """Tell whether the last that was decided of a version is that it was taken back."""
    last = next((one for one in moves if version in {one.from_version, one.to_version}), None)
    return version is not None and last is not None and last.how == "rollback" and last.from_version == version


def _extends_published(output: Output) -> bool:
    """Tell whether a new version holds some of what the published one holds."""
    return output.mode != "overwrite" or output.replaces_partitions


def _contains_run(base: VersionManifest, key: str, output: Output) -> bool:
    """Tell whether a version holds already what a run with a key would put there."""
    keys = [one.key for one in base.roots] if output.mode == "append" else [base.key]
    return any(one.partition("@")[0] == key for one in keys)


def _idempotency_key(
    definition: ProcessDefinition,
    steps: Iterable[PlannedStep],
    values: Mapping[str, ParameterValue],
    inputs: Iterable[PlannedInput],
    run: str,
) -> str:
    """Compute what tells this run from others: what is made of what, parameters, and the versions that are read."""
    told = {
        "definition": definition.model_dump(mode="json", by_alias=True, include={"inputs", "steps", "outputs"}),
        "code": {one.step.name: one.source_code for one in steps},
        "values": {name: format_value(value) for name, value in values.items() if value is not None},
        "inputs": {one.input.as_: one.fingerprint for one in inputs},
        "run": run,
    }
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()[:16]
