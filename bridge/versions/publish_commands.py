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
    msgspec.Meta(description="What is published now: a tag, key or id; null: nothing. Left out: whatever it is."),
]


class PublishItem(DatasetArgument, frozen=True, kw_only=True):
    """A version of a dataset that shall be published."""

    version: Annotated[str, msgspec.Meta(description="A tag, key or id, or `latest`.", min_length=1)]
    expected: Expected = UNSET


class RollBackItem(DatasetArgument, frozen=True, kw_only=True):
    """A dataset that shall go back to what was published before, or to a version that was at any time."""

    to: Name | None = None
    expected: Expected = UNSET


class PublicationResult(msgspec.Struct, frozen=True):
    """What is published now; no publication where all was so already."""

    publication: int | None
    datasets: list[PublishedDataset]


class PublishCommand(Command[PublicationResult], frozen=True, kw_only=True):
    """Publish versions: of all datasets that are named, or of none."""

    path = "/api/v1/publish"
    result_type = PublicationResult
    datasets: BoundedList[PublishItem]
    by: ActorField = None
    why: ReasonField = None

    def execute(self, desk: CommandContext) -> PublicationResult:
        """Publish."""
        with desk.registry.transaction():
            changes = [
                PublicationRequest(one.group_id(desk), parse_selector(one.version), _expected(one.expected))
                for one in self.datasets
            ]
            return _made(desk, desk.registry.publisher.publish(changes, desk.actor(self.by), self.why))


class RollBackCommand(Command[PublicationResult], frozen=True, kw_only=True):
    """Go back to what was published before: of all datasets that are named or were moved together, or of none."""

    path = "/api/v1/rollback"
    result_type = PublicationResult
    datasets: BoundedList[RollBackItem] | None = None
    publication: (
        Annotated[
            int,
            msgspec.Meta(description="Undo this one, if all is still where it put it.", ge=1, le=(1 << 63) - 1),
        ]
        | None
    ) = None
    by: ActorField = None
    why: ReasonField = None

    def execute(self, desk: CommandContext) -> PublicationResult:
        """Roll back."""
        by, publisher = desk.actor(self.by), desk.registry.publisher
        if (self.datasets is None) == (self.publication is None):
            raise InvalidParameter("say which datasets, or which publication", "datasets")
        with desk.registry.transaction():
            if self.publication is not None:
                return _made(desk, publisher.roll_back_publication(self.publication, by, self.why))
            changes = [
                PublicationRequest(
                    one.group_id(desk), parse_selector(one.to) if one.to else None, _expected(one.expected)
                )
                for one in self.datasets or ()
            ]
            return _made(desk, publisher.roll_back(changes, by, self.why))


def _expected(given: Any) -> Any:
    return UNCHECKED if given is UNSET else given


def _made(desk: CommandContext, done: list[PublicationOutcome]) -> PublicationResult:
    """Give what was published; moves of one publication have one number."""
    told = [
        published_dataset(desk.dataset_name(one.dataset), one, live=desk.registry.resolver.is_live(one.dataset))
        for one in done
    ]
    moved = (one.entry.publication for one, said in zip(done, told, strict=True) if said.moved)
    return PublicationResult(next(moved, None), told)
