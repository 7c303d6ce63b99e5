"""Tables on a terminal. Pipes get the plain lines of a command."""

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bridge.cli.output import accepts_styles, echo, wrap_line
from bridge.terminal import escape

if TYPE_CHECKING:
    from rich.console import Console

_GAP, _INDENT = 2, "    "
#: Text columns that would be narrower are printed below the other columns.
_MIN_TEXT_WIDTH, _MIN_TIME_WIDTH = 20, 10


class Column(NamedTuple):
    """A column. If the table is too wide, cells are wrapped at `min_width` or more; None: never, such as ids."""

    header: str
    min_width: int | None = None
    right: bool = False


class Row(NamedTuple):
    """The cells of a row, and lines below it, which are shortened to the width of the terminal."""

    cells: Sequence[str]
    color: str | None = None
    details: Sequence[str] = ()


class Table(NamedTuple):
    """A table, and the lines above and below it."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    heading: Sequence[str] = ()


def time_column(header: str) -> Column:
    """Create a column of times. If the terminal is narrow, date and time are on two lines."""
    return Column(header, _MIN_TIME_WIDTH)


def text_column(header: str) -> Column:
    """Create a column of long names or reasons."""
    return Column(header, _MIN_TEXT_WIDTH)


def short_time(iso: str | None) -> str:
    """Format a timestamp without fraction and time zone."""
    seconds, _, _ = (iso or "").partition(".")
    return seconds.removesuffix("Z").replace("T", " ")


def print_table(table: Table) -> None:
    """Print a table that fits the terminal. Columns without values are left out."""
    from rich.console import Console

    for line in table.heading:
        echo(wrap_line(escape(line)))
    if table.rows:
        terminal_width = shutil.get_terminal_size().columns
        layout = _Layout(table, terminal_width)
        console = Console(
            file=sys.stdout,
            # Ids stay complete, even if they are wider than the terminal.
            width=max(terminal_width, layout.width),
            color_system="standard" if accepts_styles(sys.stdout) else None,
            highlight=False,
            markup=False,
            emoji=False,
        )
        layout.print_row(console, Row([column.header for column in table.columns]), style="bold")
        for row in table.rows:
            layout.print_row(console, row, style=row.color or "")
    for note in table.notes:
        echo(wrap_line(escape(note)))


class _Width(NamedTuple):
    """Width of a column, so that no cell is wrapped, and the least width."""

    natural: int
    minimum: int


class _Layout:
    """The widths of columns side by side, and the columns that are printed below them."""

    def __init__(self, table: Table, terminal_width: int) -> None:
        self._columns = table.columns
        self._terminal_width = terminal_width
        self._below: list[int] = []
        self._gap = _GAP
        column_widths = _measure(table)
        self._widths = self._shrink(column_widths)
        while self.width > terminal_width and (texts := self._text_columns(column_widths)):
            self._below.insert(0, texts[-1])
            del column_widths[texts[-1]]
            self._widths = self._shrink(column_widths)
        if self.width > terminal_width:
            self._gap = 1

    @property
    def width(self) -> int:
        return self._total_width(self._widths)

    def _total_width(self, widths: dict[int, int]) -> int:
        return sum(widths.values()) + self._gap * max(0, len(widths) - 1)

    def print_row(self, console: "Console", row: Row, style: str) -> None:
        from rich.table import Table as RichTable
        from rich.text import Text

        grid = RichTable.grid(padding=(0, self._gap, 0, 0))
        for index, width in self._widths.items():
            grid.add_column(width=width, justify="right" if self._columns[index].right else "left", overflow="fold")
        grid.add_row(*(Text(escape(row.cells[index])) for index in self._widths), style=style)
        console.print(grid)
        width = self._terminal_width - len(_INDENT)
        lines = [
            line
            for index in self._below
            if row.cells[index]
            for line in Text(escape(row.cells[index]), style=style).wrap(console, width, overflow="fold")
        ]
        for detail in row.details:
            line = Text(escape(detail))
            line.truncate(width, overflow="ellipsis")
            lines.append(line)
        for line in lines:
            console.print(Text(_INDENT) + line)

    def _text_columns(self, column_widths: "dict[int, _Width]") -> list[int]:
        """Return the text columns among the given ones, unless there is only one column."""
        texts = [index for index in column_widths if self._columns[index].min_width == _MIN_TEXT_WIDTH]
        return texts if len(column_widths) > 1 else []

    def _shrink(self, column_widths: "dict[int, _Width]") -> dict[int, int]:
        """Narrow the widest columns, down to their minimum, until the table fits."""
        widths = {
            index: max(width.minimum, min(width.natural, self._terminal_width))
            for index, width in column_widths.items()
        }
        while self._total_width(widths) > self._terminal_width:
            wide_columns = [index for index in widths if widths[index] > column_widths[index].minimum]
            if not wide_columns:
                break
            widths[max(wide_columns, key=widths.__getitem__)] -= 1
        return widths


def _measure(table: Table) -> dict[int, _Width]:
    """Measure each column that has any values, by index. The words of a header may be on several lines."""
    from rich.cells import cell_len

    widths = {}
    for index, column in enumerate(table.columns):
        content_width = max((cell_len(escape(row.cells[index])) for row in table.rows), default=0)
        if content_width:
            word_width = max(map(len, column.header.split()))
            least_content_width = min(content_width, column.min_width or content_width)
            widths[index] = _Width(max(content_width, len(column.header)), max(least_content_width, word_width))
    return widths
