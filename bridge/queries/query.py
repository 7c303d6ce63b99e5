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

#: Maximum number of items per page.
MAX_PAGE_SIZE = 1_000
Limit = Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE_SIZE, description="Maximum number of items per page.")]
Cursor = Annotated[str | None, msgspec.Meta(description="`next` of the previous page.")]


class QueryContext(NamedTuple):
    """The store as one organisation sees it, and the rule that folds jobs."""

    db: Database
    org: str
    rule: FoldingRule

    def graph(
        self, granularity: Granularity = "job", until: int = NO_TIME_LIMIT, *, retired: bool = False
    ) -> LineageGraph:
        """Open the lineage graph, with retired edges if `retired` is set."""
        return LineageGraph(self.db, self.org, granularity, self.rule, until, retired=retired)


class Query(msgspec.Struct, Generic[A], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query; its fields are the parameters of its route."""

    #: Kind of the node or run that the query is about, if any, which is identified by id or name.
    subject: ClassVar[Literal["dataset", "process", "run"] | None] = None
    #: Path of the route, relative to the subject's route.
    path: ClassVar[str] = ""
    result_type: ClassVar[type[Any]]

    def run(self, ctx: QueryContext) -> A:
        """Run the query on a store. Raises NotFound if its subject does not exist."""
        raise NotImplementedError


class QueryService(Protocol):
    """Runs queries on a store or on a service."""

    def run(self, query: Query[A]) -> A:
        """Run a query. Raises NotFound if its subject does not exist."""

    def close(self) -> None: ...


class StoreQueryService:
    """Runs queries on a store."""

    def __init__(self, ctx: QueryContext) -> None:
        self._ctx = ctx

    def run_with_check(self, query: Query[A], check: Callable[[], None], seconds: float) -> A:
        """Run a query that ends when `check` raises an error, and whose statements take at most `seconds`."""
        self._ctx.db.set_interrupt(check, seconds)
        try:
            return self.run(query)
        finally:
            self._ctx.db.set_interrupt(None)

    def run(self, query: Query[A]) -> A:
        for parameter in msgspec.structs.fields(type(query)):
            value = getattr(query, parameter.name)
            if isinstance(value, str):
                _reject_unstorable_text(value, parameter.name)
        return query.run(self._ctx)

    def close(self) -> None:
        self._ctx.db.close()


def _reject_unstorable_text(text: str, parameter: str) -> None:
    """Raise InvalidParameter for a string that no store can contain."""
    try:
        contains_nul = b"\0" in text.encode()
    except UnicodeEncodeError as error:
        raise InvalidParameter("not valid Unicode", parameter) from error
    if contains_nul:
        raise InvalidParameter("names cannot contain U+0000: events are stored with U+FFFD instead", parameter)


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A page of results; `next` is the cursor of the next page, or null on the last page."""

    items: list[T]
    next: str | None = None


def paginate(rows: Sequence[T], limit: int, key: Callable[[T], Sequence[Any]]) -> tuple[list[T], str | None]:
    """Return the first `limit` rows and, if there are more, the cursor of the next page: the last row's key."""
    page = list(rows[:limit])
    next_cursor = format_cursor(key(page[-1])) if len(rows) > limit else None
    return page, next_cursor


def format_cursor(key: Sequence[Any] | msgspec.Struct) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def parse_cursor(cursor: str | None, key_type: type[T]) -> T | None:
    """Parse a cursor into its key. Raises InvalidParameter if no query can have returned the cursor."""
    if cursor is None:
        return None
    try:
        padded_cursor = cursor + "=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.b64decode(padded_cursor, altchars=b"-_", validate=True), type=key_type)
    except (ValueError, msgspec.DecodeError) as error:
        raise InvalidParameter("not a cursor that was returned as `next`", "after") from error
