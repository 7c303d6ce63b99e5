"""Compares the permissions of the bot with the permissions that sync needs."""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, Level
from bridge.settings.openmetadata import OpenMetadataSettings
from connectors.errors import TargetRejected
from connectors.openmetadata.client import OpenMetadataClient

#: Entity kinds that every installation uses.
_REQUIRED_KINDS = ("databaseService", "database", "databaseSchema", "table", "pipelineService", "pipeline")
#: Entity kinds that only some installations use.
_OPTIONAL_KINDS = (
    "storageService", "container", "messagingService", "topic",
    "apiService", "apiCollection", "apiEndpoint", "mlmodelService", "mlmodel",
)  # fmt: skip
#: Entity kinds that sync deletes after merges and renames.
_DELETED_KINDS = ("table", "pipeline")
_ALLOWED = "allow"
_CONDITIONAL = ("conditionalAllow", "conditionalDeny")
_POLICY_REMEDY = "give the bot a role with a policy that allows it, such as the one of the ingestion bot"

PermissionsByEntity = dict[str, dict[str, str]]


def check(client: OpenMetadataClient, settings: OpenMetadataSettings) -> Iterator[Finding]:
    """Compare the bot's permissions with the permissions that sync needs."""
    reason = ""
    try:
        permissions = client.permissions()
    except TargetRejected as error:
        permissions, reason = {}, f" ({error})"
    if not permissions:
        message = f"unknown: the server does not report the user's permissions{reason}"
        yield Finding(Level.warning, "rights", message, "check the policies of the bot in OpenMetadata")
        return
    missing_required = _missing_permissions(permissions, settings, _REQUIRED_KINDS)
    missing_optional = _missing_permissions(permissions, settings, _OPTIONAL_KINDS)
    if settings.sync.track_lineage and not _can_edit_lineage(permissions):
        missing_required.append("EditLineage of lineage")
    missing_delete = [
        f"Delete of {kind}" for kind in _DELETED_KINDS if permissions.get(kind, {}).get("Delete") != _ALLOWED
    ]
    conditional = [
        f"{operation} of {kind}"
        for kind in (*_REQUIRED_KINDS, *_OPTIONAL_KINDS)
        for operation in _required_operations(kind, settings)
        if permissions.get(kind, {}).get(operation) in _CONDITIONAL
    ]
    if missing_required:
        yield Finding(Level.error, "rights", f"missing: {', '.join(missing_required)}", _POLICY_REMEDY)
    if missing_optional:
        message = f"missing for optional kinds: {', '.join(missing_optional)}"
        yield Finding(Level.warning, "rights", message, _POLICY_REMEDY)
    if missing_delete:
        message = f"missing: {', '.join(missing_delete)}; merged and renamed entities will remain"
        yield Finding(Level.warning, "rights", message, _POLICY_REMEDY)
    if conditional:
        message = f"depends on the entity: {', '.join(conditional)}"
        yield Finding(Level.warning, "rights", message, "check the conditions in the policies of the bot")
    if not (missing_required or missing_optional or missing_delete or conditional):
        yield Finding(Level.ok, "rights", _sufficient_message(permissions))


def _sufficient_message(permissions: PermissionsByEntity) -> str:
    message = "the server reports all permissions that sync needs (read only, not tested by writing)"
    if permissions.get("table", {}).get("EditDisplayName") in {None, _ALLOWED}:
        return message
    return f"{message}; display names can be added but not changed (EditDisplayName is denied)"


def _required_operations(kind: str, settings: OpenMetadataSettings) -> Iterator[str]:
    is_service = kind.endswith("Service")
    yield "ViewAll"
    if settings.create == "all" or (settings.create == "entities" and not is_service):
        yield "Create"
    if not is_service:
        yield "EditAll"


def _missing_permissions(
    permissions: PermissionsByEntity, settings: OpenMetadataSettings, kinds: tuple[str, ...]
) -> list[str]:
    """List the missing permissions by operation; skips optional kinds that the server does not know."""
    kinds_by_operation: dict[str, list[str]] = {}
    for kind in kinds:
        if kind not in permissions and kind in _OPTIONAL_KINDS:
            continue
        for operation in _required_operations(kind, settings):
            if permissions.get(kind, {}).get(operation) not in {_ALLOWED, *_CONDITIONAL}:
                kinds_by_operation.setdefault(operation, []).append(kind)
    return [
        f"{operation} of {' and '.join(missing_kinds)}" for operation, missing_kinds in kinds_by_operation.items()
    ]


def _can_edit_lineage(permissions: PermissionsByEntity) -> bool:
    lineage_permissions = permissions.get("lineage") or permissions.get("table") or {}
    return _ALLOWED in {lineage_permissions.get("EditLineage"), lineage_permissions.get("EditAll")}
