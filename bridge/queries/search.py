"""Query: search."""

from typing import Annotated, Literal

import msgspec

from bridge.errors import InvalidParameter
from bridge.queries.query import Cursor, Limit, Query, QueryContext
from bridge.store.search.search import SearchCriteria, SearchResult, search

TextField = Annotated[str, msgspec.Meta(min_length=1)] | None


class SearchQuery(Query[SearchResult], frozen=True, kw_only=True):
    """Datasets and jobs by words of their names, descriptions and columns, and by what is known of them."""

    path = "/search"
    result_type = SearchResult
    q: Annotated[str, msgspec.Meta(description="Words; of the last one its beginning will do.")] = ""
    type: Literal["dataset", "job"] | None = None
    namespace: (
        Annotated[
            str, msgspec.Meta(description="Only of this namespace; with * at its end: that begin so.", min_length=1)
        ]
        | None
    ) = None
    owner: TextField = None
    tag: TextField = None
    category: TextField = None
    format: TextField = None
    limit: Limit = 20
    after: Cursor = None

    def run(self, view: QueryContext) -> SearchResult:
        """Search what is indexed."""
        wanted = SearchCriteria(self.q, self.type, self.namespace, self.owner, self.tag, self.category, self.format)
        if wanted.is_empty:
            raise InvalidParameter("say what to search for: words, or one of the filters", "q")
        return search(view.db, view.org, wanted, self.limit, self.after)
