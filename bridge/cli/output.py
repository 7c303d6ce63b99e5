"""Printing results: text or JSON, terminal-safe names, truncation notices."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.store.lineage.walk import Truncation

_CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0))}


def escape(text: str) -> str:
    """Escape control characters: a name must not break a line or control the terminal."""
    return text.translate(_CONTROLS)


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
        typer.echo(line)


def print_json(result: object) -> None:
    """Print one line of JSON in UTF-8, regardless of the terminal's encoding."""
    import msgspec

    typer.echo(msgspec.json.encode(result))
