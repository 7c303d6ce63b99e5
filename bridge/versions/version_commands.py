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
from bridge.versions.resolver import VersionRequest
from bridge.versions.results import PinnedVersion, ResolvedVersion, VersionValidity, pinned_version, version_validity
from bridge.versions.selector import (
    AsOfField,
    PartitionField,
    SelectorField,
    parse_partition,
    parse_selector,
)
from mappers.timestamps import from_datetime

Until = Annotated[
    datetime,
    msgspec.Meta(description="Expiry; UTC unless it has a time zone.", extra_json_schema={"format": "date-time"}),
]


class PinItem(DatasetArgument, frozen=True, kw_only=True):
    """A version of a dataset to pin."""

    version: SelectorField = "published"


class ResolveItem(DatasetArgument, frozen=True, kw_only=True):
    """A dataset, and which of its versions to resolve."""

    pin: SelectorField = "published"
    as_of: AsOfField = None
    partition: PartitionField | None = None


class PinResult(msgspec.Struct, frozen=True):
    """The versions that a pin retains, or retained before it was removed."""

    pins: list[PinnedVersion]


class ResolveResult(msgspec.Struct, frozen=True):
    """The resolved versions, in the order of the request."""

    datasets: list[ResolvedVersion]


class PinCommand(Command[PinResult], frozen=True, kw_only=True):
    """Pin versions of several datasets under a name until an expiry time: either all of them or none."""

    path = "/api/v1/pins"
    result_type = PinResult
    pin: Annotated[str, msgspec.Meta(description="Pin name.", min_length=1, max_length=200)]
    until: Until
    datasets: BoundedList[PinItem]
    by: ActorField = None
    why: ReasonField = None

    def execute(self, ctx: CommandContext) -> PinResult:
        registry = ctx.registry
        with registry.transaction():
            requests = [
                VersionRequest(item.find_group_id(ctx), parse_selector(item.version)) for item in self.datasets
            ]
            versions = [(request.group_id, registry.resolver.resolve(request).version) for request in requests]
            pins = registry.pins.pin(self.pin, versions, from_datetime(self.until), ctx.actor(self.by), self.why)
        return PinResult([pinned_version(ctx.dataset_name(pin.group_id), pin) for pin in pins])


class UnpinCommand(Command[PinResult], DatasetArgument, frozen=True, kw_only=True):
    """Remove a pin from one dataset or from all its datasets."""

    method = "DELETE"
    path = "/api/v1/pins"
    result_type = PinResult
    pin: Name

    def execute(self, ctx: CommandContext) -> PinResult:
        with ctx.registry.transaction():
            group_id = None if self.id is None and self.name is None else self.find_group_id(ctx)
            removed_pins = ctx.registry.pins.unpin(self.pin, group_id)
        return PinResult([pinned_version(ctx.dataset_name(pin.group_id), pin) for pin in removed_pins])


class InvalidateCommand(Command[VersionValidity], DatasetArgument, frozen=True, kw_only=True):
    """Invalidate a version or one of its partitions, or revoke the invalidation."""

    path = "/api/v1/invalidate"
    result_type = VersionValidity
    version: Name
    partition: PartitionField | None = None
    reason: Annotated[str, msgspec.Meta(description="Reason; required to invalidate.", min_length=1)] | None = None
    valid: Annotated[bool, msgspec.Meta(description="Revoke the invalidation.")] = False
    by: ActorField = None

    def execute(self, ctx: CommandContext) -> VersionValidity:
        if not self.valid and self.reason is None:
            raise InvalidParameter("missing reason for the invalidation", "reason")
        registry = ctx.registry
        actor = ctx.actor(self.by)
        partition = parse_partition(self.partition)
        with registry.transaction():
            group_id = self.find_group_id(ctx)
            version = registry.versions.find(group_id, self.version)
            if self.valid:
                outcome = registry.invalidations.revoke(group_id, version, actor, partition)
            else:
                outcome = registry.invalidations.invalidate(group_id, version, self.reason or "", actor, partition)
            current_entry = registry.publications.current(group_id)
        is_published = current_entry is not None and current_entry.version_id == version.id
        return version_validity(ctx.dataset_name(group_id), outcome, published=is_published)


class DiscardResult(msgspec.Struct, frozen=True):
    """The discarded versions, and those that are retained, with the reasons."""

    dataset: NodeReference
    discarded: list[str]
    held: dict[str, list[str]]


class DiscardCommand(Command[DiscardResult], DatasetArgument, frozen=True, kw_only=True):
    """Discard versions before their files are deleted; published and pinned versions are retained."""

    path = "/api/v1/discard"
    result_type = DiscardResult
    versions: BoundedList[Name]
    reason: Annotated[
        str, msgspec.Meta(description="Reason; returned to clients that request a discarded version.", min_length=1)
    ]
    by: ActorField = None

    def execute(self, ctx: CommandContext) -> DiscardResult:
        registry = ctx.registry
        with registry.transaction():
            group_id = self.find_group_id(ctx)
            versions = [registry.versions.find(group_id, name) for name in self.versions]
            outcome = registry.discard(group_id, versions, self.reason, ctx.actor(self.by))
        return DiscardResult(
            ctx.node_reference(group_id), [version.tag for version in outcome.discarded], outcome.retained
        )


class ResolveCommand(Command[ResolveResult], frozen=True, kw_only=True):
    """Resolve versions of several datasets from one snapshot; each publication is seen completely or not at all."""

    path = "/api/v1/resolve"
    scope = "read"
    result_type = ResolveResult
    datasets: BoundedList[ResolveItem]

    def execute(self, ctx: CommandContext) -> ResolveResult:
        requests = [
            VersionRequest(
                item.find_group_id(ctx), parse_selector(item.pin, item.as_of), parse_partition(item.partition)
            )
            for item in self.datasets
        ]
        return ResolveResult(
            [ctx.resolved_version(request) for request in ctx.registry.resolver.resolve_all(requests)]
        )
