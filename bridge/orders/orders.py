"""What the registry can be told to do: publish and roll back, and all other orders."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from bridge.catalogue.decided import (
    MovedDataset,
    tell_published,
)
from bridge.orders.definitions import Describe, Register
from bridge.orders.order import By, Desk, Few, Name, OfDataset, Order, Why
from bridge.orders.version_orders import Discard, Invalidate, PinVersions, ResolveAll, Unpin
from bridge.registry.publishing import ANYTHING, Change, Published
from bridge.registry.selector import read_selector
from mappers.errors import BadQuestion

Expected = Annotated[
    str | UnsetType | None,
    msgspec.Meta(description="What is published now: a tag, key or id; null: nothing. Left out: whatever it is."),
]


class ToPublish(OfDataset, frozen=True, kw_only=True):
    """A version of a dataset that shall be published."""

    version: Annotated[str, msgspec.Meta(description="A tag, key or id, or `latest`.", min_length=1)]
    expected: Expected = UNSET


class ToRollBack(OfDataset, frozen=True, kw_only=True):
    """A dataset that shall go back to what was published before, or to a version that was at any time."""

    to: Name | None = None
    expected: Expected = UNSET


class PublicationMade(msgspec.Struct, frozen=True):
    """What is published now; no publication where all was so already."""

    publication: int | None
    datasets: list[MovedDataset]


class Publish(Order[PublicationMade], frozen=True, kw_only=True):
    """Publish versions: of all datasets that are named, or of none."""

    path = "/api/v1/publish"
    answer = PublicationMade
    datasets: Few[ToPublish]
    by: By = None
    why: Why = None

    def done(self, desk: Desk) -> PublicationMade:
        """Publish."""
        with desk.registry.deciding():
            changes = [
                Change(one.dataset(desk), read_selector(one.version), _expected(one.expected))
                for one in self.datasets
            ]
            return _made(desk, desk.registry.publisher.publish(changes, desk.signed(self.by), self.why))


class RollBack(Order[PublicationMade], frozen=True, kw_only=True):
    """Go back to what was published before: of all datasets that are named or were moved together, or of none."""

    path = "/api/v1/rollback"
    answer = PublicationMade
    datasets: Few[ToRollBack] | None = None
    publication: (
        Annotated[
            int,
            msgspec.Meta(description="Undo this one, if all is still where it put it.", ge=1, le=(1 << 63) - 1),
        ]
        | None
    ) = None
    by: By = None
    why: Why = None

    def done(self, desk: Desk) -> PublicationMade:
        """Roll back."""
        by, publisher = desk.signed(self.by), desk.registry.publisher
        if (self.datasets is None) == (self.publication is None):
            raise BadQuestion("say which datasets, or which publication", "datasets")
        with desk.registry.deciding():
            if self.publication is not None:
                return _made(desk, publisher.undo(self.publication, by, self.why))
            changes = [
                Change(one.dataset(desk), read_selector(one.to) if one.to else None, _expected(one.expected))
                for one in self.datasets or ()
            ]
            return _made(desk, publisher.roll_back(changes, by, self.why))


#: All that can be ordered.
ORDERS: tuple[type[Order[Any]], ...] = (
    Publish, RollBack, PinVersions, Unpin, Invalidate, Discard, ResolveAll, Describe, Register,
)  # fmt: skip


def _expected(given: Any) -> Any:
    return ANYTHING if given is UNSET else given


def _made(desk: Desk, done: list[Published]) -> PublicationMade:
    """Give what was published; moves of one publication have one number."""
    told = [
        tell_published(desk.named(one.dataset), one, live=desk.registry.resolver.is_live(one.dataset)) for one in done
    ]
    moved = (one.move.began for one, said in zip(done, told, strict=True) if said.moved)
    return PublicationMade(next(moved, None), told)
