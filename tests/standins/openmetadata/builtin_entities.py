"""What governs a server from its first day on: people, teams, roles, policies and classifications."""

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


def furnish(store: Store) -> None:
    """Give a store what every server has."""
    system = {"provider": "system", "allowDelete": False}
    shown = {"displayName": "Data Consumer Policy", "description": _CONSUMER_POLICY}
    policy = _add(store, POLICY, "DataConsumerPolicy", {**shown, **system, "rules": [_RULE]})
    named = {"displayName": "Data Consumer", "description": _CONSUMER}
    role = _add(store, ROLE, "DataConsumer", {**named, **system, "policies": [policy]})
    told = {"description": _ORGANIZATION, "teamType": "Organization", "defaultRoles": [role]}
    organization = _add(store, TEAM, "Organization", told)
    for who in (ADMIN, BOT, READER):
        _user(store, who, organization)
    for classification, tags in _CLASSIFICATIONS.items():
        for tag in tags:
            store.governance.add_tag(classification, tag, exclusive=classification == "Tier")


def _user(store: Store, who: Principal, organization: Entity) -> None:
    """Add a user as the server leaves it when it starts: the admin is written once more, bots leave all teams."""
    user = _add(store, USER, who.name, {"email": f"{who.name}@open-metadata.org", "isBot": who.bot})
    change = Change()
    if who == ADMIN:
        user.data |= {"isAdmin": True, "isEmailVerified": True}
        user.data["incrementalChangeDescription"] = change.described(0.1, None)
    if who.bot:
        change.delete("teams", [organization.reference()])
        user.history.append({**user.data, "teams": [organization]})
        both = dict.fromkeys(("changeDescription", "incrementalChangeDescription"), change.described(0.1, {}))
        user.data |= {**both, "version": 0.2}
    else:
        user.data["teams"] = [organization]


def _add(store: Store, kind: Kind, name: str, data: Data) -> Entity:
    entity = Entity(kind, None, name)
    entity.data |= {**kind.defaults, **data, "updatedAt": store.now(), "updatedBy": ADMIN.name}
    store.add(entity)
    return entity
