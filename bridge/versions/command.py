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
    """Name the user of this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"


A = TypeVar("A")
T = TypeVar("T")

#: How many datasets one order may name.
MAX_DATASETS = 1_000
Name = Annotated[str, msgspec.Meta(min_length=1)]
BoundedList = Annotated[list[T], msgspec.Meta(min_length=1, max_length=MAX_DATASETS)]
ActorField = (
    Annotated[str, msgspec.Meta(description="Who wants it; the key's name stands beside it.", min_length=1)] | None
)
ReasonField = Annotated[str | None, msgspec.Meta(description="Kept with the history.")]


class CommandContext(NamedTuple):
    """Where orders are done: the registry, the names of datasets, and who gives the order."""

    registry: VersionRegistry
    graph: LineageGraph
    #: Who it is as far as can be told; None for nobody in particular.
    signer: str | None = None

    def actor(self, by: str | None) -> str:
        """Say who gives the order: as who they call themselves, and as who they have shown to be."""
        return f"{by} ({self.signer})" if by and self.signer else by or self.signer or "somebody"

    def dataset_name(self, dataset: bytes) -> QualifiedName:
        """Name a dataset, given by its class."""
        return self.graph.dataset_name(dataset)

    def node_reference(self, dataset: bytes) -> NodeReference:
        """Give a dataset as answers do."""
        return node_reference(dataset, self.dataset_name(dataset))

    def resolved_version(self, found: Resolution) -> ResolvedVersion:
        """Give a version that was found."""
        return resolved_version(self.graph, found)


class Command(msgspec.Struct, Generic[A], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that the registry is told to do; its fields are the body of its route."""

    method: ClassVar[Literal["POST", "DELETE"]] = "POST"
    path: ClassVar[str]
    scope: ClassVar[ApiScope] = "operate"
    result_type: ClassVar[type[Any]]

    def execute(self, desk: CommandContext) -> A:
        """Do it."""
        raise NotImplementedError


class DatasetArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dataset, by its id, by namespace and name, or by both in one `name`."""

    id: Name | None = None
    namespace: Name | None = None
    name: Name | None = None

    def group_id(self, desk: CommandContext) -> bytes:
        """Find its class; raises UnknownName."""
        if self.id is not None:
            found = desk.graph.group_of(parse_id(self.id))
            if found is None:
                raise NotFound(f"no dataset with the id {self.id} in the store")
            return found
        if self.name is None:
            raise InvalidParameter("say which dataset: by its id, or by its name", "name")
        return desk.registry.find_dataset(self.namespace, self.name)


def reject_nul_characters(order: Command[Any]) -> None:
    """Refuse what no store can hold."""
    waiting: list[Any] = [msgspec.to_builtins(order)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and "\0" in value:
            raise InvalidParameter("U+0000 is in no text that a store can hold", "body")
