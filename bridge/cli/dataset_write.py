"""`lineage-bridge dataset` commands that write: publish, rollback, pin, unpin, invalidate."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from bridge.cli.dataset import OutputOption
from bridge.cli.options import EXIT_CONFLICT, Config, accept_old_options, load_settings
from bridge.cli.output import OutputFormat, escape, print_result

if TYPE_CHECKING:
    from bridge.versions.command import Command

A = TypeVar("A")

By = Annotated[str | None, typer.Option(help="Who wants it; else the user of this process.")]
Why = Annotated[str | None, typer.Option(help="Why; kept with the history.")]


def execute_command(config: list[Path] | None, order: "Command[A]", by: str | None) -> A:
    """Have an order done; what is not in the store, or is otherwise there, ends the command."""
    from contextlib import closing

    import msgspec

    from bridge.bootstrap.versions import open_command_context
    from bridge.errors import NotFound, StateConflict
    from bridge.versions.command import current_user, reject_nul_characters

    try:
        order = msgspec.convert(msgspec.to_builtins(order), type(order))  # which looks at lengths, too
    except msgspec.ValidationError as error:
        raise typer.BadParameter(str(error)) from error
    reject_nul_characters(order)
    desk = open_command_context(load_settings(config), by or current_user())
    with closing(desk.registry):
        try:
            return order.execute(desk)
        except NotFound as error:
            typer.echo(escape(f"error: {error}"), err=True)
            raise typer.Exit(1) from error
        except StateConflict as error:
            typer.echo(escape(f"error: {error}"), err=True)
            raise typer.Exit(EXIT_CONFLICT) from error


def parse_dataset_versions(words: Sequence[str]) -> list[tuple[str, str]]:
    """Take words two by two: a dataset, and a version of it."""
    if len(words) % 2:
        raise typer.BadParameter(f"name a version of {words[-1]}: every dataset is followed by its version")
    return list(zip(words[::2], words[1::2], strict=True))


def dataset_argument(word: str) -> dict[str, str]:
    """Give the parameters that name a dataset: its UUID, or namespace and name in one."""
    try:
        return {"id": str(UUID(word))}
    except ValueError:
        return {"name": word}


DatasetVersionPairs = Annotated[
    list[str],
    typer.Argument(
        metavar="DATASET VERSION...",
        help="Datasets, each in one word or by its UUID and followed by a version: a tag, key or id, or `latest`.",
    ),
]
Expected = Annotated[
    list[str] | None,
    typer.Option(help="What is published now, of each dataset in its order; else it is refused.", metavar="VERSION"),
]
_DAYS = 30


def publish(
    pairs: DatasetVersionPairs,
    expected: Expected = None,
    expect_unpublished: Annotated[
        bool, typer.Option("--expect-unpublished", help="Fail if a version of any of the datasets is published.")
    ] = False,
    by: By = None,
    why: Why = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Publish a version of each dataset, or of none."""
    from msgspec import UNSET

    from bridge.cli.dataset_text import published_lines
    from bridge.versions.publish_commands import PublishCommand, PublishItem

    wanted = parse_dataset_versions(pairs)
    if expected and (expect_unpublished or len(expected) != len(wanted)):
        raise typer.BadParameter("give --expected once per dataset, or --expect-unpublished")
    known = dict(enumerate(expected or ()))
    unsaid = None if expect_unpublished else UNSET
    datasets = [
        PublishItem(**dataset_argument(word), version=version, expected=known.get(place, unsaid))
        for place, (word, version) in enumerate(wanted)
    ]
    made = execute_command(config, PublishCommand(datasets=datasets, why=why), by)
    print_result(made, map(escape, published_lines(made)), as_json=output is OutputFormat.json)


