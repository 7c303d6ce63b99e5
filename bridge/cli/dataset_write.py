"""`lineage-bridge dataset` commands that write: publish, rollback, pin, unpin, invalidate."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from bridge.cli.options import EXIT_CONFLICT, Config, accept_old_options, load_settings
from bridge.cli.output import OutputFormat, OutputOption, echo, escape, print_result

if TYPE_CHECKING:
    from bridge.versions.command import Command

A = TypeVar("A")

By = Annotated[str | None, typer.Option(help="Acting user (default: current OS user)")]
Why = Annotated[str | None, typer.Option(help="Reason, stored in the history")]


def execute_command(config: list[Path] | None, command: "Command[A]", by: str | None) -> A:
    """Execute a command. Exit with an error if the dataset does not exist or a conflict occurs."""
    from contextlib import closing

    import msgspec

    from bridge.bootstrap.versions import open_command_context
    from bridge.errors import NotFound, StateConflict
    from bridge.versions.command import current_user, reject_nul_characters

    try:
        command = msgspec.convert(msgspec.to_builtins(command), type(command))  # also validates lengths
    except msgspec.ValidationError as error:
        raise typer.BadParameter(str(error)) from error
    reject_nul_characters(command)
    ctx = open_command_context(load_settings(config), by or current_user())
    with closing(ctx.registry):
        try:
            return command.execute(ctx)
        except NotFound as error:
            echo(escape(f"error: {error}"), err=True)
            raise typer.Exit(1) from error
        except StateConflict as error:
            echo(escape(f"error: {error}"), err=True)
            raise typer.Exit(EXIT_CONFLICT) from error


def parse_dataset_versions(args: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each dataset with the version that follows it."""
    datasets, versions = args[::2], args[1::2]
    if len(datasets) > len(versions):
        raise typer.BadParameter(f"missing version for dataset {datasets[-1]}")
    return list(zip(datasets, versions, strict=True))


def dataset_argument(dataset: str) -> dict[str, str]:
    """Return the command fields that identify a dataset: `id` for a UUID, otherwise `name`."""
    try:
        return {"id": str(UUID(dataset))}
    except ValueError:
        return {"name": dataset}


DatasetVersionPairs = Annotated[
    list[str],
    typer.Argument(
        metavar="DATASET VERSION...",
        help="Pairs of dataset (name or UUID) and version (tag, key, id or latest)",
    ),
]
Expected = Annotated[
    list[str] | None,
    typer.Option(help="Currently published version, once per dataset; fails if it differs", metavar="VERSION"),
]
_DEFAULT_DAYS = 30


