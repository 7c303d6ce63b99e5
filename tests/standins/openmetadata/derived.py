"""What is shown of what governs entities without being kept there: the other ends of its relations."""

from collections.abc import Callable, Iterable

from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.governance_kinds import TEAM, USER
from tests.standins.openmetadata.state import Store

_ORGANIZATION = "Organization"


def defaults(store: Store, kind: str) -> Data:
    """Give what a new user or team belongs to if a request does not say: all that there is is one organization."""
    place = {"user": "teams", "team": "parents"}.get(kind)
    top = store.by_name["team"].get(_ORGANIZATION)
    return {place: [top]} if place and top else {}


def derived(store: Store, base: str, entity: Entity, fields: set[str]) -> Data:
    """Give the fields of an entity that are looked up when they are asked for."""
    if entity.kind.asset:
        return {}
    out: Data = {}
    for name, find in _FOUND.get(entity.kind.name, {}).items():
        if name in fields:
            out[name] = [other.reference(base) for other in find(store, entity)]
    if entity.kind is USER and "roles" in fields:
        out["inheritedRoles"] = [role.reference(base) for role in _inherited(entity)]
    if entity.kind is TEAM and "users" in fields:
        out |= {"childrenCount": len(list(_with(store, "team", "parents", entity))), "userCount": len(out["users"])}
    if "termCount" in fields:
        out["termCount"] = sum(1 for _ in _inside(store, entity))
    return out


def _inherited(user: Entity) -> list[Entity]:
    """Give the roles that a user has by the teams above."""
    found: dict[str, Entity] = {}
    above = [] if user.data["isBot"] else list(user.data.get("teams") or ())
    while above:
        team = above.pop()
        found |= {role.id: role for role in team.data.get("defaultRoles") or ()}
        above += team.data.get("parents") or ()
    return list(found.values())


def _with(store: Store, kind: str, relation: str, entity: Entity) -> Iterable[Entity]:
    """Give the entities of a kind that refer to an entity."""
    return (one for one in store.by_name[kind].values() if entity in (one.data.get(relation) or ()))


def _inside(store: Store, entity: Entity) -> Iterable[Entity]:
    return (child for child in entity.children.values() if not child.deleted)


def _owned(store: Store, entity: Entity) -> Iterable[Entity]:
    return (one for one in store.assets() if entity in (one.data.get("owners") or ()))


def _of(kind: str, relation: str) -> Callable[[Store, Entity], Iterable[Entity]]:
    return lambda store, entity: _with(store, kind, relation, entity)


_FOUND: dict[str, dict[str, Callable[[Store, Entity], Iterable[Entity]]]] = {
    "team": {"users": _of("user", "teams"), "children": _of("team", "parents"), "owns": _owned},
    "user": {"owns": _owned},
    "role": {"users": _of("user", "roles"), "teams": _of("team", "defaultRoles")},
    "policy": {"roles": _of("role", "policies"), "teams": _of("team", "policies")},
    "tag": {"children": _inside},
    "glossaryTerm": {"children": _inside},
    "domain": {"children": _inside},
}
