"""Runs a plan from the START event to atomic publication of all outputs."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bridge.errors import JobFailed, StateConflict
from bridge.process.backend import ProcessBackend, send_event
from bridge.process.executor import PlanExecutor, lineage_sources
from bridge.process.input_resolver import verify_delivery
from bridge.process.output_writer import WriteResult
from bridge.process.parameters import format_value
from bridge.process.plan import Plan, PlannedInput, PlannedOutput
from bridge.process.run_events import (
    OutputLineage,
    ParentRun,
    ReadDataset,
    RunContext,
    State,
    WrittenDataset,
    job_event,
    run_event,
    version_event,
)
from bridge.versions.command import current_user
from bridge.versions.metadata_commands import PatchMetadataCommand, RegisterDefinitionCommand
from bridge.versions.publish_commands import PublishCommand, PublishItem
from connectors.spark.file_system import FileSystems
from mappers.errors import LineageBridgeError
from mappers.redaction import redact_document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAX_CHARACTERS = 500
_CAUSES = 20
_CLASS = re.compile(r"^(?:[\w$]+\.)+([\w$]+(?:Exception|Error)): ")


def error_summary(error: BaseException) -> str:
    """Say what happened: of a chain of Java's causes the first, which is what all others come from."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    text = _root(java) if java is not None and hasattr(java, "getCause") else f"{error}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = " ".join(lines[:2]) if lines and lines[0].endswith(":") else lines[0] if lines else type(error).__name__
    said = _CLASS.sub(r"\1: ", said)
    return said if len(said) <= _MAX_CHARACTERS else f"{said[:_MAX_CHARACTERS]}…"


def _root(java: Any) -> str:
    for _ in range(_CAUSES):
        cause = java.getCause()
        if cause is None:
            break
        java = cause
    return str(java.toString())


RunConclusion = Literal["published", "unchanged"]


class OutputVersion(msgspec.Struct, frozen=True):
    """A version that a run made, or that was made already."""

    dataset: str
    version: str
    rows: int | None
    checksum: str | None
    path: str | None


class CheckSummary(msgspec.Struct, frozen=True):
    """How a check ended."""

    on: str
    check: str
    column: str | None
    severity: str
    passed: bool
    said: str


class RunResult(msgspec.Struct, frozen=True):
    """How a run ended well: what is published now, and whether it was so before."""

    process: str
    run_id: str
    key: str
    ended: RunConclusion
    publication: int | None
    outputs: list[OutputVersion]
    checks: list[CheckSummary]


