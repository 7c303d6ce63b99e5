"""Query: search."""

from typing import Annotated, Literal

import msgspec

from bridge.errors import InvalidParameter
from bridge.queries.query import Cursor, Limit, Query, QueryContext
from bridge.store.search.search import SearchCriteria, SearchResult, search

TextField = Annotated[str, msgspec.Meta(min_length=1)] | None


class SearchQuery(Query[SearchResult], frozen=True, kw_only=True):
    """Datasets and jobs by words of their names, descriptions and columns, and by filters."""

    path = "/search"
    result_type = SearchResult
    q: Annotated[str, msgspec.Meta(description="Search words; the last one may be a prefix.")] = ""
    type: Literal["dataset", "job"] | None = None
    namespace: (
        Annotated[
            str,
            msgspec.Meta(
                description="Only this namespace; with a trailing *, all namespaces with this prefix.", min_length=1
            ),
        ]
        | None
    ) = None
    owner: TextField = None
    tag: TextField = None
    category: TextField = None
    format: TextField = None
    limit: Limit = 20
    after: Cursor = None

    def run(self, ctx: QueryContext) -> SearchResult:
        criteria = SearchCriteria(self.q, self.type, self.namespace, self.owner, self.tag, self.category, self.format)
        if criteria.is_empty:
            raise InvalidParameter("specify search words or a filter", "q")
        return search(ctx.db, ctx.org, criteria, self.limit, self.after)
