"""`lineage-bridge doctor`."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.cli.options import Config, Output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.doctor.finding import Finding


def doctor(
    output: Annotated[Output, typer.Option(help="A line for each finding, or one JSON object.")] = Output.text,
    config: Config = None,
) -> None:
    """Check all that the service needs, and that everything that came in is accounted for; changes nothing."""
    from bridge.doctor.examination import examine

    tell(examine(config or []), output)


def tell(found: "Iterable[Finding]", output: Output) -> None:
    """Print findings as they come, or all in one; an error among them ends the command with 1."""
    from bridge.cli.escape import escape
    from bridge.doctor.finding import Level

    findings = []
    for finding in found:
        findings.append(finding)
        if output is Output.text:
            typer.echo(escape(str(finding)))
    worst = max((finding.level for finding in findings), key=list(Level).index)
    if output is Output.json:
        typer.echo(json.dumps({"level": worst, "findings": [finding._asdict() for finding in findings]}))
    if worst is Level.error:
        raise typer.Exit(1)
