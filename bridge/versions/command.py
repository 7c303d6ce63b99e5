"""Base class of commands, their context, and the acting user."""

import getpass
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import msgspec

from bridge.errors import InvalidParameter, NotFound
from bridge.settings.model import ApiScope
from bridge.store.lineage.graph import LineageGraph, QualifiedName
from bridge.store.references import NodeReference, node_reference, parse_id
from bridge.versions.registry import VersionRegistry
from bridge.versions.resolver import Resolution
from bridge.versions.results import ResolvedVersion, resolved_version


def current_user() -> str:
    """Return the name of the operating system user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"


A = TypeVar("A")
T = TypeVar("T")

#: Maximum number of datasets per command.
MAX_DATASETS = 1_000
Name = Annotated[str, msgspec.Meta(min_length=1)]
BoundedList = Annotated[list[T], msgspec.Meta(min_length=1, max_length=MAX_DATASETS)]
ActorField = (
    Annotated[str, msgspec.Meta(description="Acting user; the name of the API key is added.", min_length=1)] | None
)
ReasonField = Annotated[str | None, msgspec.Meta(description="Reason, stored in the history.")]


class CommandContext(NamedTuple):
    """The registry, the lineage graph for dataset names, and the principal who issues a command."""

    registry: VersionRegistry
    graph: LineageGraph
    #: API key or operating system user; None if unknown.
    principal: str | None = None

    def actor(self, by: str | None) -> str:
        """Return the actor for the history: the specified user together with the principal."""
        if by and self.principal:
            return f"{by} ({self.principal})"
        return by or self.principal or "somebody"

    def dataset_name(self, group_id: bytes) -> QualifiedName:
        return self.graph.dataset_name(group_id)

    def node_reference(self, group_id: bytes) -> NodeReference:
        return node_reference(group_id, self.dataset_name(group_id))

    def resolved_version(self, resolution: Resolution) -> ResolvedVersion:
        return resolved_version(self.graph, resolution)


class Command(msgspec.Struct, Generic[A], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change or a lookup in the registry; its fields are the body of its route."""

    method: ClassVar[Literal["POST", "DELETE"]] = "POST"
    path: ClassVar[str]
    scope: ClassVar[ApiScope] = "operate"
    result_type: ClassVar[type[Any]]

    def execute(self, ctx: CommandContext) -> A:
        """Execute the command."""
        raise NotImplementedError


class DatasetArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dataset that is given by id, by namespace and name, or by a `name` that includes the namespace."""

    id: Name | None = None
    namespace: Name | None = None
    name: Name | None = None

    def find_group_id(self, ctx: CommandContext) -> bytes:
        """Find the identity group of the dataset. Raises NotFound if the store does not contain it."""
        if self.id is not None:
            group_id = ctx.graph.group_of(parse_id(self.id))
            if group_id is None:
                raise NotFound(f"no dataset with the id {self.id} in the store")
            return group_id
        if self.name is None:
            raise InvalidParameter("missing dataset: specify an id or a name", "name")
        return ctx.registry.find_dataset(self.namespace, self.name)


def reject_nul_characters(command: Command[Any]) -> None:
    """Raise InvalidParameter if a command contains U+0000, which no store can contain."""
    pending: list[Any] = [msgspec.to_builtins(command)]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str) and "\0" in value:
            raise InvalidParameter("text cannot contain U+0000", "body")
