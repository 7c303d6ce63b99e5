"""CLI commands as declared; the reference page is generated from them, too."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import closing
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo
from typer.testing import Result

from bridge.cli.main import app
from bridge.store.database import Database
from bridge.store.sqlite import SqliteDatabase
from tests.api.service import create_store_file
from tests.factories import Json
from tests.stores import Store


class Parameter(NamedTuple):
    """An argument or option of a command."""

    declared: ArgumentInfo | OptionInfo
    name: str
    kind: Any
    multiple: bool
    default: Any

    @property
    def option(self) -> bool:
        return isinstance(self.declared, OptionInfo)

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def choices(self) -> list[str]:
        """Allowed values of an enumeration, else empty."""
        return (
            [member.value for member in self.kind]
            if isinstance(self.kind, type) and issubclass(self.kind, Enum)
            else []
        )

    @property
    def spellings(self) -> list[str]:
        """Spellings of an option, longest first."""
        candidates = (self.declared.default, *(self.declared.param_decls or ()))
        explicit = [candidate for candidate in candidates if str(candidate).startswith("-")]
        name = self.name.replace("_", "-")
        derived = [f"--{name}", *([f"--no-{name}"] if self.kind is bool else [])]
        return sorted(explicit, key=len, reverse=True) or derived


class Command(NamedTuple):
    """A command or group; `path` is its name with those of its groups."""

    path: tuple[str, ...]
    help: str
    parameters: list[Parameter]
    is_group: bool


def iter_commands(group: typer.Typer = app, path: tuple[str, ...] = ()) -> Iterator[Command]:
    """Iterate over all commands, groups before their members; a group with a callback counts as a command."""
    own = group.registered_callback.callback if group.registered_callback else None
    yield Command(path, str(group.info.help), _parameters(own) if own else [], is_group=own is None)
    for command in group.registered_commands:
        if command.hidden:
            continue
        callback = command.callback
        assert callback is not None
        name = command.name or callback.__name__
        yield Command((*path, name), inspect.getdoc(callback) or "", _parameters(callback), is_group=False)
    for subgroup in group.registered_groups:
        instance = subgroup.typer_instance
        assert instance is not None
        yield from iter_commands(instance, (*path, str(subgroup.name)))


def _parameters(callback: Any) -> list[Parameter]:
    hints = get_type_hints(callback, include_extras=True)
    parameters = []
    for name, parameter in inspect.signature(callback).parameters.items():
        if hints[name] is typer.Context:
            continue
        hint, declared = get_args(hints[name])[:2]
        members = get_args(hint) if NoneType in get_args(hint) else [hint]
        kind = next(member for member in members if member is not NoneType)
        multiple = get_origin(kind) is list
        value_type = get_args(kind)[0] if multiple else kind
        parameters.append(Parameter(declared, name, value_type, multiple, parameter.default))
    return parameters


COMMANDS = {command.path: command for command in iter_commands()}


RunCli = Callable[..., Result]


def create_store(folder: Path, *events: Json, prepare: Callable[[Database], None] = lambda _: None) -> str:
    """Create a store of events, and return its URL."""
    path = create_store_file(folder)
    with closing(SqliteDatabase.for_writing(path)) as db:
        Store(db=db).apply_each(*events)
        prepare(db)
    return f"sqlite:///{path}"
