"""The steps of a process: their SQL, what each reads, and the order in which they are made."""

import ast
import importlib.util
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from bridge.process.definition import ProcessDefinition, Step
from connectors.errors import ConfigError
from mappers.errors import InvalidSql
from mappers.sql.parser import referenced_views


class PlannedStep(NamedTuple):
    """A step, its code, and the inputs and steps that it reads."""

    step: Step
    #: Its SQL, or the text of its module.
    source_code: str
    reads: tuple[str, ...]

    @property
    def sql(self) -> str | None:
        """Give its SQL, if it is made by any."""
        return None if self.step.python else self.source_code


def load_steps(definition: ProcessDefinition, folder: Path) -> tuple[list[PlannedStep], list[str]]:
    """Read the steps in the order in which they are made, and say all that is wrong with them."""
    problems: list[str] = []
    known = {name.lower(): name for name in definition.views}
    made = {}
    for step in definition.steps:
        try:
            made[step.name] = _read(step, folder, known)
        except (ConfigError, InvalidSql) as error:
            problems.append(f"steps.{step.name}: {error}")
    order = _sort_by_dependency(made, problems)
    return [made[name] for name in order if name in made], problems


def upstream_names(steps: Iterable[PlannedStep], wanted: Iterable[str]) -> set[str]:
    """Name the inputs and steps that something is made from, with itself."""
    reads: Mapping[str, tuple[str, ...]] = {one.step.name: one.reads for one in steps}
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += reads.get(name, ())
    return found


def _read(step: Step, folder: Path, known: Mapping[str, str]) -> PlannedStep:
    if step.python is not None:
        return PlannedStep(step, _load_python_source(step.python, folder), tuple(step.reads))
    text = step.sql if step.sql is not None else _text(folder / (step.sql_file or ""))
    read = referenced_views(text)
    strange = sorted(name for name in read if name not in known)
    if strange:
        raise ConfigError(f"reads {', '.join(strange)}, which no input or step is called; known are {_listed(known)}")
    return PlannedStep(step, text, tuple(sorted(known[name] for name in read)))


def _listed(known: Mapping[str, str]) -> str:
    return ", ".join(known.values()) or "none"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is no UTF-8: {error.reason} at byte {error.start}") from error


def _load_python_source(entry_point: str, folder: Path) -> str:
    """See that a function is there, without running anything of its module; gives the module's text."""
    module, _, function = entry_point.partition(":")
    beside = folder.joinpath(*module.split(".")).with_suffix(".py")
    if beside.exists():
        source = beside
    else:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        if spec is None or spec.origin is None:
            raise ConfigError(f"python {entry_point}: no module {module} beside the file, and none is installed")
        source = Path(spec.origin)
        if source.suffix != ".py":
            return entry_point  # compiled: only a run can tell
    text = _text(source)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"python {entry_point}: {source} is no Python: {error}") from error
    names = [one.name for one in tree.body if isinstance(one, ast.FunctionDef)]
    imported = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom | ast.Assign)]
    if function not in names and not imported:
        raise ConfigError(f"python {entry_point}: {source} has no function {function}; it has {', '.join(names)}")
    return text


def _sort_by_dependency(made: Mapping[str, PlannedStep], problems: list[str]) -> list[str]:
    sorter = TopologicalSorter({name: [one for one in step.reads if one in made] for name, step in made.items()})
    try:
        return list(sorter.static_order())
    except CycleError as error:
        problems.append(f"steps: {' -> '.join(reversed(error.args[1]))} is a cycle: none of them can be made first")
        return []
