"""Built-in users, teams, roles, policies and classifications."""

from tests.standins.openmetadata.access import ADMIN, BOT, READER, Principal
from tests.standins.openmetadata.changes import Change
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.governance_kinds import POLICY, ROLE, TEAM, USER
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.state import Store

_ORGANIZATION = "Organization under which all the other team hierarchy is created"
_CONSUMER = "Users with Data Consumer role use different data assets for their day to day work."
_CONSUMER_POLICY = "Policy for Data Consumer to perform operations on metadata entities"
_RULE: Data = {
    "name": "DataConsumerPolicy-EditRule",
    "effect": "allow",
    "operations": ["EditDescription", "EditTags", "ViewAll"],
    "resources": ["All"],
}
_CLASSIFICATIONS = {
    "Tier": ["Tier1", "Tier2", "Tier3", "Tier4", "Tier5"],
    "Certification": ["Bronze", "Silver", "Gold"],
    "PII": ["None", "NonSensitive", "Sensitive"],
    "PersonalData": ["Personal", "SpecialCategory"],
}


def add_builtin_entities(store: Store) -> None:
    system = {"provider": "system", "allowDelete": False}
    policy_texts = {"displayName": "Data Consumer Policy", "description": _CONSUMER_POLICY}
    policy = _add(store, POLICY, "DataConsumerPolicy", {**policy_texts, **system, "rules": [_RULE]})
    role_texts = {"displayName": "Data Consumer", "description": _CONSUMER}
    role = _add(store, ROLE, "DataConsumer", {**role_texts, **system, "policies": [policy]})
    attributes = {"description": _ORGANIZATION, "teamType": "Organization", "defaultRoles": [role]}
    organization = _add(store, TEAM, "Organization", attributes)
    for principal in (ADMIN, BOT, READER):
        _add_user(store, principal, organization)
    for classification, tags in _CLASSIFICATIONS.items():
        for tag in tags:
            store.governance.add_tag(classification, tag, exclusive=classification == "Tier")


def _add_user(store: Store, principal: Principal, organization: Entity) -> None:
    """Add a user in the state after server start: the admin is updated once, bots leave all teams."""
    user = _add(store, USER, principal.name, {"email": f"{principal.name}@open-metadata.org", "isBot": principal.bot})
    change = Change()
    if principal == ADMIN:
        user.data |= {"isAdmin": True, "isEmailVerified": True}
        user.data["incrementalChangeDescription"] = change.describe(0.1, None)
    if principal.bot:
        change.delete("teams", [organization.reference()])
        user.history.append({**user.data, "teams": [organization]})
        descriptions = dict.fromkeys(("changeDescription", "incrementalChangeDescription"), change.describe(0.1, {}))
        user.data |= {**descriptions, "version": 0.2}
    else:
        user.data["teams"] = [organization]


def _add(store: Store, kind: Kind, name: str, data: Data) -> Entity:
    entity = Entity(kind, None, name)
    entity.data |= {**kind.defaults, **data, "updatedAt": store.now(), "updatedBy": ADMIN.name}
    store.add(entity)
    return entity
