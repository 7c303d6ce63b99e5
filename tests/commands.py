"""Every command of the command line, as it is declared; the page of reference is made of it, too."""

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
from tests.api.service import store_file
from tests.factories import Json
from tests.stores import Store


class Parameter(NamedTuple):
    """An argument or option of a command."""

    declared: ArgumentInfo | OptionInfo
    name: str
    kind: Any
    several: bool
    default: Any

    @property
    def option(self) -> bool:
        return isinstance(self.declared, OptionInfo)

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def choices(self) -> list[str]:
        """Give the words that it may be, where only some are."""
        return [one.value for one in self.kind] if isinstance(self.kind, type) and issubclass(self.kind, Enum) else []

    @property
    def words(self) -> list[str]:
        """Give the spellings of an option, the longest first."""
        given = [
            word for word in (self.declared.default, *(self.declared.param_decls or ())) if str(word).startswith("-")
        ]
        named = self.name.replace("_", "-")
        made = [f"--{named}", *([f"--no-{named}"] if self.kind is bool else [])]
        return sorted(given, key=len, reverse=True) or made


class Command(NamedTuple):
    """A command or group: its words, what it does, and what it takes."""

    words: tuple[str, ...]
    does: str
    parameters: list[Parameter]
    group: bool


def commands(of: typer.Typer = app, words: tuple[str, ...] = ()) -> Iterator[Command]:
    """Give every command, each group before what is in it; one that does something by itself is a command, too."""
    own = of.registered_callback.callback if of.registered_callback else None
    yield Command(words, str(of.info.help), _parameters(own) if own else [], group=own is None)
    for one in of.registered_commands:
        callback = one.callback
        assert callback is not None
        called = one.name or callback.__name__
        yield Command((*words, called), inspect.getdoc(callback) or "", _parameters(callback), group=False)
    for inside in of.registered_groups:
        inner = inside.typer_instance
        assert inner is not None
        yield from commands(inner, (*words, str(inside.name)))


def _parameters(callback: Any) -> list[Parameter]:
    hints = get_type_hints(callback, include_extras=True)
    found = []
    for name, given in inspect.signature(callback).parameters.items():
        if hints[name] is typer.Context:
            continue
        hint, declared = get_args(hints[name])[:2]
        kind = next(one for one in (get_args(hint) if NoneType in get_args(hint) else [hint]) if one is not NoneType)
        several = get_origin(kind) is list
        found.append(Parameter(declared, name, get_args(kind)[0] if several else kind, several, given.default))
    return found


COMMANDS = {command.words: command for command in commands()}


Ask = Callable[..., Result]


def url_of(folder: Path, *events: Json, then: Callable[[Database], None] = lambda _: None) -> str:
    """Make a store of events, and do something to it then; gives its address."""
    path = store_file(folder)
    with closing(SqliteDatabase.for_writing(path)) as db:
        Store(db=db).apply_each(*events)
        then(db)
    return f"sqlite:///{path}"