def publish(
    pairs: DatasetVersionPairs,
    expected: Expected = None,
    expect_unpublished: Annotated[
        bool, typer.Option("--expect-unpublished", help="Fail if any of the datasets has a published version")
    ] = False,
    by: By = None,
    why: Why = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Publish versions of one or more datasets, all or none."""
    from msgspec import UNSET

    from bridge.cli.dataset_text import published_lines
    from bridge.versions.publish_commands import PublishCommand, PublishItem

    dataset_versions = parse_dataset_versions(pairs)
    if expected and (expect_unpublished or len(expected) != len(dataset_versions)):
        raise typer.BadParameter("specify --expected once per dataset, or --expect-unpublished")
    expected_by_index = dict(enumerate(expected or ()))
    default_expected = None if expect_unpublished else UNSET
    datasets = [
        PublishItem(
            **dataset_argument(name), version=version, expected=expected_by_index.get(index, default_expected)
        )
        for index, (name, version) in enumerate(dataset_versions)
    ]
    result = execute_command(config, PublishCommand(datasets=datasets, why=why), by)
    print_result(result, map(escape, published_lines(result)), as_json=output is OutputFormat.json)


def rollback(
    datasets: Annotated[
        list[str] | None, typer.Argument(metavar="DATASET...", help="Datasets (name or UUID)")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(help="Roll back to this version (must have been published before)", metavar="VERSION"),
    ] = None,
    publication: Annotated[int | None, typer.Option(min=1, help="Undo this publication for all its datasets")] = None,
    expected: Expected = None,
    by: By = None,
    why: Why = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Roll back datasets to their previously published version, all or none."""
    from msgspec import UNSET

    from bridge.cli.dataset_text import published_lines
    from bridge.versions.publish_commands import RollBackCommand, RollBackItem

    names = datasets or []
    if bool(names) == (publication is not None) or (publication is not None and (to or expected)):
        raise typer.BadParameter("specify datasets or --publication, not both")
    if expected and len(expected) != len(names):
        raise typer.BadParameter("specify --expected once per dataset")
    expected_by_index = dict(enumerate(expected or ()))
    items = [
        RollBackItem(**dataset_argument(name), to=to, expected=expected_by_index.get(index, UNSET))
        for index, name in enumerate(names)
    ]
    result = execute_command(config, RollBackCommand(datasets=items or None, publication=publication, why=why), by)
    print_result(result, map(escape, published_lines(result)), as_json=output is OutputFormat.json)


def pin(
    name: Annotated[str, typer.Argument(metavar="PIN", help="Pin name")],
    pairs: DatasetVersionPairs,
    until: Annotated[datetime | None, typer.Option(help="Expiry time (UTC)", metavar="TIME")] = None,
    days: Annotated[int | None, typer.Option(min=1, help=f"Days until expiry (default: {_DEFAULT_DAYS})")] = None,
    by: By = None,
    why: Why = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Pin versions of one or more datasets under a name, all or none."""
    from datetime import UTC, timedelta

    from bridge.cli.dataset_text import pin_line
    from bridge.versions.version_commands import PinCommand, PinItem

    if until and days:
        raise typer.BadParameter("--until and --days are mutually exclusive")
    expires_at = until or datetime.now(UTC) + timedelta(days=days or _DEFAULT_DAYS)
    datasets = [
        PinItem(**dataset_argument(dataset), version=version) for dataset, version in parse_dataset_versions(pairs)
    ]
    result = execute_command(config, PinCommand(pin=name, until=expires_at, datasets=datasets, why=why), by)
    print_result(result, map(escape, map(pin_line, result.pins)), as_json=output is OutputFormat.json)


def unpin(
    name: Annotated[str, typer.Argument(metavar="PIN", help="Pin name")],
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="Only for this dataset (name or UUID)")
    ] = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Remove a pin."""
    from bridge.cli.dataset_text import pin_line
    from bridge.versions.version_commands import UnpinCommand

    identity = dataset_argument(dataset) if dataset else {}
    result = execute_command(config, UnpinCommand(pin=name, **identity), None)
    print_result(result, map(escape, map(pin_line, result.pins)), as_json=output is OutputFormat.json)


def invalidate(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Dataset (name or UUID)")],
    version: Annotated[str, typer.Argument(help="Version: tag, key or id")],
    reason: Annotated[str | None, typer.Option(help="Reason")] = None,
    partition: Annotated[str | None, typer.Option(help="Only this partition, e.g. day=2026-01-31")] = None,
    valid: Annotated[bool, typer.Option("--valid", help="Revoke the invalidation")] = False,
    by: By = None,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Mark a version or one of its partitions invalid."""
    from bridge.cli.dataset_text import validity_lines
    from bridge.versions.version_commands import InvalidateCommand

    if valid == (reason is not None):
        raise typer.BadParameter("specify either --reason or --valid")
    command = InvalidateCommand(
        **dataset_argument(dataset), version=version, reason=reason, partition=partition, valid=valid
    )
    validity = execute_command(config, command, by)
    print_result(validity, map(escape, validity_lines(validity)), as_json=output is OutputFormat.json)


def add_commands(dataset: typer.Typer) -> None:
    """Add the commands that write."""
    dataset.command(cls=accept_old_options(first="expect_unpublished"))(publish)
    for command in (rollback, pin, unpin, invalidate):
        dataset.command()(command)
