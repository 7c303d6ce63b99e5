"""Runs a plan from the START event to atomic publication of all outputs."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import msgspec

from bridge.errors import StateConflict
from bridge.process.backend import ProcessBackend, send_event
from bridge.process.check_sql import CheckOutcome
from bridge.process.executor import PlanExecutor, lineage_sources
from bridge.process.existing_version import read_existing_manifest
from bridge.process.existing_version_check import ExistingVersionCheck
from bridge.process.input_resolver import verify_delivery
from bridge.process.job_failure import job_failure
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

RunConclusion = Literal["published", "unchanged"]


class OutputVersion(msgspec.Struct, frozen=True):
    """A version that a run wrote, or that already existed."""

    dataset: str
    version: str
    rows: int | None
    checksum: str | None
    path: str | None


class CheckSummary(msgspec.Struct, frozen=True):
    """Outcome of a check."""

    on: str
    check: str
    column: str | None
    severity: str
    passed: bool
    said: str


class RunResult(msgspec.Struct, frozen=True):
    """Result of a successful run: published versions and check outcomes."""

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
        backend: ProcessBackend,
        file_systems: FileSystems,
        session: "Callable[[], SparkSession]",
        *,
        staging: str,
        parent: ParentRun | None = None,
        report: Callable[[str], None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._plan = plan
        self._backend = backend
        self._file_systems = file_systems
        self._session = session
        self._staging = staging
        self._parent = parent
        self._report = report
        self._clock = clock
        self._executor: PlanExecutor | None = None
        #: Outcomes of checks on existing versions.
        self._existing_outcomes: Sequence[CheckOutcome] = ()

    def run(self) -> RunResult:
        """Run the plan. An exception means that nothing was published."""
        plan = self._plan
        if plan.is_up_to_date and not plan.has_unchecked_outputs:
            self._report("nothing to do: outputs are already published (--rerun creates a new version)")
            return self._run_result("unchanged", None)
        rolled_back_outputs = [planned_output for planned_output in plan.outputs if planned_output.was_rolled_back]
        if plan.all_outputs_exist and rolled_back_outputs:
            versions = ", ".join(
                f"{planned_output.output.dataset} {planned_output.existing_version}"
                for planned_output in rolled_back_outputs
            )
            remedy = "--rerun creates a new version, `dataset publish` publishes the old one again"
            raise StateConflict(
                f"the outputs of this run were published and later rolled back ({versions}): {remedy}"
            )
        register_definition(plan, self._backend, self._clock())
        if plan.all_outputs_exist:
            return self._use_existing_versions()
        self._send_run_event("START")
        try:
            self._execute()
        except KeyboardInterrupt:
            self._send_failure("ABORT", "interrupted")
            self._report("interrupted: nothing is published")
            raise
        except LineageBridgeError as error:
            self._send_failure("FAIL", str(error))
            raise
        except Exception as error:
            failure = job_failure(error, self._executor.current_action if self._executor else None)
            self._send_failure("FAIL", str(failure))
            raise failure from error
        self._send_run_event("COMPLETE")
        return self._publish()

    def _use_existing_versions(self) -> RunResult:
        """Check existing versions if the checks have changed, and publish the versions unless they are published."""
        plan = self._plan
        if plan.has_unchecked_outputs:
            self._report("the outputs exist, but the checks have changed: checking the existing versions")
            check = ExistingVersionCheck(plan, self._backend, self._make_executor, self._clock)
            self._existing_outcomes = check.run()
        if plan.is_up_to_date:
            return self._run_result("unchanged", None)
        self._report("outputs already exist and are published now")
        return self._publish()

    def _make_executor(self) -> PlanExecutor:
        return PlanExecutor(
            self._session(), self._file_systems, self._plan, self._staging, self._clock(), self._report
        )

    def _execute(self) -> None:
        """Read, transform, write and check, up to publication."""
        for planned_input in self._plan.inputs:
            verify_delivery(planned_input, self._file_systems)
        executor = self._executor = self._make_executor()
        executor.read()
        for planned_input in self._plan.inputs:
            if planned_input.delivery is not None:
                event = version_event(
                    _input_dataset(planned_input),
                    self._clock(),
                    planned_input.rows,
                    planned_input.location.path_or_table,
                )
                send_event(self._backend, event)
        executor.write()
        executor.check()
        executor.commit()
        executor.verify()

    def _send_failure(self, state: State, reason: str) -> None:
        """Report a failed run. If that fails too, log the failure, so that the original error is raised."""
        try:
            self._send_run_event(state, reason)
        except LineageBridgeError as error:
            self._report(f"the failure could not be reported: {error}")

    def _send_run_event(self, state: State, error: str | None = None) -> None:
        """Send an event with the inputs and outputs of the run, and with its results so far."""
        plan = self._plan
        inputs = [_input_dataset(planned_input) for planned_input in plan.inputs]
        output_lineage = [self._output_lineage(planned_output) for planned_output in plan.outputs]
        outputs = [
            self._output_dataset(planned_output, lineage)
            for planned_output, lineage in zip(plan.outputs, output_lineage, strict=True)
        ]
        steps = self._executor.views.step_facets() if self._executor else ()
        context = run_context(plan)._replace(parent=self._parent, steps=steps, output_lineage=output_lineage)
        send_event(self._backend, run_event(state, context, self._clock(), inputs, outputs, error))

    def _output_dataset(self, planned_output: PlannedOutput, lineage: OutputLineage) -> WrittenDataset:
        """Describe an output for a run event, with its measurements once it is written."""
        result = self._executor.results.get(planned_output.output.dataset) if self._executor else None
        if result is None:
            return WrittenDataset(planned_output.location, version=None, key=planned_output.key, path=None)
        return WrittenDataset(
            planned_output.location,
            result.version,
            planned_output.key,
            planned_output.path(result.folder),
            columns=result.manifest.columns,
            partitions=[f"{planned_output.location.path_or_table}/{partition}" for partition in result.partitions],
            rows=result.rows,
            bytes=result.bytes,
            files=result.files,
            lineage=lineage,
            outcomes=result.outcomes,
            profile=result.profile,
        )

    def _output_lineage(self, planned_output: PlannedOutput) -> OutputLineage:
        """Return the lineage of an output, including column lineage once it is known."""
        lineage = OutputLineage(planned_output.location, self._plan.source_datasets(planned_output))
        if self._executor is None or planned_output.output.dataset not in self._executor.results:
            return lineage
        views, view = self._executor.views, planned_output.output.from_
        columns = views.written_lineage(view) if planned_output.is_step_output else views.column_lineage(view)
        return lineage._replace(columns=columns, views=lineage_sources(self._plan))

    def _publish(self) -> RunResult:
        """Publish all outputs, or none if another version of any of them was published in the meantime."""
        self._verify_outputs()
        results = self._executor.results if self._executor else {}
        items = []
        for planned_output in self._plan.outputs:
            result = results.get(planned_output.output.dataset)
            identity = {"namespace": planned_output.location.namespace, "name": planned_output.location.name}
            if result is not None:
                metadata = {
                    "process": self._plan.name,
                    "rows": result.manifest.rows,
                    **self._plan.check_metadata(),
                }
                self._backend.execute(
                    PatchMetadataCommand(
                        **identity, version=planned_output.key, metadata=metadata, checksum=result.manifest.checksum
                    )
                )
            version = planned_output.key
            if result is None and planned_output.existing_version:
                version = planned_output.existing_version
            items.append(PublishItem(**identity, version=version, expected=planned_output.published_tag))
        reason = f"run {self._plan.run_id} of {self._plan.name}"
        publish_result = self._backend.execute(PublishCommand(datasets=items, by=current_user(), why=reason))
        run_result = self._run_result("published", publish_result.publication)
        self._report(
            "published: " + ", ".join(f"{version.dataset} {version.version}" for version in run_result.outputs)
        )
        return run_result

    def _verify_outputs(self) -> None:
        """Raise JobFailed if the files of an output no longer exist: readers would get an empty version."""
        if self._executor is not None:
            self._executor.verify()
            return
        for planned_output in self._plan.outputs:
            if folder := planned_output.existing_folder:
                read_existing_manifest(planned_output, folder, self._file_systems)

    def _run_result(self, conclusion: RunConclusion, publication: int | None) -> RunResult:
        """Summarize the outputs and checks of a successful run."""
        results = self._executor.results if self._executor else {}
        outputs = [
            _output_version(planned_output, results.get(planned_output.output.dataset))
            for planned_output in self._plan.outputs
        ]
        written_outcomes = [outcome for result in results.values() for outcome in result.outcomes]
        checks = [
            CheckSummary(
                outcome.check.on,
                outcome.check.check,
                outcome.check.column,
                outcome.check.severity,
                outcome.passed,
                str(outcome),
            )
            for outcome in [*written_outcomes, *self._existing_outcomes]
        ]
        return RunResult(self._plan.name, self._plan.run_id, self._plan.key, conclusion, publication, outputs, checks)


def register_definition(plan: Plan, backend: ProcessBackend, at: datetime) -> None:
    """Register the definition as active, and send its declared inputs and outputs."""
    definition = plan.definition
    content = definition.model_dump(mode="json", by_alias=True, exclude_none=True)
    redacted_content = redact_document(content)
    backend.execute(
        RegisterDefinitionCommand(
            namespace=definition.process.namespace,
            name=definition.process.name,
            definition=redacted_content,
            by=current_user(),
        )
    )
    inputs = [planned_input.location for planned_input in plan.inputs]
    outputs = [planned_output.location for planned_output in plan.outputs]
    output_lineage = [
        OutputLineage(planned_output.location, plan.source_datasets(planned_output))
        for planned_output in plan.outputs
    ]
    send_event(backend, job_event(run_context(plan)._replace(output_lineage=output_lineage), at, inputs, outputs))


def run_context(plan: Plan) -> RunContext:
    """Return what all events of a run contain, without the parent run and the lineage."""
    process = plan.definition.process
    parameters = {name: format_value(value) for name, value in plan.values.items() if value is not None}
    return RunContext(
        process.namespace,
        process.name,
        plan.run_id,
        owner=process.owner,
        description=process.description,
        parameters=parameters,
    )


def _input_dataset(planned_input: PlannedInput) -> ReadDataset:
    return ReadDataset(planned_input.location, planned_input.version, planned_input.columns)


def _output_version(planned_output: PlannedOutput, result: WriteResult | None) -> OutputVersion:
    """Describe the version of an output, which already existed if there is no result of this run."""
    if result is None:
        version = planned_output.existing_version or planned_output.tag
        return OutputVersion(planned_output.output.dataset, version, rows=None, checksum=None, path=None)
    manifest = result.manifest
    path = planned_output.path(result.folder)
    return OutputVersion(planned_output.output.dataset, result.version, manifest.rows, manifest.checksum, path)
