"""What an order to the registry is: it knows its route, its body and its answer; who has a registry does it."""

from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import msgspec

from bridge.catalogue.decided import ResolvedVersion, tell_resolved
from bridge.catalogue.things import Thing, read_id, thing
from bridge.registry.registry import Registry
from bridge.registry.resolution import Resolved
from bridge.settings import Scope
from bridge.store.graph import Graph, Named
from mappers.errors import BadQuestion, UnknownName

A = TypeVar("A")
T = TypeVar("T")

#: How many datasets one order may name.
MOST_DATASETS = 1_000
Name = Annotated[str, msgspec.Meta(min_length=1)]
Few = Annotated[list[T], msgspec.Meta(min_length=1, max_length=MOST_DATASETS)]
By = Annotated[str, msgspec.Meta(description="Who wants it; the key's name stands beside it.", min_length=1)] | None
Why = Annotated[str | None, msgspec.Meta(description="Kept with the history.")]


class Desk(NamedTuple):
    """Where orders are done: the registry, the names of datasets, and who gives the order."""

    registry: Registry
    graph: Graph
    #: Who it is as far as can be told; None for nobody in particular.
    signer: str | None = None

    def signed(self, by: str | None) -> str:
        """Say who gives the order: as who they call themselves, and as who they have shown to be."""
        return f"{by} ({self.signer})" if by and self.signer else by or self.signer or "somebody"

    def named(self, dataset: bytes) -> Named:
        """Name a dataset, given by its class."""
        return self.graph.dataset(dataset)

    def thing(self, dataset: bytes) -> Thing:
        """Give a dataset as answers do."""
        return thing(dataset, self.named(dataset))

    def resolved(self, found: Resolved) -> ResolvedVersion:
        """Give a version that was found."""
        return tell_resolved(self.graph, found)


class Order(msgspec.Struct, Generic[A], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that the registry is told to do; its fields are the body of its route."""

    method: ClassVar[Literal["POST", "DELETE"]] = "POST"
    path: ClassVar[str]
    scope: ClassVar[Scope] = "operate"
    answer: ClassVar[type[Any]]

    def done(self, desk: Desk) -> A:
        """Do it."""
        raise NotImplementedError


class OfDataset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dataset, by its id, by namespace and name, or by both in one `name`."""

    id: Name | None = None
    namespace: Name | None = None
    name: Name | None = None

    def dataset(self, desk: Desk) -> bytes:
        """Find its class; raises UnknownName."""
        if self.id is not None:
            found = desk.graph.class_of(read_id(self.id))
            if found is None:
                raise UnknownName(f"no dataset with the id {self.id} in the store")
            return found
        if self.name is None:
            raise BadQuestion("say which dataset: by its id, or by its name", "name")
        return desk.registry.dataset(self.namespace, self.name)


def check_texts(order: Order[Any]) -> None:
    """Refuse what no store can hold."""
    waiting: list[Any] = [msgspec.to_builtins(order)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and "\0" in value:
            raise BadQuestion("U+0000 is in no text that a store can hold", "body")
