"""What a run does in Spark: all that comes before anybody is told that it went well."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls them

from bridge.process.check import Check
from bridge.process.definition import FILES
from bridge.process.making import Making
from bridge.process.plan import Plan, PlannedOutput
from bridge.process.quality import Outcome, asked, blocking, judged, observed
from bridge.process.steps import needed
from bridge.process.writing import Result, Writer
from connectors.spark.storage import Storage
from connectors.spark.tables import Loading, load_table
from mappers.errors import BadData


class Work:
    """The work of one run."""

    def __init__(
        self,
        session: SparkSession,
        storage: Storage,
        plan: Plan,
        staging: str,
        now: datetime,
        said: Callable[[str], None],
    ) -> None:
        self._session = session
        self._plan = plan
        self._now = now
        self._said = said
        self._writer = Writer(session, storage, plan, staging, now)
        self.making = Making(session, plan)
        #: What is done just now: where it breaks, that is what broke.
        self.doing = "starting"
        #: What was written until now, by the dataset.
        self.results: dict[str, Result] = {}

    def read(self) -> None:
        """Make the views of all inputs."""
        for one in self._plan.inputs:
            self.doing = f"inputs.{one.input.as_} ({one.address})"
            self.making.read(one)
            rows = "" if one.rows is None else f", {one.rows:,} rows"
            self._said(f"read {one.input.as_}: {one.address}, {one.version or 'what is there now'} ({one.by}{rows})")

    def write(self) -> None:
        """Make all steps, and write what is to be written."""
        steps = {one.output.from_: one for one in self._plan.outputs if one.step}
        for made in self._plan.steps:
            self.doing = f"steps.{made.step.name}"
            self.making.make(made)
            if (planned := steps.get(made.step.name)) is not None:
                result = self._write(planned)
                self.making.written(made.step.name, self._writer.back(result))
        for planned in self._plan.outputs:
            if not planned.step:
                self._write(planned)

    def explain(self) -> str:
        """Make all views, and give Spark's plan of each output; nothing is written."""
        for made in self._plan.steps:
            self.making.make(made)
        return "\n".join(
            f"-- {one.output.dataset}\n{self._explained(one.output.from_)}" for one in self._plan.outputs
        )

    def _explained(self, view: str) -> str:
        frame: Any = self.making.frames[view]
        jvm: Any = self._session.sparkContext._jvm  # noqa: SLF001 - PySpark's own `explain` prints
        mode = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
        return str(frame._jdf.queryExecution().explainString(mode))  # noqa: SLF001 - as above

    def check(self) -> None:
        """Find out what must be asked of what was written, all in one query; raises BadData when it is not good."""
        self.doing = "quality"
        asking: list[tuple[str, Check, str]] = []
        for name, result in self.results.items():
            left = [one for one in result.planned.checks if observed(one) is None]
            asking += [(name, one, asked(one, self._view_of(result))) for one in left]
        for step, checks in self._plan.step_checks.items():
            home = self._home(step)
            self._look(home, self.making.frames[step], [one for one in checks if observed(one) is not None])
            asking += [(home, one, asked(one, step)) for one in checks if observed(one) is None]
        if asking:
            for result in self.results.values():
                self._writer.back(result).createOrReplaceTempView(self._view_of(result))
            columns = ", ".join(f"({text}) AS c{i}" for i, (_, _, text) in enumerate(asking))
            row = self._session.sql(f"SELECT {columns}", args=dict(self._plan.values)).collect()[0]
            for (name, one, _), value in zip(asking, row, strict=True):
                self._add(name, [judged(one, value, self._now)])
        outcomes = [one for result in self.results.values() for one in result.outcomes]
        for outcome in outcomes:
            self._said(f"check {'passed' if outcome.passed else outcome.check.severity}: {outcome}")
        if bad := blocking(outcomes):
            raise BadData("; ".join(map(str, bad)))

    def finish(self) -> None:
        """Bring rows into tables, and write down what every version of files consists of."""
        for name, result in self.results.items():
            planned, output = result.planned, result.planned.output
            if output.format in FILES:
                self._writer.seal(result)
                continue
            self.doing = f"outputs.{output.dataset} ({planned.address})"
            how = Loading(
                output.format,
                planned.address.location,
                output.mode,
                planned.key,
                output.keys,
                output.partition_by,
                output.replaces_partitions,
                output.options,
            )
            version = load_table(self._session, self._writer.back(result), how)
            self.results[name] = result._replace(version=version or result.version)
            self._said(f"loaded {output.dataset}: version {self.results[name].version}")

    def _write(self, planned: PlannedOutput) -> Result:
        self.doing = f"outputs.{planned.output.dataset} ({planned.folder})"
        result = self._writer.write(planned, self.making.frames[planned.output.from_])
        self.results[planned.output.dataset] = result
        self._said(
            f"wrote {planned.output.dataset}: {result.rows:,} rows, {result.files} files, {result.bytes:,} bytes"
        )
        return result

    def _view_of(self, result: Result) -> str:
        """Name what was written for SQL: as its dataset, with `_new` where an input is called so."""
        name = result.planned.view
        taken = {one.as_.lower() for one in self._plan.definition.inputs}
        return f"{name}_new" if name.lower() in taken else name

    def _look(self, home: str, frame: DataFrame, checks: Sequence[Check]) -> None:
        """Count what checks of a step want, in one pass."""
        if not checks:
            return
        row = frame.agg(*(F.expr(observed(one) or "").alias(f"c{i}") for i, one in enumerate(checks))).collect()[0]
        self._add(home, [judged(one, value, self._now) for one, value in zip(checks, row, strict=True)])

    def _home(self, step: str) -> str:
        """Name the output with which the checks of a step are told: the first that is made from it."""
        made = self._plan.steps
        names = [one.output.dataset for one in self._plan.outputs if step in needed(made, [one.output.from_])]
        return names[0] if names else self._plan.outputs[0].output.dataset

    def _add(self, name: str, outcomes: Sequence[Outcome]) -> None:
        result = self.results[name]
        self.results[name] = result._replace(outcomes=[*result.outcomes, *outcomes])


def lineage_names(plan: Plan) -> Mapping[str, Any]:
    """Give the datasets behind the views where lineage begins."""
    inputs = {one.input.as_.lower(): one.address for one in plan.inputs}
    return inputs | {one.output.from_.lower(): one.address for one in plan.outputs if one.step}
