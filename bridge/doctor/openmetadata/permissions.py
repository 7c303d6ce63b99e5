"""Permissions of the bot compared with those that sync needs."""

from collections.abc import Iterator

from bridge.doctor.finding import Finding, Level
from bridge.settings.openmetadata import OpenMetadataSettings
from connectors.errors import TargetRejected
from connectors.openmetadata.client import OpenMetadataClient

#: The kinds without which hardly anything can be sent, and those that not every house has.
_NEEDED = ("databaseService", "database", "databaseSchema", "table", "pipelineService", "pipeline")
_OPTIONAL = (
    *("storageService", "container", "messagingService", "topic"),
    *("apiService", "apiCollection", "apiEndpoint", "mlmodelService", "mlmodel"),
)
_RETIRED = ("table", "pipeline")
_ALLOWED, _CONDITIONAL = "allow", ("conditionalAllow", "conditionalDeny")
_POLICY = "give the bot a role with a policy that allows it, such as the one of the ingestion bot"

PermissionsByEntity = dict[str, dict[str, str]]


def check(client: OpenMetadataClient, settings: OpenMetadataSettings) -> Iterator[Finding]:
    """Compare what the user may do with what sending needs."""
    try:
        access = client.permissions()
    except TargetRejected as error:
        access, why = {}, f" ({error})"
    else:
        why = ""
    if not access:
        found = f"not known, and not tried: the server does not say what the user may do{why}"
        yield Finding(Level.warning, "rights", found, "look at the policies of the bot in OpenMetadata")
        return
    needed, rare = _missing_permissions(access, settings, _NEEDED), _missing_permissions(access, settings, _OPTIONAL)
    if settings.sync.track_lineage and not _can_edit_lineage(access):
        needed.append("EditLineage of lineage")
    retiring = [f"Delete of {kind}" for kind in _RETIRED if access.get(kind, {}).get("Delete") != _ALLOWED]
    unsure = [
        f"{operation} of {kind}"
        for kind in (*_NEEDED, *_OPTIONAL)
        for operation in _wanted(kind, settings)
        if access.get(kind, {}).get(operation) in _CONDITIONAL
    ]
    if needed:
        yield Finding(Level.error, "rights", f"missing: {', '.join(needed)}", _POLICY)
    if rare:
        yield Finding(Level.warning, "rights", f"missing where such things are met: {', '.join(rare)}", _POLICY)
    if retiring:
        found = f"missing: {', '.join(retiring)}, so that what became one with another stays"
        yield Finding(Level.warning, "rights", found, _POLICY)
    if unsure:
        found = f"depends on the entity: {', '.join(unsure)}"
        yield Finding(Level.warning, "rights", found, "look at the conditions in the policies of the bot")
    if not (needed or rare or retiring or unsure):
        found = "the user may do all that sending needs, says the server; nothing was written to try it"
        yield Finding(Level.ok, "rights", found)


def _wanted(kind: str, settings: OpenMetadataSettings) -> Iterator[str]:
    service = kind.endswith("Service")
    yield "ViewAll"
    if settings.create == "all" or (settings.create == "entities" and not service):
        yield "Create"
    if not service:
        yield "EditAll"


def _missing_permissions(
    access: PermissionsByEntity, settings: OpenMetadataSettings, kinds: tuple[str, ...]
) -> list[str]:
    """Give what is not allowed, operation by operation; kinds that the server does not know lack nothing."""
    lacking: dict[str, list[str]] = {}
    for kind in (known for known in kinds if known in access or known in _NEEDED):
        for operation in _wanted(kind, settings):
            if access.get(kind, {}).get(operation) not in {_ALLOWED, *_CONDITIONAL}:
                lacking.setdefault(operation, []).append(kind)
    return [f"{operation} of {' and '.join(of)}" for operation, of in lacking.items()]


def _can_edit_lineage(access: PermissionsByEntity) -> bool:
    allowed = access.get("lineage") or access.get("table") or {}
    return _ALLOWED in {allowed.get("EditLineage"), allowed.get("EditAll")}
