"""Executes a plan in Spark: read, transform, write and check, up to publication."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary alias

from bridge.process.check_definition import CheckDefinition
from bridge.process.check_sql import CheckOutcome, aggregate_expression, blocking_failures, check_query, evaluate
from bridge.process.dataset_location import DatasetLocation
from bridge.process.definition import FILE_FORMATS
from bridge.process.existing_version import existing_result, with_written_rows_only
from bridge.process.output_writer import OutputWriter, WriteResult
from bridge.process.plan import Plan, PlannedOutput
from bridge.process.steps import upstream_names
from bridge.process.views import ViewBuilder
from connectors.errors import InvalidData
from connectors.spark.file_system import FileSystems
from connectors.spark.tables import LoadOptions, load_table
from mappers.counts import count_of

#: Checks whose queries may refer to inputs and steps.
_CHECKS_WITH_VIEWS = frozenset({"referential", "sql"})
#: How a failed check is reported, by severity.
_FAILED_CHECK_TEXT = {"fail": "failed", "warn": "warning"}


class _CheckQuery(NamedTuple):
    """A check, its query, and the output that reports it."""

    output_name: str
    check: CheckDefinition
    sql: str


class PlanExecutor:
    """Executes one run."""

    def __init__(
        self,
        session: SparkSession,
        file_systems: FileSystems,
        plan: Plan,
        staging: str,
        now: datetime,
        report: Callable[[str], None],
    ) -> None:
        self._session = session
        self._file_systems = file_systems
        self._plan = plan
        self._now = now
        self._report = report
        self._writer = OutputWriter(session, file_systems, plan, staging, now)
        self.views = ViewBuilder(session, plan)
        #: Current action, which is reported if the run fails.
        self.current_action = "starting"
        #: Results so far by dataset.
        self.results: dict[str, WriteResult] = {}

    def read(self) -> None:
        """Create the views of all inputs."""
        for planned_input in self._plan.inputs:
            self.current_action = f"inputs.{planned_input.input.as_} ({planned_input.location})"
            self.views.add_input(planned_input)
            rows = "" if planned_input.rows is None else f", {count_of(planned_input.rows, 'row')}"
            self._report(
                f"read {planned_input.input.as_}: {planned_input.location}, "
                f"{planned_input.version or 'current content'} ({planned_input.resolved_by}{rows})"
            )

    def write(self) -> None:
        """Create all steps, and write the outputs."""
        step_outputs = {
            planned_output.output.from_: planned_output
            for planned_output in self._plan.outputs
            if planned_output.is_step_output
        }
        for planned_step in self._plan.steps:
            step_name = planned_step.step.name
            self.current_action = f"steps.{step_name}"
            self.views.add_step(planned_step)
            step_output = step_outputs.get(step_name)
            if step_output is not None:
                result = self._write_output(step_output)
                self.views.replace_step_view(step_name, self._writer.read_back(result))
        for planned_output in self._plan.outputs:
            if not planned_output.is_step_output:
                self._write_output(planned_output)

    def explain(self) -> str:
        """Create all views and return Spark's plan of each output, without writing."""
        for planned_step in self._plan.steps:
            self.views.add_step(planned_step)
        outputs = [planned_output.output for planned_output in self._plan.outputs]
        return "\n".join(f"-- {output.dataset}\n{self._explain_view(output.from_)}" for output in outputs)

    def _explain_view(self, view: str) -> str:
        frame: Any = self.views.frames[view]
        jvm: Any = self._session.sparkContext._jvm  # noqa: SLF001 - PySpark's own `explain` prints
        mode = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
        return str(frame._jdf.queryExecution().explainString(mode))  # noqa: SLF001 - as above

    def check(self) -> None:
        """Evaluate the checks that were not evaluated while writing. Raises InvalidData if a blocking check fails."""
        if failures := blocking_failures(self._evaluate_checks()):
            raise InvalidData("; ".join(map(str, failures)))

    def check_existing(self) -> list[CheckOutcome]:
        """Evaluate all checks on the existing versions of the outputs. Nothing is written."""
        if self._plan.step_checks or any(
            check.check in _CHECKS_WITH_VIEWS for check in self._plan.definition.quality
        ):
            self.read()
            for planned_step in self._plan.steps:
                self.current_action = f"steps.{planned_step.step.name}"
                self.views.add_step(planned_step)
        for planned_output in self._plan.outputs:
            self.current_action = f"outputs.{planned_output.output.dataset} ({planned_output.existing_version})"
            result = existing_result(planned_output, self._file_systems)
            rows = self._writer.read_back(with_written_rows_only(result))
            outcomes = self._evaluate_aggregates(rows, planned_output.checks)
            self.results[planned_output.output.dataset] = result._replace(outcomes=outcomes)
        return self._evaluate_checks()

    def _evaluate_checks(self) -> list[CheckOutcome]:
        """Evaluate the checks without an outcome, and return the outcomes of all checks."""
        self.current_action = "quality"
        for step, checks in self._plan.step_checks.items():
            outcomes = self._evaluate_aggregates(self.views.frames[step], checks)
            self._add_outcomes(self._reporting_output(step), outcomes)
        self._run_check_queries(self._check_queries())
        outcomes = [outcome for result in self.results.values() for outcome in result.outcomes]
        for outcome in outcomes:
            verdict = "passed" if outcome.passed else _FAILED_CHECK_TEXT[outcome.check.severity]
            self._report(f"check {verdict}: {outcome}")
        return outcomes

    def _check_queries(self) -> list[_CheckQuery]:
        """Build the queries of all checks that are not aggregates over the rows of a single view."""
        checks_by_view = [
            (name, self._plan.definition.check_view(name), result.planned_output.checks)
            for name, result in self.results.items()
        ]
        checks_by_view += [
            (self._reporting_output(step), step, checks) for step, checks in self._plan.step_checks.items()
        ]
        return [
            _CheckQuery(output_name, check, check_query(check, view))
            for output_name, view, checks in checks_by_view
            for check in checks
            if aggregate_expression(check) is None
        ]

    def _run_check_queries(self, queries: Sequence[_CheckQuery]) -> None:
        """Run all queries as columns of a single query."""
        if not queries:
            return
        for name, result in self.results.items():
            self._writer.read_back(result).createOrReplaceTempView(self._plan.definition.check_view(name))
        columns = ", ".join(f"({query.sql}) AS c{index}" for index, query in enumerate(queries))
        (row,) = self._session.sql(f"SELECT {columns}", args=dict(self._plan.values)).collect()
        for query, value in zip(queries, row, strict=True):
            self._add_outcomes(query.output_name, [evaluate(query.check, value, self._now)])

    def commit(self) -> None:
        """Load tables, and write the manifests of file versions."""
        for name, result in self.results.items():
            planned_output = result.planned_output
            output = planned_output.output
            if output.format in FILE_FORMATS:
                self._writer.write_manifests(result)
                continue
            self.current_action = f"outputs.{output.dataset} ({planned_output.location})"
            options = LoadOptions(
                output.format,
                planned_output.location.path_or_table,
                output.mode,
                planned_output.key,
                output.keys,
                output.partition_by,
                output.replaces_partitions,
                output.options,
            )
            version = load_table(self._session, self._writer.read_back(result), options)
            self.results[name] = result._replace(version=version or result.version)
            self._report(f"loaded {output.dataset}: version {self.results[name].version}")

    def verify(self) -> None:
        """Check that all files that were written still exist. Raises JobFailed."""
        for result in self.results.values():
            if result.planned_output.output.format in FILE_FORMATS:
                self._writer.verify(result)

    def _write_output(self, planned_output: PlannedOutput) -> WriteResult:
        self.current_action = f"outputs.{planned_output.output.dataset} ({planned_output.folder})"
        result = self._writer.write(planned_output, self.views.frames[planned_output.output.from_])
        self.results[planned_output.output.dataset] = result
        sizes = ", ".join(
            (count_of(result.rows, "row"), count_of(result.files, "file"), count_of(result.bytes, "byte"))
        )
        self._report(f"wrote {planned_output.output.dataset}: {sizes}")
        return result

    def _evaluate_aggregates(self, frame: DataFrame, checks: Sequence[CheckDefinition]) -> list[CheckOutcome]:
        """Evaluate those checks that are aggregates, in one pass over the rows."""
        aggregates = {
            index: F.expr(expression).alias(f"c{index}")
            for index, check in enumerate(checks)
            if (expression := aggregate_expression(check)) is not None
        }
        if not aggregates:
            return []
        (row,) = frame.agg(*aggregates.values()).collect()
        return [evaluate(checks[index], value, self._now) for index, value in zip(aggregates, row, strict=True)]

    def _reporting_output(self, step: str) -> str:
        """Return the output that reports the checks of a step: the first output that derives from the step."""
        for planned_output in self._plan.outputs:
            if step in upstream_names(self._plan.steps, [planned_output.output.from_]):
                return planned_output.output.dataset
        first_output, *_ = self._plan.outputs  # no output derives from the step
        return first_output.output.dataset

    def _add_outcomes(self, output_name: str, outcomes: Sequence[CheckOutcome]) -> None:
        result = self.results[output_name]
        self.results[output_name] = result._replace(outcomes=[*result.outcomes, *outcomes])


def lineage_sources(plan: Plan) -> Mapping[str, DatasetLocation]:
    """Return the datasets of inputs and materialized steps, by view name."""
    sources = {planned_input.input.as_.lower(): planned_input.location for planned_input in plan.inputs}
    for planned_output in plan.outputs:
        if planned_output.is_step_output:
            sources[planned_output.output.from_.lower()] = planned_output.location
    return sources
