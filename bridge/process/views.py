"""Builds Spark views of inputs and steps and traces their columns."""

import importlib
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bridge.errors import ProcessNotReady
from bridge.process.column_types import column_problems
from bridge.process.definition import FILE_FORMATS
from bridge.process.plan import Plan, PlannedInput
from bridge.process.steps import PlannedStep
from connectors.errors import InvalidData
from connectors.spark.frames import ReadOptions, frame_columns, read_frame
from mappers.counts import count_of
from mappers.errors import InvalidSql
from mappers.sql.column_source import ColumnSource, QueryLineage, compose_lineage
from mappers.sql.lineage import trace_columns

Function = Callable[[Mapping[str, DataFrame], Mapping[str, Any]], DataFrame]


class ViewBuilder:
    """The views of one run: inputs and steps under their SQL names."""

    def __init__(self, session: SparkSession, plan: Plan) -> None:
        self.session = session
        self._plan = plan
        self.frames: dict[str, DataFrame] = {}
        self._query_lineage: list[tuple[str, QueryLineage]] = []
        #: Views where lineage starts: inputs and materialized steps.
        self._sources: set[str] = set()
        self._written_lineage: dict[str, QueryLineage | None] = {}

    def add_input(self, planned_input: PlannedInput) -> None:
        """Create the view of an input. Raises ProcessNotReady if its columns are not as expected."""
        input_ = planned_input.input
        frame = read_frame(self.session, read_options(planned_input))
        if input_.partition is not None:
            for condition in input_.partition.split("/"):
                column, _, value = condition.partition("=")
                frame = frame.where(frame[column] == value)
        problems = column_problems(
            f"inputs.{input_.as_} ({planned_input.location})", input_.columns, frame_columns(frame)
        )
        if problems:
            raise ProcessNotReady("\n".join(problems))
        expected_rows = planned_input.delivery.rows if planned_input.delivery else None
        if expected_rows is not None and (row_count := frame.count()) != expected_rows:
            raise InvalidData(
                f"inputs.{input_.as_} ({planned_input.location}): has {count_of(row_count, 'row')}, the manifest "
                f"says {expected_rows}"
            )
        self._sources.add(input_.as_.lower())
        self._register_view(input_.as_, frame)

    def add_step(self, planned_step: PlannedStep) -> None:
        """Create the view of a step without computing its rows."""
        step = planned_step.step
        if planned_step.sql is None:
            frame = self._run_python_step(planned_step)
        else:
            frame = self.session.sql(planned_step.sql, args=dict(self._plan.values))
            self._record_lineage(step.name, planned_step.sql)
        problems = column_problems(f"steps.{step.name}", step.columns, frame_columns(frame))
        if problems:
            raise InvalidData("\n".join(problems))
        self._register_view(step.name, frame)

    def replace_step_view(self, name: str, frame: DataFrame) -> None:
        """Replace the view of a materialized step with the written rows, where the lineage of later steps starts."""
        self._written_lineage[name] = self.column_lineage(name)
        self._sources.add(name.lower())
        self._register_view(name, frame)

    def written_lineage(self, name: str) -> QueryLineage | None:
        """Return the column lineage of a materialized step."""
        return self._written_lineage.get(name)

    def column_lineage(self, view: str) -> QueryLineage | None:
        """Return the column lineage of a view, or None if a step on the way to its sources cannot be parsed."""
        if view.lower() in self._sources:
            columns = frame_columns(self.frames[view])
            return QueryLineage(
                {name: (ColumnSource(view.lower(), name, "DIRECT", "IDENTITY", masking=False),) for name in columns},
                (),
            )
        traceable_views = {name.lower() for name, _ in self._query_lineage} | self._sources
        lineage = dict(self._query_lineage).get(view)
        if lineage is None or not self._is_traceable(view, traceable_views):
            return None
        steps = [
            (name, step_lineage) for name, step_lineage in self._query_lineage if name.lower() not in self._sources
        ]
        return compose_lineage(steps, view, self._sources)

    def step_facets(self) -> list[dict[str, Any]]:
        """Return a facet for each step: what the step reads, and its column lineage."""
        lineage_by_step = dict(self._query_lineage)
        return [
            _step_facet(planned_step, lineage_by_step.get(planned_step.step.name))
            for planned_step in self._plan.steps
        ]

    def _is_traceable(self, view: str, traceable_views: set[str]) -> bool:
        """Return True if the view and all views between it and the sources are traceable."""
        reads_by_step = {planned_step.step.name.lower(): planned_step.reads for planned_step in self._plan.steps}
        pending = [view.lower()]
        visited = set()
        while pending:
            name = pending.pop()
            if name not in traceable_views:
                return False
            if name not in visited and name not in self._sources:
                visited.add(name)
                pending += [upstream.lower() for upstream in reads_by_step.get(name, ())]
        return True

    def _register_view(self, name: str, frame: DataFrame) -> None:
        self.frames[name] = frame
        frame.createOrReplaceTempView(name)

    def _record_lineage(self, name: str, sql: str) -> None:
        """Trace the columns of a step, unless only Spark can parse its SQL."""
        schemas = {view: list(frame.columns) for view, frame in self.frames.items()}
        with suppress(InvalidSql):
            self._query_lineage.append((name, trace_columns(sql, schemas)))

    def _run_python_step(self, planned_step: PlannedStep) -> DataFrame:
        """Call the function of a Python step with the views that it reads and all parameters."""
        module, _, name = (planned_step.step.python or "").partition(":")
        folder = str(self._plan.file.parent.resolve())
        if folder not in sys.path:
            sys.path.insert(0, folder)
        function: Function = getattr(importlib.import_module(module), name)
        frame = function({view: self.frames[view] for view in planned_step.reads}, dict(self._plan.values))
        if not isinstance(frame, DataFrame):
            raise InvalidData(
                f"steps.{planned_step.step.name}: {planned_step.step.python} returned "
                f"{type(frame).__name__} instead of a DataFrame"
            )
        return frame


