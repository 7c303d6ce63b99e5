"""Builds Spark views of inputs and steps and traces their columns."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bridge.errors import ProcessNotReady
from bridge.process.column_types import column_problems
from bridge.process.definition import FILE_FORMATS
from bridge.process.plan import Plan, PlannedInput
from bridge.process.steps import PlannedStep
from connectors.errors import InvalidData
from connectors.spark.frames import ReadOptions, frame_columns, read_frame
from mappers.errors import InvalidSql
from mappers.sql.column_source import ColumnSource, QueryLineage, compose
from mappers.sql.lineage import trace_columns

Function = Callable[[Mapping[str, DataFrame], Mapping[str, Any]], DataFrame]


class ViewBuilder:
    """The views of one run: every input and step, known to SQL by its name."""

    def __init__(self, session: SparkSession, plan: Plan) -> None:
        self.session = session
        self._plan = plan
        self.frames: dict[str, DataFrame] = {}
        self._traced: list[tuple[str, QueryLineage]] = []
        #: Where lineage begins: inputs, and steps that are written down.
        self._sources: set[str] = set()
        self._origins: dict[str, QueryLineage | None] = {}

    def add_input(self, one: PlannedInput) -> None:
        """Make the view of an input; raises Unready when its columns are not what was promised."""
        wanted = one.input
        frame = read_frame(self.session, read_options(one))
        if wanted.partition is not None:
            for part in wanted.partition.split("/"):
                column, _, value = part.partition("=")
                frame = frame.where(frame[column] == value)
        problems = column_problems(f"inputs.{wanted.as_} ({one.address})", wanted.columns, frame_columns(frame))
        if problems:
            raise ProcessNotReady("\n".join(problems))
        if (
            one.delivery is not None
            and one.delivery.rows is not None
            and (there := frame.count()) != one.delivery.rows
        ):
            raise InvalidData(
                f"inputs.{wanted.as_} ({one.address}): has {there} rows, and the manifest says {one.delivery.rows}"
            )
        self._sources.add(wanted.as_.lower())
        self._view(wanted.as_, frame)

    def add_step(self, made: PlannedStep) -> None:
        """Make the view of a step; nothing is computed yet."""
        step = made.step
        if made.sql is None:
            frame = self._call(made)
        else:
            frame = self.session.sql(made.sql, args=dict(self._plan.values))
            self._trace(step.name, made.sql)
        problems = column_problems(f"steps.{step.name}", step.columns, frame_columns(frame))
        if problems:
            raise InvalidData("\n".join(problems))
        self._view(step.name, frame)

    def replace_with_written(self, name: str, frame: DataFrame) -> None:
        """Let a step be what was written of it: what comes after reads that, and its lineage begins there."""
        self._origins[name] = self.column_lineage(name)
        self._sources.add(name.lower())
        self._view(name, frame)

    def written_lineage(self, name: str) -> QueryLineage | None:
        """Tell where the columns of a step come from that was written down."""
        return self._origins.get(name)

    def column_lineage(self, view: str) -> QueryLineage | None:
        """Tell where the columns of a view come from; None where a step in between cannot be read."""
        if view.lower() in self._sources:
            columns = frame_columns(self.frames[view])
            return QueryLineage(
                {name: (ColumnSource(view.lower(), name, "DIRECT", "IDENTITY", False),) for name in columns}, ()
            )
        known = {name.lower() for name, _ in self._traced} | self._sources
        found = dict(self._traced).get(view)
        if found is None or not self._reached(view, known):
            return None
        chain = [(name, one) for name, one in self._traced if name.lower() not in self._sources]
        return compose(chain, view, self._sources)

    def step_facets(self) -> list[dict[str, Any]]:
        """Tell the graph of the steps: what each reads, and what its columns come from."""
        traced = dict(self._traced)
        return [_told(made, traced.get(made.step.name)) for made in self._plan.steps]

    def _reached(self, view: str, known: set[str]) -> bool:
        reads = {made.step.name.lower(): made.reads for made in self._plan.steps}
        waiting, seen = [view.lower()], set()
        while waiting:
            name = waiting.pop()
            if name not in known:
                return False
            if name not in seen and name not in self._sources:
                seen.add(name)
                waiting += [one.lower() for one in reads.get(name, ())]
        return True

    def _view(self, name: str, frame: DataFrame) -> None:
        self.frames[name] = frame
        frame.createOrReplaceTempView(name)

    def _trace(self, name: str, sql: str) -> None:
        schemas = {view: list(frame.columns) for view, frame in self.frames.items()}
        try:
            self._traced.append((name, trace_columns(sql, schemas)))
        except InvalidSql:
            return  # Spark understood it; the listener still tells the lineage of what is written

    def _call(self, made: PlannedStep) -> DataFrame:
        module, _, name = (made.step.python or "").partition(":")
        folder = str(self._plan.file.parent.resolve())
        if folder not in sys.path:
            sys.path.insert(0, folder)
        function: Function = getattr(importlib.import_module(module), name)
        frame = function({view: self.frames[view] for view in made.reads}, dict(self._plan.values))
        if not isinstance(frame, DataFrame):
            raise InvalidData(
                f"steps.{made.step.name}: {made.step.python} gives {type(frame).__name__}, and no DataFrame"
            )
        return frame


def read_options(one: PlannedInput) -> ReadOptions:
    """Say how an input is read."""
    wanted, content, manifest = one.input, one.manifest, one.delivery
    if manifest is not None:
        columns = manifest.columns or wanted.columns
        pieces = [f"{one.address.location.rstrip('/')}/{piece.path}" for piece in manifest.files]
        return ReadOptions(
            manifest.format, one.address.location, pieces, None, columns, {**manifest.options, **wanted.options}
        )
    if content is not None:
        options = {**content.options, **wanted.options}
        return ReadOptions(content.format, one.address.location, one.roots, None, content.columns, options)
    columns = wanted.columns if wanted.format in FILE_FORMATS else {}
    return ReadOptions(wanted.format, one.address.location, None, one.version, columns, wanted.options)


def _told(made: PlannedStep, traced: QueryLineage | None) -> dict[str, Any]:
    step = made.step
    told: dict[str, Any] = {
        "name": step.name,
        "kind": "python" if step.python else "sql",
        "reads": list(made.reads),
        "materialized": step.materialize,
    }
    if traced is not None:
        told["columns"] = {name: [_source(one) for one in sources] for name, sources in traced.columns.items()}
        told["whole"] = [_source(one) for one in traced.dataset_level]
    return told


def _source(one: ColumnSource) -> dict[str, Any]:
    return {"from": one.view, "column": one.column, "type": one.type, "subtype": one.subtype, "masking": one.masking}
