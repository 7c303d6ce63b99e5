"""Datasets and jobs by words, and by what is known of them."""

from typing import Annotated, Literal

import msgspec

from bridge.catalogue.question import After, Limit, Question, View
from bridge.store.search import SearchAnswer, SearchFor, search
from mappers.errors import BadQuestion

Text = Annotated[str, msgspec.Meta(min_length=1)] | None


class Search(Question[SearchAnswer], frozen=True, kw_only=True):
    """Datasets and jobs by words of their names, descriptions and columns, and by what is known of them."""

    path = "/search"
    answer = SearchAnswer
    q: Annotated[str, msgspec.Meta(description="Words; of the last one its beginning will do.")] = ""
    type: Literal["dataset", "job"] | None = None
    namespace: (
        Annotated[
            str, msgspec.Meta(description="Only of this namespace; with * at its end: that begin so.", min_length=1)
        ]
        | None
    ) = None
    owner: Text = None
    tag: Text = None
    category: Text = None
    format: Text = None
    limit: Limit = 20
    after: After = None

    def answered(self, view: View) -> SearchAnswer:
        """Search what is indexed."""
        wanted = SearchFor(self.q, self.type, self.namespace, self.owner, self.tag, self.category, self.format)
        if wanted.is_empty:
            raise BadQuestion("say what to search for: words, or one of the filters", "q")
        return search(view.db, view.org, wanted, self.limit, self.after)
