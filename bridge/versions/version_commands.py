"""Commands: pin, unpin, invalidate, discard and resolve versions."""

from datetime import datetime
from typing import Annotated

import msgspec

from bridge.errors import InvalidParameter
from bridge.store.references import NodeReference
from bridge.versions.command import (
    ActorField,
    BoundedList,
    Command,
    CommandContext,
    DatasetArgument,
    Name,
    ReasonField,
)
from bridge.versions.registry import discard
from bridge.versions.resolver import VersionRequest
from bridge.versions.results import PinnedVersion, ResolvedVersion, VersionValidity, pinned_version, version_validity
from bridge.versions.selector import (
    AsOfField,
    PartitionField,
    SelectorField,
    parse_partition,
    parse_selector,
    to_micros,
)

Until = Annotated[
    datetime,
    msgspec.Meta(description="When it ends; UTC without a time zone.", extra_json_schema={"format": "date-time"}),
]


class PinItem(DatasetArgument, frozen=True, kw_only=True):
    """A version of a dataset that shall be kept."""

    version: SelectorField = "published"


class ResolveItem(DatasetArgument, frozen=True, kw_only=True):
    """A dataset, and which version of it is meant."""

    pin: SelectorField = "published"
    as_of: AsOfField = None
    partition: PartitionField | None = None


class PinResult(msgspec.Struct, frozen=True):
    """The versions that a pin names, or named."""

    pins: list[PinnedVersion]


class ResolveResult(msgspec.Struct, frozen=True):
    """The versions that are meant, in the order in which they were asked for."""

    datasets: list[ResolvedVersion]


class PinCommand(Command[PinResult], frozen=True, kw_only=True):
    """Keep versions under a name until a time: of all datasets that are named, or of none."""

    path = "/api/v1/pins"
    result_type = PinResult
    pin: Annotated[str, msgspec.Meta(description="What the versions are found by.", min_length=1, max_length=200)]
    until: Until
    datasets: BoundedList[PinItem]
    by: ActorField = None
    why: ReasonField = None

    def execute(self, desk: CommandContext) -> PinResult:
        """Pin."""
        registry = desk.registry
        with registry.transaction():
            wanted = [VersionRequest(one.group_id(desk), parse_selector(one.version)) for one in self.datasets]
            versions = [(one.dataset, registry.resolver.resolve(one).version) for one in wanted]
            made = registry.pins.pin(self.pin, versions, to_micros(self.until), desk.actor(self.by), self.why)
        return PinResult([pinned_version(desk.dataset_name(one.dataset), one) for one in made])


class UnpinCommand(Command[PinResult], DatasetArgument, frozen=True, kw_only=True):
    """Remove a pin, of one dataset or of all that it names."""

    method = "DELETE"
    path = "/api/v1/pins"
    result_type = PinResult
    pin: Name

    def execute(self, desk: CommandContext) -> PinResult:
        """Remove it."""
        with desk.registry.transaction():
            dataset = None if self.id is None and self.name is None else self.group_id(desk)
            gone = desk.registry.pins.unpin(self.pin, dataset)
        return PinResult([pinned_version(desk.dataset_name(one.dataset), one) for one in gone])


class InvalidateCommand(Command[VersionValidity], DatasetArgument, frozen=True, kw_only=True):
    """Mark a version, or a partition of it, as not to be read; or take that back."""

    path = "/api/v1/invalidate"
    result_type = VersionValidity
    version: Name
    partition: PartitionField | None = None
    reason: Annotated[str, msgspec.Meta(description="Why; needed to mark it.", min_length=1)] | None = None
    valid: Annotated[bool, msgspec.Meta(description="It is to be read again.")] = False
    by: ActorField = None

    def execute(self, desk: CommandContext) -> VersionValidity:
        """Mark it."""
        if not self.valid and self.reason is None:
            raise InvalidParameter("say why it is not to be read", "reason")
        registry, by, partition = desk.registry, desk.actor(self.by), parse_partition(self.partition)
        with registry.transaction():
            dataset = self.group_id(desk)
            version = registry.versions.find(dataset, self.version)
            if self.valid:
                marked = registry.invalidations.revoke(dataset, version, by, partition)
            else:
                marked = registry.invalidations.invalidate(dataset, version, self.reason or "", by, partition)
            head = registry.publications.current(dataset)
        return version_validity(
            desk.dataset_name(dataset), marked, published=head is not None and head.version == version.id
        )


class DiscardResult(msgspec.Struct, frozen=True):
    """Versions that are given up, and those that are kept because somebody needs them, with the reasons."""

    dataset: NodeReference
    discarded: list[str]
    held: dict[str, list[str]]


class DiscardCommand(Command[DiscardResult], DatasetArgument, frozen=True, kw_only=True):
    """Give versions up whose files shall be removed: nobody is to read them; what is published or pinned is kept."""

    path = "/api/v1/discard"
    result_type = DiscardResult
    versions: BoundedList[Name]
    reason: Annotated[str, msgspec.Meta(description="Why; told to who asks for one.", min_length=1)]
    by: ActorField = None

    def execute(self, desk: CommandContext) -> DiscardResult:
        """Mark those that nobody needs."""
        registry = desk.registry
        with registry.transaction():
            dataset = self.group_id(desk)
            found = [registry.versions.find(dataset, one) for one in self.versions]
            given_up = discard(registry, dataset, found, self.reason, desk.actor(self.by))
        return DiscardResult(desk.node_reference(dataset), [one.tag for one in given_up.discarded], given_up.held)


class ResolveCommand(Command[ResolveResult], frozen=True, kw_only=True):
    """Tell which versions of datasets are meant, all of one state: a publication is seen whole or not at all."""

    path = "/api/v1/resolve"
    scope = "read"
    result_type = ResolveResult
    datasets: BoundedList[ResolveItem]

    def execute(self, desk: CommandContext) -> ResolveResult:
        """Look them up."""
        wanted = [
            VersionRequest(one.group_id(desk), parse_selector(one.pin, one.as_of), parse_partition(one.partition))
            for one in self.datasets
        ]
        return ResolveResult([desk.resolved_version(one) for one in desk.registry.resolver.resolve_all(wanted)])
