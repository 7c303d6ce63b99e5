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
    str, msgspec.Meta(description="Version name (default: a sequential number).", min_length=1, max_length=200)
]


class MetadataResult(msgspec.Struct, frozen=True):
    """The metadata of a dataset or of one of its versions."""

    dataset: NodeReference
    version: str | None
    metadata: Object


class PatchMetadataCommand(Command[MetadataResult], DatasetArgument, frozen=True, kw_only=True):
    """Patch the JSON metadata of a dataset or version; null removes a key."""

    path = "/api/v1/metadata"
    result_type = MetadataResult
    metadata: Object
    version: Name | None = None
    checksum: Annotated[str | None, msgspec.Meta(description="Checksum of a version.")] = None
    by: ActorField = None

    def execute(self, ctx: CommandContext) -> MetadataResult:
        registry = ctx.registry
        if self.version is None and self.checksum is not None:
            raise InvalidParameter("requires a version", "checksum")
        with registry.transaction():
            group_id = self.find_group_id(ctx)
            if self.version is None:
                patched_metadata = registry.metadata.patch_dataset(group_id, self.metadata, ctx.actor(self.by))
                return MetadataResult(ctx.node_reference(group_id), None, patched_metadata)
            version = registry.versions.find(group_id, self.version)
            patched_metadata = registry.metadata.patch_version(version, self.metadata, self.checksum)
        return MetadataResult(ctx.node_reference(group_id), version.tag, patched_metadata)


class RegisterDefinitionCommand(Command[DefinitionVersion], frozen=True, kw_only=True):
    """Register and activate a definition of a process or DAG; identical content creates no new version."""

    path = "/api/v1/definitions"
    result_type = DefinitionVersion
    namespace: Name
    name: Name
    kind: DefinitionKind = "process"
    definition: Annotated[Object | None, msgspec.Meta(description="If omitted, `version` is activated again.")] = None
    version: Label | None = None
    by: ActorField = None

    def execute(self, ctx: CommandContext) -> DefinitionVersion:
        definitions = ctx.registry.definitions
        with ctx.registry.transaction():
            if self.definition is not None:
                actor = ctx.actor(self.by)
                registered_definition = definitions.register(
                    self.kind, self.namespace, self.name, self.definition, actor, version=self.version
                )
            elif self.version is None:
                raise InvalidParameter("specify a definition, or the version to activate", "definition")
            else:
                process = process_id(definitions.org, self.kind, self.namespace, self.name)
                registered_definition = definitions.activate(process, self.version)
        return definition_version(registered_definition)
