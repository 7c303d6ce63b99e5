"""Printing results: text or JSON, terminal-safe names, truncation notices."""

import os
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bridge.terminal import escape, escape_json, escape_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TextIO

    from bridge.cli.table import Table
    from bridge.store.lineage.walk import Truncation

__all__ = ["escape"]

#: Characters in front of the text of a line in a tree, and how the branches continue on the next line.
_INDENT = " │├└─"
_CONTINUED_BRANCHES = str.maketrans("├└─", "│  ")
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


def print_result(
    result: object,
    lines: "Iterable[str]",
    *,
    as_json: bool,
    wrap: bool = True,
    table: "Callable[[], Table] | None" = None,
) -> None:
    """Print a result as JSON or as lines, which are wrapped at the width of a terminal.

    A list can be printed as a table on a terminal.
    """
    if as_json:
        print_json(result)
        return
    if table is not None and sys.stdout.isatty():
        from bridge.cli.table import print_table

        print_table(table())
        return
    for line in lines:
        echo(wrap_line(line) if wrap else line)


def wrap_line(line: str) -> str:
    """Wrap a line at the width of the terminal, and continue the branches of a tree. Pipes get whole lines."""
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns
    if len(line) <= width or not sys.stdout.isatty():
        return line
    text = line.lstrip(_INDENT)
    indent = line[: len(line) - len(text)]
    continued_indent = indent.translate(_CONTINUED_BRANCHES) + "    "
    if len(continued_indent) > width // 2:
        return line
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=continued_indent, break_on_hyphens=False
    )


def echo(text: str, *, err: bool = False, bold: bool = False, color: str | None = None) -> None:
    """Print text, with control characters other than line breaks escaped. Styles apply only to terminals."""
    escaped_text = escape_lines(text)
    if (bold or color) and accepts_styles(sys.stderr if err else sys.stdout):
        escaped_text = typer.style(escaped_text, bold=bold or None, fg=color)
    typer.echo(escaped_text, err=err)


def accepts_styles(stream: "TextIO") -> bool:
    """Return whether a stream is a terminal with colors. NO_COLOR disables them (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(result: object) -> None:
    """Print one line of JSON in UTF-8, regardless of the terminal's encoding; control characters are escaped."""
    import msgspec

    typer.echo(escape_json(msgspec.json.encode(result)))
