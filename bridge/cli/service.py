"""`lineage-bridge serve` and `version`."""

from typing import Annotated

import typer

from bridge.cli.options import Config, load_settings
from bridge.cli.output import OutputFormat, OutputOption, echo, print_json


def serve(
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Listen address (default: server.host)")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Listen port (default: server.port)")] = None,
) -> None:
    """Run the HTTP service, sync and governance until stopped."""
    import os

    from bridge.settings.model import PREFIX

    for name, value in (("HOST", host), ("PORT", port)):
        if value is not None:
            os.environ[f"{PREFIX}SERVER__{name}"] = str(value)
    settings = load_settings(config)
    from bridge.api.server import run_server

    run_server(settings)


def version(
    output: OutputOption = OutputFormat.text,
) -> None:
    """Print the version; with --output json also Python, store schema and OpenLineage versions."""
    from bridge import __version__

    if output is OutputFormat.text:
        echo(f"lineage-bridge {__version__}")
        return
    import platform

    from bridge.store.migrations import HEAD
    from bridge.store.schema import SPEC_VERSION

    print_json({"version": __version__, "python": platform.python_version(), "store": HEAD, "spec": SPEC_VERSION})
