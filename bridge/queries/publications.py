"""Queries: publications and pins."""

from typing import Annotated

import msgspec

from bridge.clock import now_micros
from bridge.queries.query import Cursor, Limit, Page, Query, QueryContext, paginate, read_cursor
from bridge.queries.subject import DatasetSubjectQuery
from bridge.versions.definitions import MAX_NUMBER
from bridge.versions.pins import PinStore as StoredPins
from bridge.versions.publication import PublicationHistory
from bridge.versions.results import PinnedVersion, Publication, pinned_version, publication


class PublicationsQuery(DatasetSubjectQuery[Page[Publication]], frozen=True, kw_only=True):
    """What was published of a dataset, newest first: from what to what, when, by whom and why."""

    path = "/publications"
    result_type = Page[Publication]
    limit: Limit = 50
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[Publication]:
        """Read a page."""
        history, dataset = PublicationHistory(view.db, view.org), self.group_id(view)
        (before,) = read_cursor(self.after, tuple[int]) or (MAX_NUMBER,)
        moves, following = paginate(
            history.list_newest(dataset, self.limit + 1, before=before), self.limit, lambda move: (move.number,)
        )
        told = [
            publication(move, None if move.previous_number is None else history.version_tag(move.previous_number))
            for move in moves
        ]
        return Page(told, following)


class PinsQuery(Query[Page[PinnedVersion]], frozen=True, kw_only=True):
    """The pins of all datasets, by their names."""

    path = "/pins"
    result_type = Page[PinnedVersion]
    expired: Annotated[bool, msgspec.Meta(description="Also those that have expired.")] = False
    limit: Limit = 100
    after: Cursor = None

    def run(self, view: QueryContext) -> Page[PinnedVersion]:
        """Read a page."""
        behind = read_cursor(self.after, tuple[str, bytes]) or ("", b"")
        pins = StoredPins(view.db, view.org, now_micros).list_page(self.limit + 1, behind, expired=self.expired)
        shown, following = paginate(pins, self.limit, lambda pin: (pin.name, pin.version))
        names = view.graph().dataset_names({pin.dataset for pin in shown})
        return Page([pinned_version(names[pin.dataset], pin) for pin in shown], following)
