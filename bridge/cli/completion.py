"""`lineage-bridge completion`."""

import os
from enum import StrEnum
from typing import Annotated

import typer

#: How the command is called in a shell, and the variable by which its completion asks it.
NAME = "lineage-bridge"
_VARIABLE = "_LINEAGE_BRIDGE_COMPLETE"


class Shell(StrEnum):
    """Who completes."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell to complete in.")]) -> None:
    """Print the script that completes commands and options in a shell: `source <(lineage-bridge completion bash)`."""
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name=NAME, complete_var=_VARIABLE, shell=shell.value))


def handle_completion_request() -> None:
    """Let the command answer when a shell asks what could come next."""
    if _VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
