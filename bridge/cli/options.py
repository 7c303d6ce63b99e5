"""Option types and argument parsers shared by commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from bridge.settings.target_names import TargetName, enabled_targets

if TYPE_CHECKING:
    from bridge.settings.model import Settings

A = TypeVar("A")
#: An argument or the configuration is invalid; documented in docs/guides/command-line.md, as the next one.
EXIT_USAGE = 2
#: The current state conflicts with the command; documented in docs/guides/command-line.md.
EXIT_CONFLICT = 6


Config = Annotated[
    list[Path] | None,
    typer.Option("--config", "-c", help="Configuration file; repeatable, later files override earlier ones"),
]
Url = Annotated[
    str | None,
    typer.Option(help="Query the service at this URL instead of the local store", envvar="LINEAGE_BRIDGE_URL"),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        help="API key for --url (scope: read); prefer the environment variable",
        envvar="LINEAGE_BRIDGE_API_KEY",
    ),
]
DatasetNamespace = Annotated[
    str, typer.Argument(help="Dataset namespace, e.g. file; or namespace and name in one string")
]
DatasetName = Annotated[str | None, typer.Argument(help="Dataset name, e.g. /data/out/bands")]
Target = Annotated[
    TargetName | None,
    typer.Option("--target", help="Sync target (default: the first enabled one)"),
]


def accept_old_options(**new_names: str) -> type[TyperCommand]:
    """Build a command class that also accepts former option names. The help shows only the new names."""
    new_options = {f"--{old}": f"--{new.replace('_', '-')}" for old, new in new_names.items()}

    class CommandWithOldOptions(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            options_end = args.index("--") if "--" in args else len(args)
            renamed_args = []
            for arg in args[:options_end]:
                option, equals, value = arg.partition("=")
                renamed_args.append(f"{new_options.get(option, option)}{equals}{value}")
            return super().parse_args(ctx, [*renamed_args, *args[options_end:]])

    return CommandWithOldOptions


def dataset_parameters(namespace: str, name: str | None) -> dict[str, str]:
    """Return the query parameters of a dataset given as NAMESPACE and NAME or as one string."""
    return {"name": namespace} if name is None else {"namespace": namespace, "name": name}


def parse_time(option: str, text: str | None) -> int | None:
    """Parse the value of an option, which is in UTC unless it has a time zone, to microseconds since the epoch."""
    from mappers.timestamps import parse_timestamp

    if text is None:
        return None
    try:
        micros, _ = parse_timestamp(text)
    except ValueError as error:
        raise typer.BadParameter(f"{option} {text}: not a timestamp (example: 2026-11-01T00:00:00Z)") from error
    return micros


def load_settings(config: list[Path] | None) -> "Settings":
    """Load the settings. Imports the loader only when a command runs."""
    from bridge.settings.loader import load_settings

    return load_settings(config or [])


def resolve_target(target: TargetName | None, config: list[Path] | None) -> TargetName:
    """Return the given target or, by default, the first enabled target."""
    return target or next(iter(enabled_targets(load_settings(config))), TargetName.openmetadata)
