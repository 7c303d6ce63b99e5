"""What the registry can be told to remember: metadata of datasets and versions, definitions of processes and DAGs."""

from typing import Annotated, Any

import msgspec

from bridge.catalogue.decided import DefinedVersion, tell_definition
from bridge.catalogue.things import Thing
from bridge.orders.order import By, Desk, Name, OfDataset, Order
from bridge.registry.definitions import Kind, process_id
from mappers.errors import BadQuestion

Object = dict[str, Any]
Label = Annotated[
    str, msgspec.Meta(description="What it is called; else it is counted.", min_length=1, max_length=200)
]


class Remembered(msgspec.Struct, frozen=True):
    """All that is remembered of a dataset, or of a version of it."""

    dataset: Thing
    version: str | None
    metadata: Object


class Describe(Order[Remembered], OfDataset, frozen=True, kw_only=True):
    """Remember JSON of one's own with a dataset or a version; it is patched, and a null takes a key away."""

    path = "/api/v1/metadata"
    answer = Remembered
    metadata: Object
    version: Name | None = None
    checksum: Annotated[str | None, msgspec.Meta(description="Of a version: how to check what was written.")] = None
    by: By = None

    def done(self, desk: Desk) -> Remembered:
        """Remember it."""
        registry = desk.registry
        if self.version is None and self.checksum is not None:
            raise BadQuestion("only a version has one", "checksum")
        with registry.deciding():
            dataset = self.dataset(desk)
            if self.version is None:
                whole = registry.descriptions.describe(dataset, self.metadata, desk.signed(self.by))
                return Remembered(desk.thing(dataset), None, whole)
            version = registry.versions.find(dataset, self.version)
            whole = registry.descriptions.describe_version(version, self.metadata, self.checksum)
        return Remembered(desk.thing(dataset), version.tag, whole)


class Register(Order[DefinedVersion], frozen=True, kw_only=True):
    """Let a definition of a process or DAG be in effect; the same content twice is one version."""

    path = "/api/v1/definitions"
    answer = DefinedVersion
    namespace: Name
    name: Name
    kind: Kind = "process"
    definition: Annotated[Object | None, msgspec.Meta(description="Left out: `version` is put in effect again.")] = (
        None
    )
    version: Label | None = None
    by: By = None

    def done(self, desk: Desk) -> DefinedVersion:
        """Register it."""
        definitions = desk.registry.definitions
        with desk.registry.deciding():
            if self.definition is not None:
                by = desk.signed(self.by)
                found = definitions.register(
                    self.kind, self.namespace, self.name, self.definition, by, version=self.version
                )
            elif self.version is None:
                raise BadQuestion("say what it is defined as, or which version shall be in effect", "definition")
            else:
                process = process_id(definitions.org, self.kind, self.namespace, self.name)
                found = definitions.activate(process, self.version)
        return tell_definition(found)
