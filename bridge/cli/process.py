"""`lineage-bridge process`."""

from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.escape import escape
from bridge.cli.options import Output, print_answer

process = typer.Typer(name="process", help="Processes as YAML files and SQL.", no_args_is_help=True)


@process.command()
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Process files.")],
    output: Annotated[Output, typer.Option(help="For people, or one JSON object.")] = Output.text,
) -> None:
    """Read process files, and say what is wrong with them: file, line and key."""
    from bridge.process.definition import Definition
    from bridge.yaml_model import read_model
    from mappers.errors import ConfigError

    names: list[str] = []
    problems: list[str] = []
    for file in files:
        try:
            names.append(read_model(file, Definition).process.name)
        except ConfigError as error:
            problems += str(error).splitlines()
    answer = {"files": len(files), "processes": names, "problems": problems}
    lines = [*problems, f"{len(files)} files, {len(names)} processes, {len(problems)} problems"]
    print_answer(answer, map(escape, lines), as_json=output is Output.json)
    raise typer.Exit(1 if problems else 0)


@process.command()
def schema() -> None:
    """Print the JSON Schema of a process file, for editors; configs/process.schema.json is the same."""
    from bridge.json_schema import schema_of
    from bridge.process.definition import Definition

    typer.echo(schema_of(Definition, "A process file of lineage-bridge"), nl=False)
