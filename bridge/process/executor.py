"""Executes a plan in Spark: read, transform, write and check, up to publication."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary alias

from bridge.process.check_definition import CheckDefinition
from bridge.process.check_sql import CheckOutcome, aggregate_expression, blocking_failures, check_query, evaluate
from bridge.process.definition import FILE_FORMATS
from bridge.process.output_writer import OutputWriter, WriteResult
from bridge.process.plan import Plan, PlannedOutput
from bridge.process.steps import upstream_names
from bridge.process.views import ViewBuilder
from connectors.errors import InvalidData
from connectors.spark.file_system import FileSystems
from connectors.spark.tables import LoadOptions, load_table


class PlanExecutor:
    """The work of one run."""

    def __init__(
        self,
        session: SparkSession,
        storage: FileSystems,
        plan: Plan,
        staging: str,
        now: datetime,
        report: Callable[[str], None],
    ) -> None:
        self._session = session
        self._plan = plan
        self._now = now
        self._said = report
        self._writer = OutputWriter(session, storage, plan, staging, now)
        self.views = ViewBuilder(session, plan)
        #: What is done just now: where it breaks, that is what broke.
        self.current_action = "starting"
        #: What was written until now, by the dataset.
        self.results: dict[str, WriteResult] = {}

    def read(self) -> None:
        """Make the views of all inputs."""
        for one in self._plan.inputs:
            self.current_action = f"inputs.{one.input.as_} ({one.address})"
            self.views.add_input(one)
            rows = "" if one.rows is None else f", {one.rows:,} rows"
            self._said(
                f"read {one.input.as_}: {one.address}, {one.version or 'what is there now'} ({one.resolved_by}{rows})"
            )

    def write(self) -> None:
        """Make all steps, and write what is to be written."""
        steps = {one.output.from_: one for one in self._plan.outputs if one.is_step}
        for made in self._plan.steps:
            self.current_action = f"steps.{made.step.name}"
            self.views.add_step(made)
            if (planned := steps.get(made.step.name)) is not None:
                result = self._write(planned)
                self.views.replace_with_written(made.step.name, self._writer.read_back(result))
        for planned in self._plan.outputs:
            if not planned.is_step:
                self._write(planned)

    def explain(self) -> str:
        """Make all views, and give Spark's plan of each output; nothing is written."""
        for made in self._plan.steps:
            self.views.add_step(made)
        return "\n".join(
            f"-- {one.output.dataset}\n{self._explained(one.output.from_)}" for one in self._plan.outputs
        )

    def _explained(self, view: str) -> str:
        frame: Any = self.views.frames[view]
        jvm: Any = self._session.sparkContext._jvm  # noqa: SLF001 - PySpark's own `explain` prints
        mode = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
        return str(frame._jdf.queryExecution().explainString(mode))  # noqa: SLF001 - as above

    def check(self) -> None:
        """Find out what must be asked of what was written, all in one query; raises BadData when it is not good."""
        self.current_action = "quality"
        asking: list[tuple[str, CheckDefinition, str]] = []
        for name, result in self.results.items():
            left = [one for one in result.planned.checks if aggregate_expression(one) is None]
            asking += [(name, one, check_query(one, self._check_view_name(result))) for one in left]
        for step, checks in self._plan.step_checks.items():
            home = self._reporting_output(step)
            self._check_step(
                home, self.views.frames[step], [one for one in checks if aggregate_expression(one) is not None]
            )
            asking += [(home, one, check_query(one, step)) for one in checks if aggregate_expression(one) is None]
        if asking:
            for result in self.results.values():
                self._writer.read_back(result).createOrReplaceTempView(self._check_view_name(result))
            columns = ", ".join(f"({text}) AS c{i}" for i, (_, _, text) in enumerate(asking))
            row = self._session.sql(f"SELECT {columns}", args=dict(self._plan.values)).collect()[0]
            for (name, one, _), value in zip(asking, row, strict=True):
                self._add_outcomes(name, [evaluate(one, value, self._now)])
        outcomes = [one for result in self.results.values() for one in result.outcomes]
        for outcome in outcomes:
            self._said(f"check {'passed' if outcome.passed else outcome.check.severity}: {outcome}")
        if bad := blocking_failures(outcomes):
            raise InvalidData("; ".join(map(str, bad)))

    def commit(self) -> None:
        """Bring rows into tables, and write down what every version of files consists of."""
        for name, result in self.results.items():
            planned, output = result.planned, result.planned.output
            if output.format in FILE_FORMATS:
                self._writer.write_manifests(result)
                continue
            self.current_action = f"outputs.{output.dataset} ({planned.address})"
            how = LoadOptions(
                output.format,
                planned.address.location,
                output.mode,
                planned.key,
                output.keys,
                output.partition_by,
                output.replaces_partitions,
                output.options,
            )
            version = load_table(self._session, self._writer.read_back(result), how)
            self.results[name] = result._replace(version=version or result.version)
            self._said(f"loaded {output.dataset}: version {self.results[name].version}")

    def _write(self, planned: PlannedOutput) -> WriteResult:
        self.current_action = f"outputs.{planned.output.dataset} ({planned.folder})"
        result = self._writer.write(planned, self.views.frames[planned.output.from_])
        self.results[planned.output.dataset] = result
        self._said(
            f"wrote {planned.output.dataset}: {result.rows:,} rows, {result.files} files, {result.bytes:,} bytes"
        )
        return result

    def _check_view_name(self, result: WriteResult) -> str:
        """Name what was written for SQL: as its dataset, with `_new` where an input is called so."""
        name = result.planned.view
        taken = {one.as_.lower() for one in self._plan.definition.inputs}
        return f"{name}_new" if name.lower() in taken else name

    def _check_step(self, home: str, frame: DataFrame, checks: Sequence[CheckDefinition]) -> None:
        """Count what checks of a step want, in one pass."""
        if not checks:
            return
        row = frame.agg(
            *(F.expr(aggregate_expression(one) or "").alias(f"c{i}") for i, one in enumerate(checks))
        ).collect()[0]
        self._add_outcomes(home, [evaluate(one, value, self._now) for one, value in zip(checks, row, strict=True)])

    def _reporting_output(self, step: str) -> str:
        """Name the output with which the checks of a step are told: the first that is made from it."""
        made = self._plan.steps
        names = [one.output.dataset for one in self._plan.outputs if step in upstream_names(made, [one.output.from_])]
        return names[0] if names else self._plan.outputs[0].output.dataset

    def _add_outcomes(self, name: str, outcomes: Sequence[CheckOutcome]) -> None:
        result = self.results[name]
        self.results[name] = result._replace(outcomes=[*result.outcomes, *outcomes])


def lineage_sources(plan: Plan) -> Mapping[str, Any]:
    """Give the datasets behind the views where lineage begins."""
    inputs = {one.input.as_.lower(): one.address for one in plan.inputs}
    return inputs | {one.output.from_.lower(): one.address for one in plan.outputs if one.is_step}
