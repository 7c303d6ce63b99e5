"""`lineage-bridge config`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bridge.cli.options import Config
from bridge.cli.output import OutputFormat, OutputOption, echo, escape, print_json

if TYPE_CHECKING:
    from bridge.settings.loader import LoadedSettings

config = typer.Typer(name="config", help="Show and validate the effective settings.", no_args_is_help=True)

_MASK = "***"


class Setting(NamedTuple):
    """An effective setting, with secrets masked, and its origin."""

    path: tuple[str, ...]
    value: Any
    origin: str


@config.command()
def show(
    origin: Annotated[
        bool, typer.Option("--origin", help="Show where each value was set: file and line, variable or default")
    ] = False,
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Show all effective settings with secrets masked."""
    from bridge.settings.loader import load_settings_with_origins

    settings = list(_list_settings(load_settings_with_origins(config or [])))
    if output is OutputFormat.json:
        print_json(_nest_settings(settings, origin=origin))
        return
    for setting in settings:
        comment = f"  # {setting.origin}" if origin else ""
        typer.echo(escape(f"{'.'.join(setting.path)}: {_json_text(setting.value)}{comment}"))


@config.command()
def check(config: Config = None) -> None:
    """Validate configuration files and environment variables, and report all errors at once."""
    from bridge.settings.loader import load_settings_with_origins

    load_settings_with_origins(config or [])
    files = ", ".join(map(str, config or [])) or "no file"
    echo(f"configuration is valid: {files} and the environment")


def _list_settings(loaded_settings: "LoadedSettings") -> Iterator[Setting]:
    content = loaded_settings.settings.model_dump(mode="json", by_alias=True)
    for path, value in _leaf_values((), content):
        yield Setting(path, _mask_secrets(path, value), loaded_settings.origins.get(path, "default"))


def _leaf_values(path: tuple[str, ...], content: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and value of each setting in the content of a section at `path`."""
    if not isinstance(content, dict):
        yield path, content
        return
    for key, value in content.items():
        yield from _leaf_values((*path, key), value)


def _mask_secrets(path: tuple[str, ...], value: Any) -> Any:
    """Mask secrets that are part of a value. Values that are secrets themselves are masked already."""
    if path == ("store", "url"):
        from bridge.store.connect import StoreUrl

        return StoreUrl(value).without_password
    if path == ("webhook", "url") and value:
        from mappers.redaction import redact_path

        return redact_path(value)
    if path == ("server", "api_keys"):
        return [key | {"sha256": _MASK} for key in value]
    return value


def _nest_settings(settings: list[Setting], *, origin: bool) -> dict[str, Any]:
    """Nest the settings as in a configuration file. With `origin`, list the origins by dotted path."""
    values: dict[str, Any] = {}
    for setting in settings:
        section = values
        *section_names, key = setting.path
        for name in section_names:
            section = section.setdefault(name, {})
        section[key] = setting.value
    if not origin:
        return {"settings": values}
    return {"settings": values, "origins": {".".join(setting.path): setting.origin for setting in settings}}


def _json_text(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
