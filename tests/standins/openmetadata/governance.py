"""What entities may refer to: users, teams, domains, products, tags, terms and custom properties."""

from typing import TYPE_CHECKING, Any

from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.errors import ApiError, no_entity, not_found, unhandled
from tests.standins.openmetadata.governance_kinds import BY_NAME, CLASSIFICATION, GLOSSARY, TAG, TERM, TYPE
from tests.standins.openmetadata.names import joined, normal
from tests.standins.openmetadata.properties import checked, property_of

if TYPE_CHECKING:
    from tests.standins.openmetadata.state import Store

_MAKER = "admin"
#: The kind of labels of each source, and of what holds it.
_SOURCES = {"Classification": (TAG, CLASSIFICATION), "Glossary": (TERM, GLOSSARY)}


class Governance:
    """What a store knows of what entities may refer to; tests add what they need without asking the server."""

    def __init__(self, store: "Store") -> None:
        self._store = store

    def add(self, type_: str, name: str, description: str | None = None, domain: str | None = None) -> Entity:
        """Add a user, team, domain or dataProduct; one that is there is given as it is."""
        kind = BY_NAME[type_]
        found = self._store.find(kind, joined("", name))
        if found is not None:
            return found
        data: Data = {"description": description} if description else {}
        if type_ == "user":
            data["email"] = f"{name}@example.com"
        if type_ == "team":
            data["teamType"] = "Group"
        if type_ == "domain":
            data["domainType"] = "Aggregate"
        if domain is not None:
            data["domains"] = self.by_name("domain", [domain])
        return self._made(type_, None, name, data)

    def add_tag(self, classification: str, name: str, description: str = "", **more: Any) -> Entity:
        """Add a tag, and the classification around it; a glossary term is one with `source="Glossary"`."""
        kind, holder = _SOURCES[more.get("source", "Classification")]
        above = self._store.find(holder, joined("", classification))
        if above is None:
            above = self._made(holder.name, None, classification, {})
        if more.get("exclusive"):
            above.data["mutuallyExclusive"] = True
        found = self._store.find(kind, joined(above.fqn, name))
        tag = found or self._made(kind.name, above, name, {})
        tag.data |= {"description": description or tag.data.get("description", "")}
        if more.get("style"):
            tag.data["style"] = more["style"]
        return tag

    def _made(self, type_: str, parent: Entity | None, name: str, data: Data) -> Entity:
        entity = Entity(BY_NAME[type_], parent, name)
        entity.data |= {**entity.kind.defaults, **data, "updatedAt": self._store.now(), "updatedBy": _MAKER}
        self._store.add(entity)
        return entity

    def add_property(self, kind: str, name: str, type_: Any = "string") -> None:
        """Define a custom property of a type of fields, as `string`; a list is an enum of these values."""
        types = self._store.by_name[TYPE.name]
        request: dict[str, Any] = {"name": name, "description": name}
        if isinstance(type_, list):
            request["customPropertyConfig"] = {"config": {"values": type_, "multiSelect": True}}
        found = property_of(request, types["enum" if isinstance(type_, list) else type_])
        data = types[kind].data
        kept = [one for one in data["customProperties"] if one["name"] != name]
        data["customProperties"] = sorted([*kept, found], key=lambda one: str(one["name"]))

    def by_id(self, references: list[dict[str, Any]], only: str | None = None) -> list[Entity]:
        """Resolve references that carry an id; without one the server stumbles."""
        out = []
        for reference in references:
            if "id" not in reference:
                raise unhandled("id is marked non-null but is null")
            type_ = only or reference.get("type", "")
            kind = BY_NAME.get(type_)
            found = self._store.get(kind, reference["id"]) if kind else None
            if found is None or found.deleted:
                raise no_entity(type_, reference["id"])
            out.append(found)
        return out

    def by_name(self, type_: str, names: list[str]) -> list[Entity]:
        out = []
        for name in names:
            found = self._store.find(BY_NAME[type_], name)
            if found is None or found.deleted:
                raise not_found(type_, name)
            out.append(found)
        return out

    def tag(self, fqn: str, source: str = "Classification") -> Entity | None:
        """Find a tag or a glossary term that labels may name."""
        found = self._store.by_name[_SOURCES[source][0].name].get(normal(fqn))
        return None if found is None or found.deleted else found

    def labels(self, raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Complete labels; sorted, each once."""
        out: dict[str, dict[str, Any]] = {}
        for label in raw:
            source = label.get("source", "Classification")
            tag = self.tag(label["tagFQN"], source)
            if tag is None:
                raise no_entity("glossaryTerm" if source == "Glossary" else "tag", label["tagFQN"])
            complete = {"tagFQN": tag.fqn, "name": tag.name, "description": tag.data.get("description", "")}
            complete |= {"source": source, "labelType": label.get("labelType", "Manual")}
            complete |= {"state": label.get("state", "Confirmed")}
            complete |= {key: label[key] for key in ("appliedAt", "appliedBy") if key in label}
            out.setdefault(tag.fqn, complete)
        self._check_exclusive(out)
        return [out[fqn] for fqn in sorted(out)]

    def _check_exclusive(self, labels: dict[str, Data]) -> None:
        """Refuse two labels that lie in one that allows a single one of those in it."""
        taken: dict[str, str] = {}
        for name in sorted(labels):
            tag = self.tag(name, labels[name]["source"])
            if tag is None or tag.parent is None or not tag.parent.data.get("mutuallyExclusive"):
                continue
            other = taken.setdefault(tag.parent.id, name)
            if other != name:
                raise ApiError(
                    400, f"Tag labels {name} and {other} are mutually exclusive and can't be assigned together"
                )

    def extension(self, kind: str, values: dict[str, Any]) -> dict[str, Any]:
        """Check custom properties, and give them in the order of their names."""
        return checked(self._store.by_name[TYPE.name][kind].data["customProperties"], values)
