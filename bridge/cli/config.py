"""`lineage-bridge config`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bridge.cli.options import Config
from bridge.cli.output import OutputFormat, escape, print_json

if TYPE_CHECKING:
    from bridge.settings.loader import LoadedSettings

config = typer.Typer(
    name="config", help="The settings: what is in effect, and whether they are right.", no_args_is_help=True
)

_MASK = "***"


class Setting(NamedTuple):
    """A setting in effect, without what is secret in it, and where it was set."""

    at: tuple[str, ...]
    value: Any
    origin: str


@config.command()
def show(
    origin: Annotated[
        bool, typer.Option("--origin", help="Say where each was set: file and line, variable, or default.")
    ] = False,
    output: Annotated[
        OutputFormat, typer.Option(help="A line for each setting, or one JSON object.")
    ] = OutputFormat.text,
    config: Config = None,
) -> None:
    """Show every setting in effect, secrets masked."""
    from bridge.settings.loader import load_settings_with_origins

    settings = list(_settings(load_settings_with_origins(config or [])))
    if output is OutputFormat.json:
        print_json(_nested(settings, origin=origin))
        return
    for one in settings:
        typer.echo(escape(f"{'.'.join(one.at)}: {_as_json(one.value)}" + (f"  # {one.origin}" if origin else "")))


@config.command()
def check(config: Config = None) -> None:
    """Read files and variables, and say everything that is wrong with them at once."""
    from bridge.settings.loader import load_settings_with_origins

    load_settings_with_origins(config or [])
    read = ", ".join(map(str, config or [])) or "no file, so defaults"
    typer.echo(f"all is well: read {read} and the environment")


def _settings(found: "LoadedSettings") -> Iterator[Setting]:
    for at, value in _leaves((), found.settings.model_dump(mode="json", by_alias=True)):
        yield Setting(at, _without_secrets(at, value), found.origins.get(at, "default"))


def _leaves(at: tuple[str, ...], content: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(content, dict):
        yield at, content
        return
    for key, value in content.items():
        yield from _leaves((*at, key), value)


def _without_secrets(at: tuple[str, ...], value: Any) -> Any:
    if at == ("store", "url"):
        from bridge.store.connect import StoreUrl

        return StoreUrl(value).without_password
    return [one | {"sha256": _MASK} for one in value] if at == ("server", "api_keys") else value


def _nested(settings: list[Setting], *, origin: bool) -> dict[str, Any]:
    """Give the settings as a configuration file holds them, and their origins by their whole names."""
    values: dict[str, Any] = {}
    for one in settings:
        section = values
        for part in one.at[:-1]:
            section = section.setdefault(part, {})
        section[one.at[-1]] = one.value
    origins = {"origins": {".".join(one.at): one.origin for one in settings}} if origin else {}
    return {"settings": values} | origins


def _as_json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
