"""`lineage-bridge doctor`."""

import json
from typing import Annotated

import typer

from bridge.cli.options import Config, Output


def doctor(
    output: Annotated[Output, typer.Option(help="A line for each finding, or one JSON object.")] = Output.text,
    config: Config = None,
) -> None:
    """Check all that the service needs, and that everything that came in is accounted for; changes nothing."""
    from bridge.cli.escape import escape
    from bridge.doctor.examination import examine
    from bridge.doctor.finding import Level

    findings = []
    for finding in examine(config or []):
        findings.append(finding)
        if output is Output.text:
            typer.echo(escape(str(finding)))
    worst = max((finding.level for finding in findings), key=list(Level).index)
    if output is Output.json:
        typer.echo(json.dumps({"level": worst, "findings": [finding._asdict() for finding in findings]}))
    if worst is Level.error:
        raise typer.Exit(1)
