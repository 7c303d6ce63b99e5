"""Compares the permissions of the bot with the permissions that sync needs."""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, Level
from bridge.settings.openmetadata import OpenMetadataSettings
from connectors.errors import TargetRejected
from connectors.openmetadata.client import OpenMetadataClient

#: Entity kinds that every installation needs, and those that only some use.
_NEEDED = ("databaseService", "database", "databaseSchema", "table", "pipelineService", "pipeline")
_OPTIONAL = (
    *("storageService", "container", "messagingService", "topic"),
    *("apiService", "apiCollection", "apiEndpoint", "mlmodelService", "mlmodel"),
)
_DELETED_KINDS = ("table", "pipeline")
_ALLOWED, _CONDITIONAL = "allow", ("conditionalAllow", "conditionalDeny")
_POLICY = "give the bot a role with a policy that allows it, such as the one of the ingestion bot"

PermissionsByEntity = dict[str, dict[str, str]]


def check(client: OpenMetadataClient, settings: OpenMetadataSettings) -> Iterator[Finding]:
    """Compare the bot's permissions with the permissions that sync needs."""
    try:
        access = client.permissions()
    except TargetRejected as error:
        access, reason = {}, f" ({error})"
    else:
        reason = ""
    if not access:
        message = f"unknown: the server does not report the user's permissions{reason}"
        yield Finding(Level.warning, "rights", message, "check the policies of the bot in OpenMetadata")
        return
    missing = _missing_permissions(access, settings, _NEEDED)
    missing_optional = _missing_permissions(access, settings, _OPTIONAL)
    if settings.sync.track_lineage and not _can_edit_lineage(access):
        missing.append("EditLineage of lineage")
    missing_delete = [
        f"Delete of {kind}" for kind in _DELETED_KINDS if access.get(kind, {}).get("Delete") != _ALLOWED
    ]
    conditional = [
        f"{operation} of {kind}"
        for kind in (*_NEEDED, *_OPTIONAL)
        for operation in _required_operations(kind, settings)
        if access.get(kind, {}).get(operation) in _CONDITIONAL
    ]
    if missing:
        yield Finding(Level.error, "rights", f"missing: {', '.join(missing)}", _POLICY)
    if missing_optional:
        yield Finding(Level.warning, "rights", f"missing for optional kinds: {', '.join(missing_optional)}", _POLICY)
    if missing_delete:
        message = f"missing: {', '.join(missing_delete)}; merged and renamed entities will remain"
        yield Finding(Level.warning, "rights", message, _POLICY)
    if conditional:
        message = f"depends on the entity: {', '.join(conditional)}"
        yield Finding(Level.warning, "rights", message, "check the conditions in the policies of the bot")
    if not (missing or missing_optional or missing_delete or conditional):
        yield Finding(Level.ok, "rights", _describe_sufficient(access))


def _describe_sufficient(access: PermissionsByEntity) -> str:
    message = "the server reports all permissions that sync needs (read only, not tested by writing)"
    if access.get("table", {}).get("EditDisplayName") in {None, _ALLOWED}:
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
    access: PermissionsByEntity, settings: OpenMetadataSettings, kinds: tuple[str, ...]
) -> list[str]:
    """Missing permissions, grouped by operation; optional kinds that the server does not know are skipped."""
    missing: dict[str, list[str]] = {}
    for kind in (kind for kind in kinds if kind in access or kind in _NEEDED):
        for operation in _required_operations(kind, settings):
            if access.get(kind, {}).get(operation) not in {_ALLOWED, *_CONDITIONAL}:
                missing.setdefault(operation, []).append(kind)
    return [f"{operation} of {' and '.join(entity_kinds)}" for operation, entity_kinds in missing.items()]


def _can_edit_lineage(access: PermissionsByEntity) -> bool:
    permissions = access.get("lineage") or access.get("table") or {}
    return _ALLOWED in {permissions.get("EditLineage"), permissions.get("EditAll")}
