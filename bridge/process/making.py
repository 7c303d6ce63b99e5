"""Makes the views of a process in Spark, and tells where their columns come from."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bridge.process.contract import check_columns
from bridge.process.definition import FILES
from bridge.process.plan import Plan, PlannedInput
from bridge.process.steps import Made
from connectors.spark.frames import Reading, columns_of, read_frame
from mappers.errors import BadData, BadSql, Unready
from mappers.sql.composition import compose
from mappers.sql.source import Source, Traced
from mappers.sql.tracing import trace

Function = Callable[[Mapping[str, DataFrame], Mapping[str, Any]], DataFrame]


class Making:
    """The views of one run: every input and step, known to SQL by its name."""

    def __init__(self, session: SparkSession, plan: Plan) -> None:
        self.session = session
        self._plan = plan
        self.frames: dict[str, DataFrame] = {}
        self._traced: list[tuple[str, Traced]] = []
        #: Where lineage begins: inputs, and steps that are written down.
        self._sources: set[str] = set()
        self._origins: dict[str, Traced | None] = {}

    def read(self, one: PlannedInput) -> None:
        """Make the view of an input; raises Unready when its columns are not what was promised."""
        wanted = one.input
        frame = read_frame(self.session, reading_of(one))
        if wanted.partition is not None:
            for part in wanted.partition.split("/"):
                column, _, value = part.partition("=")
                frame = frame.where(frame[column] == value)
        problems = check_columns(f"inputs.{wanted.as_} ({one.address})", wanted.columns, columns_of(frame))
        if problems:
            raise Unready("\n".join(problems))
        if (
            one.manifest is not None
            and one.manifest.rows is not None
            and (there := frame.count()) != one.manifest.rows
        ):
            raise BadData(
                f"inputs.{wanted.as_} ({one.address}): has {there} rows, and the manifest says {one.manifest.rows}"
            )
        self._sources.add(wanted.as_.lower())
        self._view(wanted.as_, frame)

    def make(self, made: Made) -> None:
        """Make the view of a step; nothing is computed yet."""
        step = made.step
        if made.sql is None:
            frame = self._call(made)
        else:
            frame = self.session.sql(made.sql, args=dict(self._plan.values))
            self._trace(step.name, made.sql)
        problems = check_columns(f"steps.{step.name}", step.columns, columns_of(frame))
        if problems:
            raise BadData("\n".join(problems))
        self._view(step.name, frame)

    def written(self, name: str, frame: DataFrame) -> None:
        """Let a step be what was written of it: what comes after reads that, and its lineage begins there."""
        self._origins[name] = self.lineage(name)
        self._sources.add(name.lower())
        self._view(name, frame)

    def origin(self, name: str) -> Traced | None:
        """Tell where the columns of a step come from that was written down."""
        return self._origins.get(name)

    def lineage(self, view: str) -> Traced | None:
        """Tell where the columns of a view come from; None where a step in between cannot be read."""
        if view.lower() in self._sources:
            columns = columns_of(self.frames[view])
            return Traced({name: (Source(view.lower(), name, "DIRECT", "IDENTITY", False),) for name in columns}, ())
        known = {name.lower() for name, _ in self._traced} | self._sources
        found = dict(self._traced).get(view)
        if found is None or not self._reached(view, known):
            return None
        chain = [(name, one) for name, one in self._traced if name.lower() not in self._sources]
        return compose(chain, view, self._sources)

    def steps(self) -> list[dict[str, Any]]:
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
            self._traced.append((name, trace(sql, schemas)))
        except BadSql:
            return  # Spark understood it; the listener still tells the lineage of what is written

    def _call(self, made: Made) -> DataFrame:
        module, _, name = (made.step.python or "").partition(":")
        folder = str(self._plan.file.parent.resolve())
        if folder not in sys.path:
            sys.path.insert(0, folder)
        function: Function = getattr(importlib.import_module(module), name)
        frame = function({view: self.frames[view] for view in made.reads}, dict(self._plan.values))
        if not isinstance(frame, DataFrame):
            raise BadData(
                f"steps.{made.step.name}: {made.step.python} gives {type(frame).__name__}, and no DataFrame"
            )
        return frame


def reading_of(one: PlannedInput) -> Reading:
    """Say how an input is read."""
    wanted, content, manifest = one.input, one.content, one.manifest
    if manifest is not None:
        columns = manifest.columns or wanted.columns
        pieces = [f"{one.address.location.rstrip('/')}/{piece.path}" for piece in manifest.files]
        return Reading(
            manifest.format, one.address.location, pieces, None, columns, {**manifest.options, **wanted.options}
        )
    if content is not None:
        options = {**content.options, **wanted.options}
        return Reading(content.format, one.address.location, one.roots, None, content.columns, options)
    columns = wanted.columns if wanted.format in FILES else {}
    return Reading(wanted.format, one.address.location, None, one.version, columns, wanted.options)


def _told(made: Made, traced: Traced | None) -> dict[str, Any]:
    step = made.step
    told: dict[str, Any] = {
        "name": step.name,
        "kind": "python" if step.python else "sql",
        "reads": list(made.reads),
        "materialized": step.materialize,
    }
    if traced is not None:
        told["columns"] = {name: [_source(one) for one in sources] for name, sources in traced.columns.items()}
        told["whole"] = [_source(one) for one in traced.whole]
    return told


def _source(one: Source) -> dict[str, Any]:
    return {"from": one.view, "column": one.column, "type": one.type, "subtype": one.subtype, "masking": one.masking}
