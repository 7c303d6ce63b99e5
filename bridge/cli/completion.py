"""`lineage-bridge completion`."""

import os
from enum import StrEnum
from typing import Annotated

import typer

#: Name of the command, and the environment variable that shell completion sets.
NAME = "lineage-bridge"
_VARIABLE = "_LINEAGE_BRIDGE_COMPLETE"


class Shell(StrEnum):
    """Shells with completion support."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="Shell")]) -> None:
    """Print a shell completion script: `source <(lineage-bridge completion bash)`."""
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name=NAME, complete_var=_VARIABLE, shell=shell.value))


def handle_completion_request() -> None:
    """Handle a completion request of the shell, if there is one."""
    if _VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
