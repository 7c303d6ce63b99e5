"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bridge.settings import Settings


class Output(StrEnum):
    """For whom an answer is printed: people, or programs."""

    text = "text"
    json = "json"


Config = Annotated[
    list[Path] | None,
    typer.Option("--config", "-c", help="Configuration file; may be given several times, later ones win."),
]


def load(config: list[Path] | None) -> "Settings":
    """Read the settings that the options name."""
    from bridge.settings import load_settings

    return load_settings(config or [])
