"""What the registry can be told to do with versions: publish, roll back, pin, mark, find."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from bridge.api.definitions import Describe, Register
from bridge.api.order import By, Desk, Few, Name, OfDataset, Order, Why
from bridge.catalogue.decided import (
    Judgement,
    MovedDataset,
    PinnedVersion,
    ResolvedVersion,
    tell_marked,
    tell_pin,
    tell_published,
)
from bridge.catalogue.registry import AsOf, OnePartition, Selected, read_partition
from bridge.registry.publishing import ANYTHING, Change, Published
from bridge.registry.resolution import Wanted
from bridge.registry.selector import micros_of, read_selector
from mappers.errors import BadQuestion

Expected = Annotated[
    str | UnsetType | None,
    msgspec.Meta(description="What is published now: a tag, key or id; null: nothing. Left out: whatever it is."),
]
Until = Annotated[
    datetime,
    msgspec.Meta(description="When it ends; UTC without a time zone.", extra_json_schema={"format": "date-time"}),
]


class ToPublish(OfDataset, frozen=True, kw_only=True):
    """A version of a dataset that shall be published."""

    version: Annotated[str, msgspec.Meta(description="A tag, key or id, or `latest`.", min_length=1)]
    expected: Expected = UNSET


class ToRollBack(OfDataset, frozen=True, kw_only=True):
    """A dataset that shall go back to what was published before, or to a version that was at any time."""

    to: Name | None = None
    expected: Expected = UNSET


class ToPin(OfDataset, frozen=True, kw_only=True):
    """A version of a dataset that shall be kept."""

    version: Selected = "published"


class ToResolve(OfDataset, frozen=True, kw_only=True):
    """A dataset, and which version of it is meant."""

    pin: Selected = "published"
    as_of: AsOf = None
    partition: OnePartition | None = None


class PublicationMade(msgspec.Struct, frozen=True):
    """What is published now; no publication where all was so already."""

    publication: int | None
    datasets: list[MovedDataset]


class PinsMade(msgspec.Struct, frozen=True):
    """The versions that a pin names, or named."""

    pins: list[PinnedVersion]


class AllResolved(msgspec.Struct, frozen=True):
    """The versions that are meant, in the order in which they were asked for."""

    datasets: list[ResolvedVersion]


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


class PinVersions(Order[PinsMade], frozen=True, kw_only=True):
    """Keep versions under a name until a time: of all datasets that are named, or of none."""

    path = "/api/v1/pins"
    answer = PinsMade
    pin: Annotated[str, msgspec.Meta(description="What the versions are found by.", min_length=1, max_length=200)]
    until: Until
    datasets: Few[ToPin]
    by: By = None
    why: Why = None

    def done(self, desk: Desk) -> PinsMade:
        """Pin."""
        registry = desk.registry
        with registry.deciding():
            wanted = [Wanted(one.dataset(desk), read_selector(one.version)) for one in self.datasets]
            versions = [(one.dataset, registry.resolver.resolve(one).version) for one in wanted]
            made = registry.pins.put(self.pin, versions, micros_of(self.until), desk.signed(self.by), self.why)
        return PinsMade([tell_pin(desk.named(one.dataset), one) for one in made])


class Unpin(Order[PinsMade], OfDataset, frozen=True, kw_only=True):
    """Remove a pin, of one dataset or of all that it names."""

    method = "DELETE"
    path = "/api/v1/pins"
    answer = PinsMade
    pin: Name

    def done(self, desk: Desk) -> PinsMade:
        """Remove it."""
        with desk.registry.deciding():
            dataset = None if self.id is None and self.name is None else self.dataset(desk)
            gone = desk.registry.pins.drop(self.pin, dataset)
        return PinsMade([tell_pin(desk.named(one.dataset), one) for one in gone])


class Invalidate(Order[Judgement], OfDataset, frozen=True, kw_only=True):
    """Mark a version, or a partition of it, as not to be read; or take that back."""

    path = "/api/v1/invalidate"
    answer = Judgement
    version: Name
    partition: OnePartition | None = None
    reason: Annotated[str, msgspec.Meta(description="Why; needed to mark it.", min_length=1)] | None = None
    valid: Annotated[bool, msgspec.Meta(description="It is to be read again.")] = False
    by: By = None

    def done(self, desk: Desk) -> Judgement:
        """Mark it."""
        if not self.valid and self.reason is None:
            raise BadQuestion("say why it is not to be read", "reason")
        registry, by, partition = desk.registry, desk.signed(self.by), read_partition(self.partition)
        with registry.deciding():
            dataset = self.dataset(desk)
            version = registry.versions.find(dataset, self.version)
            if self.valid:
                marked = registry.invalidation.lift(dataset, version, by, partition)
            else:
                marked = registry.invalidation.mark(dataset, version, self.reason or "", by, partition)
            head = registry.history.head(dataset)
        return tell_marked(desk.named(dataset), marked, published=head is not None and head.version == version.id)


class ResolveAll(Order[AllResolved], frozen=True, kw_only=True):
    """Tell which versions of datasets are meant, all of one state: a publication is seen whole or not at all."""

    path = "/api/v1/resolve"
    scope = "read"
    answer = AllResolved
    datasets: Few[ToResolve]

    def done(self, desk: Desk) -> AllResolved:
        """Look them up."""
        wanted = [
            Wanted(one.dataset(desk), read_selector(one.pin, one.as_of), read_partition(one.partition))
            for one in self.datasets
        ]
        return AllResolved([desk.resolved(one) for one in desk.registry.resolver.resolve_all(wanted)])


#: All that can be ordered.
ORDERS: tuple[type[Order[Any]], ...] = (
    Publish, RollBack, PinVersions, Unpin, Invalidate, ResolveAll, Describe, Register,
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
