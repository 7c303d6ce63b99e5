"""Makes the plan of a run: validates a process against the registry and the files, before Spark starts."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from bridge.catalogue.decided import Publication, ResolvedVersion
from bridge.catalogue.registry import Publications, Resolve
from bridge.process.address import Address, address_of
from bridge.process.check import Check
from bridge.process.content import Content
from bridge.process.contract import check_columns
from bridge.process.definition import FILES, LIVE, Definition, Input, Output, Place
from bridge.process.finding import Finder
from bridge.process.link import Link
from bridge.process.parameters import Given, bind, filled, written
from bridge.process.plan import Plan, PlannedInput, PlannedOutput
from bridge.process.steps import Made, make_steps
from connectors.spark.storage import Storage
from mappers.errors import BadSql, ConfigError, Conflict, UnknownName, Unready
from mappers.sql.tracing import trace, unmet

#: How far back it is looked for whether a version was rolled back.
_MOVES = 100


class Wanted(NamedTuple):
    """What somebody wants to run, and how."""

    definition: Definition
    file: Path
    params: Mapping[str, str]
    run_id: str
    #: Where datasets lie that are named by a word, where the file does not say it.
    lake: str | None = None
    #: What all attempts at this run share; else it is computed from all that goes into it.
    key: str | None = None
    #: Whether it shall be done again, though nothing has changed.
    anew: bool = False


class Planner:
    """Makes plans."""

    def __init__(self, link: Link, storage: Storage, now: datetime) -> None:
        self._link = link
        self._finder = Finder(link, storage)
        self._now = now

    def plan(self, wanted: Wanted) -> Plan:
        """Resolve everything; raises ConfigError for what is wrong with the file, Unready for what is not there."""
        definition, values = wanted.definition, bind(wanted.definition.params, wanted.params)
        steps, problems = make_steps(definition, wanted.file.parent)
        if problems:
            raise ConfigError("\n".join(f"{wanted.file}: {one}" for one in problems))
        inputs = self._inputs(definition, values, wanted.lake)
        outputs = outputs_of(definition, values, wanted.lake)
        names = {one.address: one.output.dataset for one in outputs}
        problems = [*check_contracts(inputs), *check_sql(steps, inputs), *self._cycles(inputs, names)]
        if problems:
            raise Unready("\n".join(problems))
        same = not wanted.anew and all(one.fingerprint is not None for one in inputs)
        key = wanted.key or _key(definition, steps, values, inputs, "" if same else wanted.run_id)
        whole = f"{definition.process.name}:{key}"
        planned = [self._output(one, whole, wanted.run_id) for one in outputs]
        return Plan(definition, wanted.file, values, wanted.run_id, key, inputs, steps, planned)

    def _inputs(self, definition: Definition, values: Mapping[str, Given], lake: str | None) -> list[PlannedInput]:
        found, problems = [], []
        for one in definition.inputs:
            try:
                whole = fill(one, values, f"inputs.{one.as_}")
                found.append(self._finder.find(whole, _address(whole, definition, values, lake)))
            except Unready as error:
                problems.append(str(error))
        if problems:
            raise Unready("\n".join(problems))
        return found

    def _output(self, one: "Written", key: str, run_id: str) -> PlannedOutput:
        """Say where a new version will lie, upon what it is built, and whether it is there already."""
        output, address, checks, step = one
        moves = self._moves(address)
        published = moves[0].to_version if moves else None
        now = self._resolved(address, f"version:{moves[0].version_id}") if moves else None
        tag = f"{self._now.astimezone(UTC):%Y%m%dT%H%M%S}-{run_id[-8:]}"
        if output.format not in FILES:
            key, found = self._in_table(output, address, key, now)
            back = _rolled_back(found, moves)
            return PlannedOutput(output, address, key, tag, published, None, found, back, checks, step)
        base = self._finder.content_of(now.path) if now and _builds(output) else None
        found = None
        if _builds(output):
            if base is not None and _is_in(base, key, output):
                found = published
            key = f"{key}@{published or ''}"
        if found is None:
            key, there = self._made(address, key)
            found = there.tag if there else None
        back = _rolled_back(found, moves)
        return PlannedOutput(output, address, key, tag, published, base, found, back, checks, step)

    def _in_table(
        self, output: Output, address: Address, key: str, now: ResolvedVersion | None
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

    def _made(self, address: Address, key: str) -> tuple[str, ResolvedVersion | None]:
        """Find the version that has a key; one that is not to be read is made again, under a key of its own."""
        tried = key
        for number in count(2):
            there = self._resolved(address, f"version:{tried}")
            if there is None or there.invalid is None:
                return tried, there
            tried = f"{key}~{number}"
        raise AssertionError

    def _moves(self, address: Address) -> list[Publication]:
        """List what was published last, the newest first, whatever is said against it since."""
        try:
            return self._link.ask(Publications(namespace=address.namespace, name=address.name, limit=_MOVES)).items
        except UnknownName:
            return []

    def _resolved(self, address: Address, pin: str) -> ResolvedVersion | None:
        try:
            return self._link.ask(Resolve(namespace=address.namespace, name=address.name, pin=pin))
        except (UnknownName, Conflict):
            return None

    def _cycles(self, inputs: Iterable[PlannedInput], outputs: Mapping[Address, str]) -> list[str]:
        """Find inputs that are made from outputs, by other jobs."""
        return [
            f"inputs.{one.input.as_} ({one.address}): is made from the output {output} by other processes: a cycle"
            for one in inputs
            if one.address not in outputs and one.by in {"published", "latest", LIVE} and not one.input.feedback
            for output in self._finder.made_from(one.address, outputs)
        ]


def fill(one: Input, values: Mapping[str, Given], where: str) -> Input:
    """Put the values of parameters into an input."""
    texts = {
        "dataset": filled(one.dataset, values, where),
        "pin": filled(one.pin, values, where),
        "partition": filled(one.partition, values, where) if one.partition else None,
        "manifest": filled(one.manifest, values, where) if one.manifest else None,
        "options": {
            key: filled(value, values, where) if isinstance(value, str) else value
            for key, value in one.options.items()
        },
    }
    # What is copied counts as given: a pin that nobody wrote is none.
    return one.model_copy(update={key: text for key, text in texts.items() if text != getattr(one, key)})


class Written(NamedTuple):
    """Something that is written, where, and what must hold of it."""

    output: Output
    address: Address
    checks: Sequence[Check]
    step: bool


def outputs_of(definition: Definition, values: Mapping[str, Given], lake: str | None) -> list[Written]:
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
        whole = one.model_copy(update={"dataset": filled(one.dataset, values, f"outputs.{name}")})
        checks = [check for check in definition.quality if check.on == name]
        if one.keys:
            checks.append(Check(on=name, check="unique", columns=list(one.keys), name="keys of the merge"))
        found.append(Written(whole, _address(whole, definition, values, lake), checks, i < steps))
    return found


def check_contracts(inputs: Iterable[PlannedInput]) -> list[str]:
    """Say which inputs are not what the process was promised."""
    return [
        said
        for one in inputs
        if one.columns
        for said in check_columns(f"inputs.{one.input.as_} ({one.address})", one.input.columns, one.columns)
    ]


def check_sql(steps: Iterable[Made], inputs: Iterable[PlannedInput]) -> list[str]:
    """Say which columns the SQL wants that are not there, as far as columns are known."""
    schemas: dict[str, list[str]] = {one.input.as_.lower(): list(one.columns) for one in inputs if one.columns}
    problems: list[str] = []
    for one in steps:
        if one.sql is None:
            if one.step.columns:
                schemas[one.step.name.lower()] = list(one.step.columns)
            continue
        said = unmet(one.sql, schemas)
        problems += [f"steps.{one.step.name}: {text}" for text in said]
        if not said and all(name.lower() in schemas for name in one.reads):
            try:
                schemas[one.step.name.lower()] = list(trace(one.sql, schemas).columns)
            except BadSql as error:
                problems.append(f"steps.{one.step.name}: {error}")
    return problems


def _address(place: Place, definition: Definition, values: Mapping[str, Given], lake: str | None) -> Address:
    url = place.options.get("url")
    lake = definition.process.lake or lake
    filled_lake = filled(lake, values, "process.lake") if lake else None
    return address_of(place.dataset, place.namespace, place.format, str(url) if url else None, filled_lake)


def _rolled_back(version: str | None, moves: Iterable[Publication]) -> bool:
    """Tell whether the last that was decided of a version is that it was taken back."""
    last = next((one for one in moves if version in {one.from_version, one.to_version}), None)
    return version is not None and last is not None and last.how == "rollback" and last.from_version == version


def _builds(output: Output) -> bool:
    """Tell whether a new version holds some of what the published one holds."""
    return output.mode != "overwrite" or output.replaces_partitions


def _is_in(base: Content, key: str, output: Output) -> bool:
    """Tell whether a version holds already what a run with a key would put there."""
    keys = [one.key for one in base.roots] if output.mode == "append" else [base.key]
    return any(one.partition("@")[0] == key for one in keys)


def _key(
    definition: Definition,
    steps: Iterable[Made],
    values: Mapping[str, Given],
    inputs: Iterable[PlannedInput],
    run: str,
) -> str:
    """Compute what tells this run from others: what is made of what, parameters, and the versions that are read."""
    told = {
        "definition": definition.model_dump(mode="json", by_alias=True, include={"inputs", "steps", "outputs"}),
        "code": {one.step.name: one.code for one in steps},
        "values": {name: written(value) for name, value in values.items() if value is not None},
        "inputs": {one.input.as_: one.fingerprint for one in inputs},
        "run": run,
    }
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()[:16]
