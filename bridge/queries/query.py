"""Base classes of queries: parameters, result type and pagination."""

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from bridge.errors import InvalidParameter
from bridge.store.database import Database
from bridge.store.lineage.evidence import NO_TIME_LIMIT
from bridge.store.lineage.graph import LineageGraph
from mappers.logical_job import FoldingRule, Granularity

A = TypeVar("A")
T = TypeVar("T")

#: How many things a page may hold.
MAX_PAGE_SIZE = 1_000
Limit = Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE_SIZE, description="How many a page.")]
Cursor = Annotated[str | None, msgspec.Meta(description="`next` of the page before.")]


class QueryContext(NamedTuple):
    """A store as one organisation reads it."""

    db: Database
    org: str
    rule: FoldingRule

    def graph(
        self, granularity: Granularity = "job", until: int = NO_TIME_LIMIT, *, retired: bool = False
    ) -> LineageGraph:
        """Look at the lineage graph; at what is gone as well, where that is asked for."""
        return LineageGraph(self.db, self.org, granularity, self.rule, until, retired=retired)


class Query(msgspec.Struct, Generic[A], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that can be asked; its fields are the parameters of its route."""

    #: What it is about, if it is about one thing: that is named by an id or by its names.
    subject: ClassVar[Literal["dataset", "process", "run"] | None] = None
    #: The route, beneath that of the thing.
    path: ClassVar[str] = ""
    result_type: ClassVar[type[Any]]

    def run(self, view: QueryContext) -> A:
        """Answer from a store."""
        raise NotImplementedError


class QueryService(Protocol):
    """Whoever can be asked."""

    def run(self, question: Query[A]) -> A:
        """Answer a question; raises UnknownName when what it is about is not there."""

    def close(self) -> None:
        """Ask no more."""


class StoreQueryService:
    """Answers from a store."""

    def __init__(self, view: QueryContext) -> None:
        self._view = view

    def run(self, question: Query[A]) -> A:
        """Answer a question."""
        for parameter in msgspec.structs.fields(type(question)):
            value = getattr(question, parameter.name)
            if isinstance(value, str):
                _check_text(value, parameter.name)
        return question.run(self._view)

    def close(self) -> None:
        """Close the store."""
        self._view.db.close()


def _check_text(text: str, parameter: str) -> None:
    """Refuse what no store can hold."""
    try:
        holds_nul = b"\0" in text.encode()
    except UnicodeEncodeError as error:
        raise InvalidParameter("not Unicode", parameter) from error
    if holds_nul:
        raise InvalidParameter("U+0000 is in no name: events have U+FFFD in its place", parameter)


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some of many: `next` is the cursor of those after them, null at the end."""

    items: list[T]
    next: str | None = None


def paginate(rows: Sequence[T], limit: int, key: Callable[[T], Sequence[Any]]) -> tuple[list[T], str | None]:
    """Cut what was found, one more than asked for, to a page and the cursor of the next."""
    shown = list(rows[:limit])
    return shown, _cursor(key(shown[-1])) if len(rows) > limit else None


def _cursor(key: Sequence[Any]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def read_cursor(cursor: str | None, key: type[T]) -> T | None:
    """Read a cursor that was given out; raises BadQuestion when it was not."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=key)
    except (ValueError, msgspec.DecodeError) as error:
        raise InvalidParameter("not a cursor that was given as `next`", "after") from error
