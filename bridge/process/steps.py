"""Loads the steps of a process and sorts them by dependency."""

import ast
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from bridge.process.definition import ProcessDefinition, Step
from connectors.errors import ConfigError
from mappers.errors import InvalidSql
from mappers.naming import suggest_name
from mappers.sql.lineage import missing_columns, trace_columns
from mappers.sql.parser import referenced_parameters, referenced_views


class PlannedStep(NamedTuple):
    """A step, its code, and the inputs and steps that it reads."""

    step: Step
    #: SQL, or source of the Python module.
    source_code: str
    reads: tuple[str, ...]

    @property
    def sql(self) -> str | None:
        """The SQL of the step, or None for a Python step."""
        return None if self.step.python else self.source_code


def load_steps(definition: ProcessDefinition, folder: Path) -> tuple[list[PlannedStep], list[str]]:
    """Load the steps. Return them in execution order, and the problems of steps that could not be loaded."""
    problems: list[str] = []
    view_names = {name.lower(): name for name in definition.views}
    steps_by_name: dict[str, PlannedStep] = {}
    for step in definition.steps:
        try:
            planned_step = steps_by_name[step.name] = _load_step(step, folder, view_names)
            if planned_step.sql is not None:
                check_parameters(planned_step.sql, definition)
        except (ConfigError, InvalidSql) as error:
            problems.append(f"steps.{step.name}: {error}")
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for name, planned_step in steps_by_name.items():
        sorter.add(name, *(view for view in planned_step.reads if view in steps_by_name))
    try:
        return [steps_by_name[name] for name in sorter.static_order()], problems
    except CycleError as error:
        _, cycle = error.args
        return [], [*problems, f"steps: {' -> '.join(reversed(cycle))} is a cycle"]


class TracedSteps(NamedTuple):
    """Known columns by view, in lower case, and the problems of the steps."""

    columns: dict[str, list[str]]
    problems: list[str]


def trace_steps(steps: Iterable[PlannedStep], input_columns: Mapping[str, Sequence[str]]) -> TracedSteps:
    """Derive the columns of steps, and find nonexistent columns. Views whose columns are not known are skipped."""
    columns_by_view = {name.lower(): list(columns) for name, columns in input_columns.items()}
    problems: list[str] = []
    for planned_step in steps:
        step, sql = planned_step.step, planned_step.sql
        if sql is None:
            if step.columns:
                columns_by_view[step.name.lower()] = list(step.columns)
            continue
        column_errors = missing_columns(sql, columns_by_view)
        problems += [f"steps.{step.name}: {error}" for error in column_errors]
        if not column_errors and all(name.lower() in columns_by_view for name in planned_step.reads):
            try:
                columns_by_view[step.name.lower()] = list(trace_columns(sql, columns_by_view).columns)
            except InvalidSql as error:
                problems.append(f"steps.{step.name}: {error}")
    return TracedSteps(columns_by_view, problems)


def upstream_names(steps: Iterable[PlannedStep], names: Iterable[str]) -> set[str]:
    """Return the given names, and the names of all inputs and steps that they derive from."""
    reads_by_step = {planned_step.step.name: planned_step.reads for planned_step in steps}
    upstream: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in upstream:
            upstream.add(name)
            pending += reads_by_step.get(name, ())
    return upstream


def check_parameters(sql: str, definition: ProcessDefinition) -> None:
    """Raise ConfigError if a query uses a parameter that the process does not declare."""
    undeclared_names = sorted(referenced_parameters(sql) - definition.params.keys())
    if undeclared_names:
        names = ", ".join(f":{name}" for name in undeclared_names)
        raise ConfigError(f"uses undeclared parameter {names}; declared: {', '.join(definition.params) or 'none'}")


def _load_step(step: Step, folder: Path, view_names: Mapping[str, str]) -> PlannedStep:
    """Load the code of a step, and determine the views that it reads. `view_names` are by lower-case name."""
    if step.python is not None:
        return PlannedStep(step, _load_python_source(step.python, folder), tuple(step.reads))
    sql = step.sql if step.sql is not None else _read_file(folder / (step.sql_file or ""))
    referenced_names = referenced_views(sql)
    require_known_views(referenced_names, view_names)
    return PlannedStep(step, sql, tuple(sorted(view_names[name] for name in referenced_names)))


def require_known_views(referenced_names: Iterable[str], view_names: Mapping[str, str]) -> None:
    """Raise ConfigError for a name in lower case that is not among the views, which are by lower-case name."""
    for name in sorted(referenced_names):
        if name not in view_names:
            hint = suggest_name(name, list(view_names.values()), "known views")
            raise ConfigError(f"reads unknown view {name}; {hint}")


def _read_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is not valid UTF-8: {error.reason} at byte {error.start}") from error


def _load_python_source(entry_point: str, folder: Path) -> str:
    """Return the source code of a function's module. Checks that the function exists without running the module."""
    module, _, function = entry_point.partition(":")
    source_file = _find_module_file(module, folder)
    if source_file is None:
        raise ConfigError(f"python {entry_point}: no module {module} next to the process file, and none is installed")
    if source_file.suffix != ".py":
        return entry_point  # compiled modules are checked at run time
    source_code = _read_file(source_file)
    try:
        tree = ast.parse(source_code)
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"python {entry_point}: {source_file} is not valid Python: {error}") from error
    function_names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    # The module may also import the function, or assign it to a name.
    may_define_others = any(isinstance(node, ast.Import | ast.ImportFrom | ast.Assign) for node in tree.body)
    if function not in function_names and not may_define_others:
        raise ConfigError(
            f"python {entry_point}: {source_file} has no function {function}; functions: {', '.join(function_names)}"
        )
    return source_code


def _find_module_file(module: str, folder: Path) -> Path | None:
    """Return the file of a module in the folder, or else of an installed module; None if there is neither."""
    local_file = folder.joinpath(*module.split(".")).with_suffix(".py")
    if local_file.exists():
        return local_file
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin)