class ProcessRunner:
    """Runs one plan."""

    def __init__(
        self,
        plan: Plan,
        link: ProcessBackend,
        storage: FileSystems,
        session: "Callable[[], SparkSession]",
        *,
        staging: str,
        parent: ParentRun | None = None,
        report: Callable[[str], None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._plan = plan
        self._link = link
        self._storage = storage
        self._session = session
        self._staging = staging
        self._parent = parent
        self._said = report
        self._clock = clock
        self._work: PlanExecutor | None = None

    def run(self) -> RunResult:
        """Run it; what it raises says why nothing was published."""
        plan = self._plan
        if plan.is_up_to_date:
            self._said("nothing to do: what this would make is published already (--anew makes it again)")
            return self._run_result("unchanged", None)
        if plan.all_outputs_exist and (back := [one for one in plan.outputs if one.was_rolled_back]):
            named = ", ".join(f"{one.output.dataset} {one.existing_version}" for one in back)
            remedy = "--anew makes another version, `dataset publish` brings it back"
            raise StateConflict(f"what this would make was published and rolled back since ({named}): {remedy}")
        register_definition(plan, self._link, self._clock())
        if plan.all_outputs_exist:
            self._said("what this would make is written already: it is published now")
            return self._publish()
        self._send_run_event("START")
        try:
            self._execute()
        except KeyboardInterrupt:
            self._send_failure("ABORT", "interrupted")
            raise
        except LineageBridgeError as error:
            self._send_failure("FAIL", str(error))
            raise
        except Exception as error:
            # Whatever Spark, or the Python of a step, raises: the run is told to have failed, and why.
            doing = f"{self._work.current_action}: " if self._work else ""
            failed = JobFailed(f"{doing}{error_summary(error)}")
            self._send_failure("FAIL", str(failed))
            raise failed from error
        self._send_run_event("COMPLETE")
        return self._publish()

    def _execute(self) -> None:
        for one in self._plan.inputs:
            verify_delivery(one, self._storage)
        work = PlanExecutor(self._session(), self._storage, self._plan, self._staging, self._clock(), self._said)
        self._work = work
        work.read()
        for one in self._plan.inputs:
            if one.delivery is not None:
                found = version_event(_read(one), self._clock(), one.rows, one.address.location)
                send_event(self._link, found)
        work.write()
        work.check()
        work.commit()

    def _send_failure(self, state: State, why: str) -> None:
        """Tell that the run failed; that it cannot be told is said, and hides nothing."""
        try:
            self._send_run_event(state, why)
        except LineageBridgeError as error:
            self._said(f"that the run failed could not be told: {error}")

    def _send_run_event(self, state: State, error: str | None = None) -> None:
        plan = self._plan
        reads = [_read(one) for one in plan.inputs]
        flows = [self._output_lineage(one) for one in plan.outputs]
        writes = [self._written(one, flow) for one, flow in zip(plan.outputs, flows, strict=True)]
        steps = self._work.views.step_facets() if self._work else ()
        who = run_context(plan)._replace(parent=self._parent, steps=steps, flows=flows)
        send_event(self._link, run_event(state, who, self._clock(), reads, writes, error))

    def _written(self, planned: PlannedOutput, flow: OutputLineage) -> WrittenDataset:
        result = self._work.results.get(planned.output.dataset) if self._work else None
        if result is None or self._work is None:
            return WrittenDataset(planned.address, None, planned.key, None)
        return WrittenDataset(
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

    def _output_lineage(self, planned: PlannedOutput) -> OutputLineage:
        """Tell what an output is made from, down to columns as soon as these are known."""
        flow = OutputLineage(planned.address, self._plan.source_datasets(planned))
        if self._work is None or planned.output.dataset not in self._work.results:
            return flow
        making, view = self._work.views, planned.output.from_
        columns = making.written_lineage(view) if planned.is_step else making.column_lineage(view)
        return flow._replace(columns=columns, views=lineage_sources(self._plan))

    def _publish(self) -> RunResult:
        """Publish all outputs or none, provided that nobody published anything else meanwhile."""
        results = self._work.results if self._work else {}
        wanted = []
        for one in self._plan.outputs:
            result = results.get(one.output.dataset)
            where = {"namespace": one.address.namespace, "name": one.address.name}
            if result is not None:
                more = {"process": self._plan.name, "rows": result.content.rows}
                self._link.execute(
                    PatchMetadataCommand(**where, version=one.key, metadata=more, checksum=result.content.checksum)
                )
            version = one.existing_version if result is None and one.existing_version else one.key
            wanted.append(PublishItem(**where, version=version, expected=one.published))
        why = f"run {self._plan.run_id} of {self._plan.name}"
        made = self._link.execute(PublishCommand(datasets=wanted, by=current_user(), why=why))
        ran = self._run_result("published", made.publication)
        self._said("published: " + ", ".join(f"{one.dataset} {one.version}" for one in ran.outputs))
        return ran

    def _run_result(self, ended: RunConclusion, publication: int | None) -> RunResult:
        results = self._work.results if self._work else {}
        outputs = [_find_by_key(one, results.get(one.output.dataset)) for one in self._plan.outputs]
        checks = [
            CheckSummary(one.check.on, one.check.check, one.check.column, one.check.severity, one.passed, str(one))
            for result in results.values()
            for one in result.outcomes
        ]
        return RunResult(self._plan.name, self._plan.run_id, self._plan.key, ended, publication, outputs, checks)


def register_definition(plan: Plan, link: ProcessBackend, at: datetime) -> None:
    """Let the definition be in effect, and what it reads and writes be known."""
    of = plan.definition
    whole = of.model_dump(mode="json", by_alias=True, exclude_none=True)
    safe = redact_document(whole)
    link.execute(
        RegisterDefinitionCommand(
            namespace=of.process.namespace, name=of.process.name, definition=safe, by=current_user()
        )
    )
    reads, writes = [one.address for one in plan.inputs], [one.address for one in plan.outputs]
    flows = [OutputLineage(one.address, plan.source_datasets(one)) for one in plan.outputs]
    send_event(link, job_event(run_context(plan)._replace(flows=flows), at, reads, writes))


def run_context(plan: Plan) -> RunContext:
    """Name the process and its run."""
    of = plan.definition.process
    values = {name: format_value(value) for name, value in plan.values.items() if value is not None}
    return RunContext(of.namespace, of.name, plan.run_id, of.owner, of.description, None, values)


def _read(one: PlannedInput) -> ReadDataset:
    return ReadDataset(one.address, one.version, one.columns)


def _find_by_key(planned: PlannedOutput, result: WriteResult | None) -> OutputVersion:
    if result is None:
        return OutputVersion(planned.output.dataset, planned.existing_version or planned.tag, None, None, None)
    content = result.content
    path = planned.path(result.folder)
    return OutputVersion(planned.output.dataset, result.version, content.rows, content.checksum, path)
