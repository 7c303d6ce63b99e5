"""`lineage-bridge openmetadata`."""

from typing import Annotated

import typer

from bridge.cli.options import Config, Output

openmetadata = typer.Typer(
    name="openmetadata", help="The way into OpenMetadata: whether it is open.", no_args_is_help=True
)


@openmetadata.command()
def check(
    output: Annotated[Output, typer.Option(help="A line for each finding, or one JSON object.")] = Output.text,
    config: Config = None,
) -> None:
    """Check server, version, token, rights and services, with a remedy for what is wrong; writes nothing there."""
    from bridge.cli.doctor import tell
    from bridge.doctor.openmetadata.examination import examine

    tell(examine(config or []), output)
