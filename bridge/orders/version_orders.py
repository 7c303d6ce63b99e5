"""What the registry can be told to do with versions: pin them, mark them, find them."""

from datetime import datetime
from typing import Annotated

import msgspec

from bridge.catalogue.decided import Judgement, PinnedVersion, ResolvedVersion, tell_marked, tell_pin
from bridge.catalogue.registry import AsOf, OnePartition, Selected, read_partition
from bridge.catalogue.things import Thing
from bridge.orders.order import By, Desk, Few, Name, OfDataset, Order, Why
from bridge.registry.discarding import discard
from bridge.registry.resolution import Wanted
from bridge.registry.selector import micros_of, read_selector
from mappers.errors import BadQuestion

Until = Annotated[
    datetime,
    msgspec.Meta(description="When it ends; UTC without a time zone.", extra_json_schema={"format": "date-time"}),
]


class ToPin(OfDataset, frozen=True, kw_only=True):
    """A version of a dataset that shall be kept."""

    version: Selected = "published"


class ToResolve(OfDataset, frozen=True, kw_only=True):
    """A dataset, and which version of it is meant."""

    pin: Selected = "published"
    as_of: AsOf = None
    partition: OnePartition | None = None


class PinsMade(msgspec.Struct, frozen=True):
    """The versions that a pin names, or named."""

    pins: list[PinnedVersion]


class AllResolved(msgspec.Struct, frozen=True):
    """The versions that are meant, in the order in which they were asked for."""

    datasets: list[ResolvedVersion]


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


class Discarded(msgspec.Struct, frozen=True):
    """Versions that are given up, and those that are kept because somebody needs them, with the reasons."""

    dataset: Thing
    discarded: list[str]
    held: dict[str, list[str]]


class Discard(Order[Discarded], OfDataset, frozen=True, kw_only=True):
    """Give versions up whose files shall be removed: nobody is to read them; what is published or pinned is kept."""

    path = "/api/v1/discard"
    answer = Discarded
    versions: Few[Name]
    reason: Annotated[str, msgspec.Meta(description="Why; told to who asks for one.", min_length=1)]
    by: By = None

    def done(self, desk: Desk) -> Discarded:
        """Mark those that nobody needs."""
        registry = desk.registry
        with registry.deciding():
            dataset = self.dataset(desk)
            found = [registry.versions.find(dataset, one) for one in self.versions]
            given_up = discard(registry, dataset, found, self.reason, desk.signed(self.by))
        return Discarded(desk.thing(dataset), [one.tag for one in given_up.discarded], given_up.held)


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
