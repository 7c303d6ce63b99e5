"""Queries: publications and pins."""

from typing import Annotated

import msgspec

from bridge.clock import now_micros
from bridge.queries.query import Cursor, Limit, Page, Query, QueryContext, paginate, parse_cursor
from bridge.queries.subject import DatasetSubjectQuery
from bridge.versions.definitions import MAX_NUMBER
from bridge.versions.pins import PinStore
from bridge.versions.publication import PublicationHistory
from bridge.versions.results import PinnedVersion, Publication, pinned_version, publication


class PublicationsQuery(DatasetSubjectQuery[Page[Publication]], frozen=True, kw_only=True):
    """The publication history of a dataset, newest first: versions, times, actors and reasons."""

    path = "/publications"
    result_type = Page[Publication]
    limit: Limit = 50
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[Publication]:
        history = PublicationHistory(ctx.db, ctx.org)
        dataset = self.group_id(ctx)
        (before,) = parse_cursor(self.after, tuple[int]) or (MAX_NUMBER,)
        page, next_cursor = paginate(
            history.list_newest(dataset, self.limit + 1, before=before), self.limit, lambda entry: (entry.number,)
        )
        results = []
        for entry in page:
            previous = entry.previous_number
            results.append(publication(entry, None if previous is None else history.get_version_tag(previous)))
        return Page(results, next_cursor)


class PinsQuery(Query[Page[PinnedVersion]], frozen=True, kw_only=True):
    """The pins of all datasets, sorted by pin name."""

    path = "/pins"
    result_type = Page[PinnedVersion]
    expired: Annotated[bool, msgspec.Meta(description="Include expired pins.")] = False
    limit: Limit = 100
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[PinnedVersion]:
        after = parse_cursor(self.after, tuple[str, bytes]) or ("", b"")
        pins = PinStore(ctx.db, ctx.org, now_micros).list_page(self.limit + 1, after, include_expired=self.expired)
        page, next_cursor = paginate(pins, self.limit, lambda pin: (pin.name, pin.version_id))
        names = ctx.graph().dataset_names({pin.group_id for pin in page})
        return Page([pinned_version(names[pin.group_id], pin) for pin in page], next_cursor)