def rollback(
    datasets: Annotated[
        list[str] | None, typer.Argument(metavar="DATASET...", help="Datasets, each in one word or by its UUID.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="To this version, which was published at any time.", metavar="VERSION")
    ] = None,
    publication: Annotated[
        int | None, typer.Option(min=1, help="Undo this publication, of all datasets that it moved.")
    ] = None,
    expected: Expected = None,
    by: By = None,
    why: Why = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Go back to what was published before, of all datasets that are named or of none."""
    from msgspec import UNSET

    from bridge.cli.dataset_text import published_lines
    from bridge.versions.publish_commands import RollBackCommand, RollBackItem

    words = datasets or []
    if bool(words) == (publication is not None) or (publication is not None and (to or expected)):
        raise typer.BadParameter("name datasets, or a --publication alone")
    if expected and len(expected) != len(words):
        raise typer.BadParameter("say --expected once for each dataset")
    known = dict(enumerate(expected or ()))
    wanted = [
        RollBackItem(**dataset_argument(word), to=to, expected=known.get(place, UNSET))
        for place, word in enumerate(words)
    ]
    made = execute_command(config, RollBackCommand(datasets=wanted or None, publication=publication, why=why), by)
    print_result(made, map(escape, published_lines(made)), as_json=output is OutputFormat.json)


def pin(
    name: Annotated[str, typer.Argument(metavar="PIN", help="What the versions are found by.")],
    pairs: DatasetVersionPairs,
    until: Annotated[datetime | None, typer.Option(help="When it ends (UTC).", metavar="TIME")] = None,
    days: Annotated[int | None, typer.Option(min=1, help=f"How many days it lasts; {_DAYS} without --until.")] = None,
    by: By = None,
    why: Why = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Keep a version of each dataset under a name until a time, or of none."""
    from datetime import UTC, timedelta

    from bridge.cli.dataset_text import pin_line
    from bridge.versions.version_commands import PinCommand, PinItem

    if until and days:
        raise typer.BadParameter("say --until or --days")
    ends = until or datetime.now(UTC) + timedelta(days=days or _DAYS)
    datasets = [PinItem(**dataset_argument(word), version=version) for word, version in parse_dataset_versions(pairs)]
    made = execute_command(config, PinCommand(pin=name, until=ends, datasets=datasets, why=why), by)
    print_result(made, map(escape, map(pin_line, made.pins)), as_json=output is OutputFormat.json)


def unpin(
    name: Annotated[str, typer.Argument(metavar="PIN", help="The name of the pin.")],
    of: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="Only of this dataset, in one word or by its UUID.")
    ] = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Remove a pin."""
    from bridge.cli.dataset_text import pin_line
    from bridge.versions.version_commands import UnpinCommand

    gone = execute_command(config, UnpinCommand(pin=name, **(dataset_argument(of) if of else {})), None)
    print_result(gone, map(escape, map(pin_line, gone.pins)), as_json=output is OutputFormat.json)


def invalidate(
    of: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset, in one word or by its UUID.")],
    version: Annotated[str, typer.Argument(help="The version: a tag, key or id.")],
    reason: Annotated[str | None, typer.Option(help="Why it is not to be read.")] = None,
    partition: Annotated[str | None, typer.Option(help="Only this partition, such as `day=2026-01-31`.")] = None,
    valid: Annotated[bool, typer.Option("--valid", help="Take it back: it is to be read again.")] = False,
    by: By = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Mark a version, or a partition of it, as not to be read."""
    from bridge.cli.dataset_text import validity_lines
    from bridge.versions.version_commands import InvalidateCommand

    if valid == (reason is not None):
        raise typer.BadParameter("say --reason, or --valid")
    order = InvalidateCommand(
        **dataset_argument(of), version=version, reason=reason, partition=partition, valid=valid
    )
    told = execute_command(config, order, by)
    print_result(told, map(escape, validity_lines(told)), as_json=output is OutputFormat.json)


def add_commands(dataset: typer.Typer) -> None:
    """Add these commands to those that read."""
    dataset.command(cls=accept_old_options(first="expect_unpublished"))(publish)
    for command in (rollback, pin, unpin, invalidate):
        dataset.command()(command)
