"""How commands tell the registry of the settings' store what to do."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from bridge.cli.escape import escape
from bridge.cli.options import EXIT_CONFLICT, load

if TYPE_CHECKING:
    from bridge.orders.order import Order

A = TypeVar("A")

By = Annotated[str | None, typer.Option(help="Who wants it; else the user of this process.")]
Why = Annotated[str | None, typer.Option(help="Why; kept with the history.")]


def done(config: list[Path] | None, order: "Order[A]", by: str | None) -> A:
    """Have an order done; what is not in the store, or is otherwise there, ends the command."""
    from contextlib import closing

    import msgspec

    from bridge.bootstrap import open_desk
    from bridge.orders.order import check_texts
    from bridge.orders.signer import user
    from mappers.errors import Conflict, UnknownName

    try:
        order = msgspec.convert(msgspec.to_builtins(order), type(order))  # which looks at lengths, too
    except msgspec.ValidationError as error:
        raise typer.BadParameter(str(error)) from error
    check_texts(order)
    desk = open_desk(load(config), by or user())
    with closing(desk.registry):
        try:
            return order.done(desk)
        except UnknownName as error:
            typer.echo(escape(f"error: {error}"), err=True)
            raise typer.Exit(1) from error
        except Conflict as error:
            typer.echo(escape(f"error: {error}"), err=True)
            raise typer.Exit(EXIT_CONFLICT) from error


def in_pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    """Take words two by two: a dataset, and a version of it."""
    if len(words) % 2:
        raise typer.BadParameter(f"name a version of {words[-1]}: every dataset is followed by its version")
    return list(zip(words[::2], words[1::2], strict=True))


def of_word(word: str) -> dict[str, str]:
    """Give the parameters that name a dataset: its UUID, or namespace and name in one."""
    try:
        return {"id": str(UUID(word))}
    except ValueError:
        return {"name": word}
