"""`lineage-bridge doctor`."""

import json
from typing import TYPE_CHECKING

import typer

from bridge.cli.options import Config
from bridge.cli.output import OutputFormat, OutputOption, escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.doctor.finding import Finding


def doctor(
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Diagnose configuration, store and sync, and account for every received event (read-only)."""
    from bridge.doctor.runner import run_checks

    print_findings(run_checks(config or []), output)


def print_findings(new_findings: "Iterable[Finding]", output: OutputFormat) -> None:
    """Print findings as they arrive, or all at once as JSON. Exit with code 1 if any of them is an error."""
    from bridge.doctor.finding import Level

    findings = []
    for finding in new_findings:
        findings.append(finding)
        if output is OutputFormat.text:
            typer.echo(escape(str(finding)))
    worst_level = max((finding.level for finding in findings), key=list(Level).index)
    if output is OutputFormat.json:
        typer.echo(json.dumps({"level": worst_level, "findings": [finding.as_json() for finding in findings]}))
    if worst_level is Level.error:
        raise typer.Exit(1)


openmetadata = typer.Typer(name="openmetadata", help="Check the connection to OpenMetadata.", no_args_is_help=True)


@openmetadata.command()
def check(
    output: OutputOption = OutputFormat.text,
    config: Config = None,
) -> None:
    """Check server, version, token, permissions and services of OpenMetadata (read-only)."""
    from bridge.doctor.openmetadata.runner import run_checks

    print_findings(run_checks(config or []), output)
