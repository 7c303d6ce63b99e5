"""What can be asked: a question knows its route, its parameters and its answer; who has a store answers it."""

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from bridge.store.database import Database
from bridge.store.edges import EVER
from bridge.store.graph import Graph
from mappers.errors import BadQuestion
from mappers.folding import FoldingRule, Granularity

A = TypeVar("A")
T = TypeVar("T")

#: How many things a page may hold.
MOST_A_PAGE = 1_000
Limit = Annotated[int, msgspec.Meta(ge=1, le=MOST_A_PAGE, description="How many a page.")]
After = Annotated[str | None, msgspec.Meta(description="`next` of the page before.")]


class View(NamedTuple):
    """A store as one organisation reads it."""

    db: Database
    org: str
    rule: FoldingRule

    def graph(self, granularity: Granularity = "job", until: int = EVER, *, retired: bool = False) -> Graph:
        """Look at the lineage graph; at what is gone as well, where that is asked for."""
        return Graph(self.db, self.org, granularity, self.rule, until, retired=retired)


class Question(msgspec.Struct, Generic[A], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that can be asked; its fields are the parameters of its route."""

    #: What it is about, if it is about one thing: that is named by an id or by its names.
    about: ClassVar[Literal["dataset", "process", "run"] | None] = None
    #: The route, beneath that of the thing.
    path: ClassVar[str] = ""
    answer: ClassVar[type[Any]]

    def answered(self, view: View) -> A:
        """Answer from a store."""
        raise NotImplementedError


class Catalogue(Protocol):
    """Whoever can be asked."""

    def ask(self, question: Question[A]) -> A:
        """Answer a question; raises UnknownName when what it is about is not there."""

    def close(self) -> None:
        """Ask no more."""


class StoreCatalogue:
    """Answers from a store."""

    def __init__(self, view: View) -> None:
        self._view = view

    def ask(self, question: Question[A]) -> A:
        """Answer a question."""
        for parameter in msgspec.structs.fields(type(question)):
            value = getattr(question, parameter.name)
            if isinstance(value, str):
                _check_text(value, parameter.name)
        return question.answered(self._view)

    def close(self) -> None:
        """Close the store."""
        self._view.db.close()


def _check_text(text: str, parameter: str) -> None:
    """Refuse what no store can hold."""
    try:
        holds_nul = b"\0" in text.encode()
    except UnicodeEncodeError as error:
        raise BadQuestion("not Unicode", parameter) from error
    if holds_nul:
        raise BadQuestion("U+0000 is in no name: events have U+FFFD in its place", parameter)


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some of many: `next` is the cursor of those after them, null at the end."""

    items: list[T]
    next: str | None = None


def page(rows: Sequence[T], limit: int, key: Callable[[T], Sequence[Any]]) -> tuple[list[T], str | None]:
    """Cut what was found, one more than asked for, to a page and the cursor of the next."""
    shown = list(rows[:limit])
    return shown, _cursor(key(shown[-1])) if len(rows) > limit else None


def _cursor(key: Sequence[Any]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def after(cursor: str | None, key: type[T]) -> T | None:
    """Read a cursor that was given out; raises BadQuestion when it was not."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=key)
    except (ValueError, msgspec.DecodeError) as error:
        raise BadQuestion("not a cursor that was given as `next`", "after") from error
