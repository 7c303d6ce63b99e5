"""Printing results: text or JSON, terminal-safe names, truncation notices."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.terminal import escape, escape_json, escape_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.store.lineage.walk import Truncation

__all__ = ["escape"]

#: Printed after a list whose page has a `next` cursor.
MORE_RESULTS = "… results truncated: raise --limit"


def truncation_note(truncation: "Truncation | None", size_option: str = "--max-edges") -> Iterator[str]:
    """If results were truncated, name the option that shows more results."""
    if truncation is not None:
        option = "--depth" if truncation == "depth" else size_option
        yield f"… results truncated: raise {option}"


class OutputFormat(StrEnum):
    """Output formats of most commands."""

    text = "text"
    json = "json"


OutputOption = Annotated[OutputFormat, typer.Option(help="Output format: text or json")]


def print_result(result: object, lines: "Iterable[str]", *, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    for line in lines:
        echo(line)


def echo(text: str, *, err: bool = False) -> None:
    """Print text, with control characters other than line breaks escaped."""
    typer.echo(escape_lines(text), err=err)


def print_json(result: object) -> None:
    """Print one line of JSON in UTF-8, regardless of the terminal's encoding; control characters are escaped."""
    import msgspec

    typer.echo(escape_json(msgspec.json.encode(result)))
