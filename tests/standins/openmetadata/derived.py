"""Fields of governance entities that are computed from references of other entities."""

from collections.abc import Callable, Iterable

from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.governance_kinds import TEAM, USER
from tests.standins.openmetadata.state import Store

_ORGANIZATION = "Organization"


def defaults(store: Store, kind: str) -> Data:
    """Default team of new users and default parent of new teams: the only organization."""
    relation = {"user": "teams", "team": "parents"}.get(kind)
    organization = store.by_name["team"].get(_ORGANIZATION)
    return {relation: [organization]} if relation and organization else {}


def derived_fields(store: Store, base: str, entity: Entity, fields: set[str]) -> Data:
    """Requested fields that are computed on read."""
    if entity.kind.asset:
        return {}
    out: Data = {}
    for name, find in _FINDERS.get(entity.kind.name, {}).items():
        if name in fields:
            out[name] = [related.reference(base) for related in find(store, entity)]
    if entity.kind is USER and "roles" in fields:
        out["inheritedRoles"] = [role.reference(base) for role in _inherited_roles(entity)]
    if entity.kind is TEAM and "users" in fields:
        out |= {
            "childrenCount": len(list(_referring_entities(store, "team", "parents", entity))),
            "userCount": len(out["users"]),
        }
    if "termCount" in fields:
        out["termCount"] = sum(1 for _ in _live_children(store, entity))
    return out


def _inherited_roles(user: Entity) -> list[Entity]:
    """Roles that a user inherits from teams."""
    roles: dict[str, Entity] = {}
    teams = [] if user.data["isBot"] else list(user.data.get("teams") or ())
    while teams:
        team = teams.pop()
        roles |= {role.id: role for role in team.data.get("defaultRoles") or ()}
        teams += team.data.get("parents") or ()
    return list(roles.values())


def _referring_entities(store: Store, kind: str, relation: str, entity: Entity) -> Iterable[Entity]:
    """Entities of a kind that refer to an entity."""
    return (candidate for candidate in store.by_name[kind].values() if entity in (candidate.data.get(relation) or ()))


def _live_children(store: Store, entity: Entity) -> Iterable[Entity]:
    return (child for child in entity.children.values() if not child.deleted)


def _owned_assets(store: Store, entity: Entity) -> Iterable[Entity]:
    return (asset for asset in store.assets() if entity in (asset.data.get("owners") or ()))


def _finder(kind: str, relation: str) -> Callable[[Store, Entity], Iterable[Entity]]:
    return lambda store, entity: _referring_entities(store, kind, relation, entity)


_FINDERS: dict[str, dict[str, Callable[[Store, Entity], Iterable[Entity]]]] = {
    "team": {"users": _finder("user", "teams"), "children": _finder("team", "parents"), "owns": _owned_assets},
    "user": {"owns": _owned_assets},
    "role": {"users": _finder("user", "roles"), "teams": _finder("team", "defaultRoles")},
    "policy": {"roles": _finder("role", "policies"), "teams": _finder("team", "policies")},
    "tag": {"children": _live_children},
    "glossaryTerm": {"children": _live_children},
    "domain": {"children": _live_children},
}
