"""`lineage-bridge doctor`."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config
from bridge.cli.output import OutputFormat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.doctor.finding import Finding


def doctor(
    output: Annotated[
        OutputFormat, typer.Option(help="A line for each finding, or one JSON object.")
    ] = OutputFormat.text,
    config: Config = None,
) -> None:
    """Check all that the service needs, and that everything that came in is accounted for; changes nothing."""
    from bridge.doctor.runner import run_checks

    print_findings(run_checks(config or []), output)


def print_findings(found: "Iterable[Finding]", output: OutputFormat) -> None:
    """Print findings as they come, or all in one; an error among them ends the command with 1."""
    from bridge.cli.output import escape
    from bridge.doctor.finding import Level

    findings = []
    for finding in found:
        findings.append(finding)
        if output is OutputFormat.text:
            typer.echo(escape(str(finding)))
    worst = max((finding.level for finding in findings), key=list(Level).index)
    if output is OutputFormat.json:
        typer.echo(json.dumps({"level": worst, "findings": [finding.as_json() for finding in findings]}))
    if worst is Level.error:
        raise typer.Exit(1)


openmetadata = typer.Typer(
    name="openmetadata", help="The way into OpenMetadata: whether it is open.", no_args_is_help=True
)


@openmetadata.command()
def check(
    output: Annotated[
        OutputFormat, typer.Option(help="A line for each finding, or one JSON object.")
    ] = OutputFormat.text,
    config: Config = None,
) -> None:
    """Check server, version, token, rights and services, with a remedy for what is wrong; writes nothing there."""
    from bridge.cli.doctor import print_findings
    from bridge.doctor.openmetadata.runner import run_checks

    print_findings(run_checks(config or []), output)
