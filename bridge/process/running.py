"""Runs a process from its first word to the last: nothing is published, or all of it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import msgspec

from bridge.orders.definitions import Describe, Register
from bridge.orders.orders import Publish, ToPublish
from bridge.orders.signer import user
from bridge.process.failure import told
from bridge.process.finding import check_manifest
from bridge.process.link import Link, send_own
from bridge.process.parameters import written
from bridge.process.plan import Plan, PlannedInput, PlannedOutput
from bridge.process.telling import Flow, Parent, Read, State, Who, Written, job_event, run_event, version_event
from bridge.process.working import Work, lineage_names
from bridge.process.writing import Result
from connectors.spark.storage import Storage
from mappers.errors import Conflict, JobFailed, LineageBridgeError
from mappers.secrets import without_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Ended = Literal["published", "unchanged"]


class VersionMade(msgspec.Struct, frozen=True):
    """A version that a run made, or that was made already."""

    dataset: str
    version: str
    rows: int | None
    checksum: str | None
    path: str | None


class CheckMade(msgspec.Struct, frozen=True):
    """How a check ended."""

    on: str
    check: str
    column: str | None
    severity: str
    passed: bool
    said: str


class Ran(msgspec.Struct, frozen=True):
    """How a run ended well: what is published now, and whether it was so before."""

    process: str
    run_id: str
    key: str
    ended: Ended
    publication: int | None
    outputs: list[VersionMade]
    checks: list[CheckMade]


class Runner:
    """Runs one plan."""

    def __init__(
        self,
        plan: Plan,
        link: Link,
        storage: Storage,
        session: "Callable[[], SparkSession]",
        *,
        staging: str,
        parent: Parent | None = None,
        said: Callable[[str], None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._plan = plan
        self._link = link
        self._storage = storage
        self._session = session
        self._staging = staging
        self._parent = parent
        self._said = said
        self._clock = clock
        self._work: Work | None = None

    def run(self) -> Ran:
        """Run it; what it raises says why nothing was published."""
        plan = self._plan
        if plan.done:
            self._said("nothing to do: what this would make is published already (--anew makes it again)")
            return self._ran("unchanged", None)
        if plan.found and (back := [one for one in plan.outputs if one.taken_back]):
            named = ", ".join(f"{one.output.dataset} {one.found}" for one in back)
            remedy = "--anew makes another version, `dataset publish` brings it back"
            raise Conflict(f"what this would make was published and rolled back since ({named}): {remedy}")
        register(plan, self._link, self._clock())
        if plan.found:
            self._said("what this would make is written already: it is published now")
            return self._publish()
        self._tell("START")
        try:
            self._do()
        except KeyboardInterrupt:
            self._end("ABORT", "interrupted")
            raise
        except LineageBridgeError as error:
            self._end("FAIL", str(error))
            raise
        except Exception as error:
            # Whatever Spark, or the Python of a step, raises: the run is told to have failed, and why.
            doing = f"{self._work.doing}: " if self._work else ""
            failed = JobFailed(f"{doing}{told(error)}")
            self._end("FAIL", str(failed))
            raise failed from error
        self._tell("COMPLETE")
        return self._publish()

    def _do(self) -> None:
        for one in self._plan.inputs:
            check_manifest(one, self._storage)
        work = Work(self._session(), self._storage, self._plan, self._staging, self._clock(), self._said)
        self._work = work
        work.read()
        for one in self._plan.inputs:
            if one.manifest is not None:
                found = version_event(_read(one), self._clock(), one.rows, one.address.location)
                send_own(self._link, found)
        work.write()
        work.check()
        work.finish()

    def _end(self, state: State, why: str) -> None:
        """Tell that the run failed; that it cannot be told is said, and hides nothing."""
        try:
            self._tell(state, why)
        except LineageBridgeError as error:
            self._said(f"that the run failed could not be told: {error}")

    def _tell(self, state: State, error: str | None = None) -> None:
        plan = self._plan
        reads = [_read(one) for one in plan.inputs]
        flows = [self._flow(one) for one in plan.outputs]
        writes = [self._written(one, flow) for one, flow in zip(plan.outputs, flows, strict=True)]
        steps = self._work.making.steps() if self._work else ()
        who = who_of(plan)._replace(parent=self._parent, steps=steps, flows=flows)
        send_own(self._link, run_event(state, who, self._clock(), reads, writes, error))

    def _written(self, planned: PlannedOutput, flow: Flow) -> Written:
        result = self._work.results.get(planned.output.dataset) if self._work else None
        if result is None or self._work is None:
            return Written(planned.address, None, planned.key, None)
        return Written(
            planned.address,
            result.version,
            planned.key,
            planned.path(result.folder),
            result.content.columns,
            [f"{planned.address.location}/{one}" for one in result.partitions],
            result.rows,
            result.bytes,
            result.files,
            flow,
            result.outcomes,
            result.profile,
        )

    def _flow(self, planned: PlannedOutput) -> Flow:
        """Tell what an output is made from, down to columns as soon as these are known."""
        flow = Flow(planned.address, self._plan.sources_of(planned))
        if self._work is None or planned.output.dataset not in self._work.results:
            return flow
        making, view = self._work.making, planned.output.from_
        columns = making.origin(view) if planned.step else making.lineage(view)
        return flow._replace(columns=columns, views=lineage_names(self._plan))

    def _publish(self) -> Ran:
        """Publish all outputs or none, provided that nobody published anything else meanwhile."""
        results = self._work.results if self._work else {}
        wanted = []
        for one in self._plan.outputs:
            result = results.get(one.output.dataset)
            where = {"namespace": one.address.namespace, "name": one.address.name}
            if result is not None:
                more = {"process": self._plan.name, "rows": result.content.rows}
                self._link.order(Describe(**where, version=one.key, metadata=more, checksum=result.content.checksum))
            version = one.found if result is None and one.found else one.key
            wanted.append(ToPublish(**where, version=version, expected=one.published))
        why = f"run {self._plan.run_id} of {self._plan.name}"
        made = self._link.order(Publish(datasets=wanted, by=user(), why=why))
        ran = self._ran("published", made.publication)
        self._said("published: " + ", ".join(f"{one.dataset} {one.version}" for one in ran.outputs))
        return ran

    def _ran(self, ended: Ended, publication: int | None) -> Ran:
        results = self._work.results if self._work else {}
        outputs = [_made(one, results.get(one.output.dataset)) for one in self._plan.outputs]
        checks = [
            CheckMade(one.check.on, one.check.check, one.check.column, one.check.severity, one.passed, str(one))
            for result in results.values()
            for one in result.outcomes
        ]
        return Ran(self._plan.name, self._plan.run_id, self._plan.key, ended, publication, outputs, checks)


def register(plan: Plan, link: Link, at: datetime) -> None:
    """Let the definition be in effect, and what it reads and writes be known."""
    of = plan.definition
    whole = of.model_dump(mode="json", by_alias=True, exclude_none=True)
    safe = without_secrets(whole)
    link.order(Register(namespace=of.process.namespace, name=of.process.name, definition=safe, by=user()))
    reads, writes = [one.address for one in plan.inputs], [one.address for one in plan.outputs]
    flows = [Flow(one.address, plan.sources_of(one)) for one in plan.outputs]
    send_own(link, job_event(who_of(plan)._replace(flows=flows), at, reads, writes))


def who_of(plan: Plan) -> Who:
    """Name the process and its run."""
    of = plan.definition.process
    values = {name: written(value) for name, value in plan.values.items() if value is not None}
    return Who(of.namespace, of.name, plan.run_id, of.owner, of.description, None, values)


def _read(one: PlannedInput) -> Read:
    return Read(one.address, one.version, one.columns)


def _made(planned: PlannedOutput, result: Result | None) -> VersionMade:
    if result is None:
        return VersionMade(planned.output.dataset, planned.found or planned.tag, None, None, None)
    content = result.content
    path = planned.path(result.folder)
    return VersionMade(planned.output.dataset, result.version, content.rows, content.checksum, path)
