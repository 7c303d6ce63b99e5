"""What stands in a FROM clause: its columns with their sources, as far as they are known."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mappers.sql.source import TRANSFORMATION, Source, Sources, through

NO_SOURCES: Sources = frozenset()


class Cell(NamedTuple):
    """A column as a query sees it."""

    name: str
    sources: Sources

    def is_called(self, name: str) -> bool:
        """Compare names as Spark does: case does not matter."""
        return self.name.lower() == name.lower()


class Relation(NamedTuple):
    """Rows: the columns in their order, what influences all of them, and whether there may be columns unknown."""

    cells: tuple[Cell, ...]
    whole: Sources = NO_SOURCES
    #: The views whose columns are not known and that may be among these, empty for columns of nobody knows where;
    #: None where all columns are known.
    open: frozenset[str] | None = None

    def called(self, name: str) -> list[Cell]:
        """Find the columns of a name."""
        return [cell for cell in self.cells if cell.is_called(name)]

    def guessed(self, name: str) -> Sources:
        """Say where a column comes from that is not known to be there: from the one view that may have it."""
        views = self.open or frozenset()
        return frozenset(Source(view, name, "DIRECT", "IDENTITY", False) for view in views if len(views) == 1)

    def renamed(self, names: Sequence[str]) -> "Relation":
        """Give the columns the names that are said behind an alias."""
        if not names:
            return self
        if self.open is not None and len(self.cells) < len(names):
            return Relation(tuple(Cell(name, NO_SOURCES) for name in names), self.whole)
        named = (Cell(name, cell.sources) for name, cell in zip(names, self.cells, strict=False))
        return Relation((*named, *self.cells[len(names) :]), self.whole)


def relation_of_view(view: str, columns: Sequence[str] | None) -> Relation:
    """Describe a view itself: every column is its own source."""
    if columns is None:
        return Relation((), open=frozenset({view}))
    return Relation(
        tuple(Cell(name, frozenset({Source(view, name, "DIRECT", "IDENTITY", False)})) for name in columns)
    )


def opened(*ones: frozenset[str] | None) -> frozenset[str] | None:
    """Bring together which unknown views there may be columns of."""
    known = [one for one in ones if one is not None]
    return frozenset().union(*known) if known else None


def made(names: Iterable[str], sources: Sources) -> Relation:
    """Describe what a function makes: columns of these names, all from the same sources."""
    return Relation(tuple(Cell(name, through(sources, TRANSFORMATION)) for name in names))