def read_options(planned_input: PlannedInput) -> ReadOptions:
    """Return what to read: the delivered files, the folders of a version, or the location itself."""
    input_, manifest, delivery = planned_input.input, planned_input.manifest, planned_input.delivery
    location = planned_input.location.path_or_table
    if delivery is not None:
        paths = [f"{location.rstrip('/')}/{file.path}" for file in delivery.files]
        columns = delivery.columns or input_.columns
        options = {**delivery.options, **input_.options}
        return ReadOptions(delivery.format, location, paths, columns=columns, options=options)
    if manifest is not None:
        options = {**manifest.options, **input_.options}
        return ReadOptions(manifest.format, location, planned_input.roots, columns=manifest.columns, options=options)
    columns = input_.columns if input_.format in FILE_FORMATS else {}
    return ReadOptions(
        input_.format, location, version=planned_input.version, columns=columns, options=input_.options
    )


def _step_facet(planned_step: PlannedStep, lineage: QueryLineage | None) -> dict[str, Any]:
    """Describe a step: its name, kind, inputs and, if known, its column lineage."""
    step = planned_step.step
    facet: dict[str, Any] = {
        "name": step.name,
        "kind": "python" if step.python else "sql",
        "reads": list(planned_step.reads),
        "materialized": step.materialize,
    }
    if lineage is not None:
        facet["columns"] = {
            name: [_source_json(source) for source in sources] for name, sources in lineage.columns.items()
        }
        facet["whole"] = [_source_json(source) for source in lineage.dataset_level]
    return facet


def _source_json(source: ColumnSource) -> dict[str, Any]:
    return {
        "from": source.view,
        "column": source.column,
        "type": source.type,
        "subtype": source.subtype,
        "masking": source.masking,
    }
