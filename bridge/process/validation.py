"""Validates process files without a store and without Spark."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bridge.process.check_definition import CheckDefinition
from bridge.process.definition import FILE_FORMATS, LIVE, Input, ProcessDefinition
from bridge.process.steps import check_parameters, load_steps, require_known_views, trace_steps
from bridge.settings.yaml_model import read_model, read_origins
from bridge.settings.yaml_tree import Origin
from connectors.errors import ConfigError
from mappers.errors import InvalidSql
from mappers.naming import suggest_name
from mappers.sql.parser import referenced_views

_STEP_PROBLEM = re.compile(r"steps\.(\w+): ")
_ENTRY_PROBLEM = re.compile(r"(quality|outputs)\.(\d+): ")


def read_valid_definition(file: Path) -> ProcessDefinition:
    """Read a process file. Raises ConfigError with one line per problem (file, line and key)."""
    definition = read_model(file, ProcessDefinition)
    problems = list(_find_problems(definition, file.parent))
    if problems:
        origins = read_origins(file)
        step_names = [step.name for step in definition.steps]
        lines = []
        for problem in problems:
            key_path: tuple[str | int, ...] = ("steps",)
            if match := _STEP_PROBLEM.match(problem):
                key_path = ("steps", step_names.index(match[1]))
            elif match := _ENTRY_PROBLEM.match(problem):
                key_path = (match[1], int(match[2]))
            lines.append(f"{origins.get(key_path, Origin(str(file), 1))}: {problem}")
        raise ConfigError("\n".join(lines))
    return definition


def _find_problems(definition: ProcessDefinition, folder: Path) -> Iterator[str]:
    """Find problems in the SQL of steps and checks, and columns that do not exist."""
    steps, step_problems = load_steps(definition, folder)
    yield from step_problems
    input_columns = {input_.as_: list(input_.columns) for input_ in definition.inputs if _has_all_columns(input_)}
    columns_by_view, column_problems = trace_steps(steps, input_columns)
    yield from column_problems
    views_by_name = {step.name: step.name for step in definition.steps}
    views_by_name |= {output.dataset: output.from_ for output in definition.outputs}
    for index, output in enumerate(definition.outputs):
        columns = columns_by_view.get(output.from_.lower())
        names = [*output.partition_by, *output.keys, *output.columns]
        yield from _missing_columns(f"outputs.{index}", output.from_, names, columns)
    for index, check in enumerate(definition.quality):
        columns = columns_by_view.get(views_by_name[check.on].lower())
        yield from _missing_columns(f"quality.{index}", check.on, check.key_columns, columns)
        yield from _reference_problems(f"quality.{index}", check, columns_by_view)
        if check.sql is not None:
            try:
                check_parameters(check.sql, definition)
                _require_known_views(check.sql, definition)
            except (ConfigError, InvalidSql) as error:
                yield f"quality.{index}: {error}"


def _require_known_views(sql: str, definition: ProcessDefinition) -> None:
    """Raise ConfigError if a check reads an unknown view. Tables of a catalog are only known to Spark."""
    datasets = [output.dataset for output in definition.outputs]
    if any("{" in dataset for dataset in datasets):
        return  # the names of these outputs depend on the parameters of a run
    views = [*definition.views, *map(definition.check_view, datasets)]
    view_names = [name for name in referenced_views(sql) if "." not in name]
    require_known_views(view_names, {name.lower(): name for name in views})


def _has_all_columns(input_: Input) -> bool:
    """Return True if the declared columns are all columns of an input: live files are read with this schema."""
    return bool(input_.columns) and input_.pin == LIVE and input_.format in FILE_FORMATS


def _reference_problems(
    label: str, check: CheckDefinition, columns_by_view: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    if check.references is not None:
        view, _, column = check.references.partition(".")
        yield from _missing_columns(label, view, [column], columns_by_view.get(view.lower()))


def _missing_columns(label: str, view: str, names: Iterable[str], columns: Sequence[str] | None) -> Iterator[str]:
    """Report names that are not among the columns of a view, unless these columns are unknown."""
    if columns is None:
        return
    known_names = {column.lower() for column in columns}
    for name in names:
        if name.lower() not in known_names:
            yield f"{label}: {view} has no column {name}; {suggest_name(name, columns, 'columns')}"
