"""Commands: publish and roll back."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from bridge.errors import InvalidParameter
from bridge.versions.command import (
    ActorField,
    BoundedList,
    Command,
    CommandContext,
    DatasetArgument,
    Name,
    ReasonField,
)
from bridge.versions.publisher import UNCHECKED, PublicationOutcome, PublicationRequest
from bridge.versions.results import PublishedDataset, published_dataset
from bridge.versions.selector import parse_selector

Expected = Annotated[
    str | UnsetType | None,
    msgspec.Meta(description="Currently published version (tag, key or id), null for none. Not checked if omitted."),
]


class PublishItem(DatasetArgument, frozen=True, kw_only=True):
    """A version of a dataset to publish."""

    version: Annotated[str, msgspec.Meta(description="A tag, key or id, or `latest`.", min_length=1)]
    expected: Expected = UNSET


class RollBackItem(DatasetArgument, frozen=True, kw_only=True):
    """A dataset to roll back, either to the previously published version or to any version published before."""

    to: Name | None = None
    expected: Expected = UNSET


class PublicationResult(msgspec.Struct, frozen=True):
    """The published versions; `publication` is None if nothing changed."""

    publication: int | None
    datasets: list[PublishedDataset]


class PublishCommand(Command[PublicationResult], frozen=True, kw_only=True):
    """Publish versions of several datasets: either all of them or none."""

    path = "/api/v1/publish"
    result_type = PublicationResult
    datasets: BoundedList[PublishItem]
    by: ActorField = None
    why: ReasonField = None

    def execute(self, ctx: CommandContext) -> PublicationResult:
        with ctx.registry.transaction():
            requests = [
                PublicationRequest(
                    item.find_group_id(ctx), parse_selector(item.version), _expected_or_unchecked(item.expected)
                )
                for item in self.datasets
            ]
            outcomes = ctx.registry.publisher.publish(requests, ctx.actor(self.by), self.why)
            return _publication_result(ctx, outcomes)


class RollBackCommand(Command[PublicationResult], frozen=True, kw_only=True):
    """Roll back datasets, or all datasets of a publication, to the versions published before: all of them or none."""

    path = "/api/v1/rollback"
    result_type = PublicationResult
    datasets: BoundedList[RollBackItem] | None = None
    publication: (
        Annotated[
            int,
            msgspec.Meta(
                description="Undo this publication, if its versions are still the published ones.",
                ge=1,
                le=(1 << 63) - 1,
            ),
        ]
        | None
    ) = None
    by: ActorField = None
    why: ReasonField = None

    def execute(self, ctx: CommandContext) -> PublicationResult:
        actor = ctx.actor(self.by)
        publisher = ctx.registry.publisher
        if (self.datasets is None) == (self.publication is None):
            raise InvalidParameter("specify either datasets or a publication", "datasets")
        with ctx.registry.transaction():
            if self.publication is not None:
                return _publication_result(ctx, publisher.roll_back_publication(self.publication, actor, self.why))
            requests = [
                PublicationRequest(
                    item.find_group_id(ctx),
                    parse_selector(item.to) if item.to else None,
                    _expected_or_unchecked(item.expected),
                )
                for item in self.datasets or ()
            ]
            return _publication_result(ctx, publisher.roll_back(requests, actor, self.why))


def _expected_or_unchecked(expected: Any) -> Any:
    return UNCHECKED if expected is UNSET else expected


def _publication_result(ctx: CommandContext, outcomes: list[PublicationOutcome]) -> PublicationResult:
    """Build the result of a command from the outcomes for its datasets."""
    results = [
        published_dataset(
            ctx.dataset_name(outcome.group_id), outcome, live=ctx.registry.resolver.is_live(outcome.group_id)
        )
        for outcome in outcomes
    ]
    publication_numbers = (
        outcome.entry.publication for outcome, result in zip(outcomes, results, strict=True) if result.moved
    )
    return PublicationResult(next(publication_numbers, None), results)
