"""Commands: patch metadata, register definitions."""

from typing import Annotated, Any

import msgspec

from bridge.errors import InvalidParameter
from bridge.store.references import NodeReference
from bridge.versions.command import ActorField, Command, CommandContext, DatasetArgument, Name
from bridge.versions.definitions import DefinitionKind, process_id
from bridge.versions.results import DefinitionVersion, definition_version

Object = dict[str, Any]
Label = Annotated[
    str, msgspec.Meta(description="What it is called; else it is counted.", min_length=1, max_length=200)
]


class MetadataResult(msgspec.Struct, frozen=True):
    """All that is remembered of a dataset, or of a version of it."""

    dataset: NodeReference
    version: str | None
    metadata: Object


class PatchMetadataCommand(Command[MetadataResult], DatasetArgument, frozen=True, kw_only=True):
    """Remember JSON of one's own with a dataset or a version; it is patched, and a null takes a key away."""

    path = "/api/v1/metadata"
    result_type = MetadataResult
    metadata: Object
    version: Name | None = None
    checksum: Annotated[str | None, msgspec.Meta(description="Of a version: how to check what was written.")] = None
    by: ActorField = None

    def execute(self, desk: CommandContext) -> MetadataResult:
        """Remember it."""
        registry = desk.registry
        if self.version is None and self.checksum is not None:
            raise InvalidParameter("only a version has one", "checksum")
        with registry.transaction():
            dataset = self.group_id(desk)
            if self.version is None:
                whole = registry.metadata.patch_dataset(dataset, self.metadata, desk.actor(self.by))
                return MetadataResult(desk.node_reference(dataset), None, whole)
            version = registry.versions.find(dataset, self.version)
            whole = registry.metadata.patch_version(version, self.metadata, self.checksum)
        return MetadataResult(desk.node_reference(dataset), version.tag, whole)


class RegisterDefinitionCommand(Command[DefinitionVersion], frozen=True, kw_only=True):
    """Let a definition of a process or DAG be in effect; the same content twice is one version."""

    path = "/api/v1/definitions"
    result_type = DefinitionVersion
    namespace: Name
    name: Name
    kind: DefinitionKind = "process"
    definition: Annotated[Object | None, msgspec.Meta(description="Left out: `version` is put in effect again.")] = (
        None
    )
    version: Label | None = None
    by: ActorField = None

    def execute(self, desk: CommandContext) -> DefinitionVersion:
        """Register it."""
        definitions = desk.registry.definitions
        with desk.registry.transaction():
            if self.definition is not None:
                by = desk.actor(self.by)
                found = definitions.register(
                    self.kind, self.namespace, self.name, self.definition, by, version=self.version
                )
            elif self.version is None:
                raise InvalidParameter("say what it is defined as, or which version shall be in effect", "definition")
            else:
                process = process_id(definitions.org, self.kind, self.namespace, self.name)
                found = definitions.activate(process, self.version)
        return definition_version(found)
