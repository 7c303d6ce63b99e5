"""Governance entities: users, teams, domains, products, tags, terms and custom properties."""

from typing import TYPE_CHECKING, Any

from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.errors import ApiError, no_entity, not_found, unhandled_exception
from tests.standins.openmetadata.governance_kinds import BY_NAME, CLASSIFICATION, GLOSSARY, TAG, TERM, TYPE
from tests.standins.openmetadata.names import join_fqn, normalize_fqn
from tests.standins.openmetadata.properties import build_property, check_values

if TYPE_CHECKING:
    from tests.standins.openmetadata.state import Store

_CREATOR = "admin"
#: Label source -> kind of the label and of its container.
_SOURCES = {"Classification": (TAG, CLASSIFICATION), "Glossary": (TERM, GLOSSARY)}


class Governance:
    """Governance entities of a store; tests can add them without requests."""

    def __init__(self, store: "Store") -> None:
        self._store = store

    def add(self, type_: str, name: str, description: str | None = None, domain: str | None = None) -> Entity:
        """Add a user, team, domain or dataProduct, or return the existing one."""
        kind = BY_NAME[type_]
        found = self._store.find(kind, join_fqn("", name))
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
        return self._create(type_, None, name, data)

    def add_tag(self, classification: str, name: str, description: str = "", **options: Any) -> Entity:
        """Add a tag and its classification; with `source="Glossary"`, a term and its glossary."""
        kind, container_kind = _SOURCES[options.get("source", "Classification")]
        container = self._store.find(container_kind, join_fqn("", classification))
        if container is None:
            container = self._create(container_kind.name, None, classification, {})
        if options.get("exclusive"):
            container.data["mutuallyExclusive"] = True
        found = self._store.find(kind, join_fqn(container.fqn, name))
        tag = found or self._create(kind.name, container, name, {})
        tag.data |= {"description": description or tag.data.get("description", "")}
        if options.get("style"):
            tag.data["style"] = options["style"]
        return tag

    def _create(self, type_: str, parent: Entity | None, name: str, data: Data) -> Entity:
        entity = Entity(BY_NAME[type_], parent, name)
        entity.data |= {**entity.kind.defaults, **data, "updatedAt": self._store.now(), "updatedBy": _CREATOR}
        self._store.add(entity)
        return entity

    def add_property(self, kind: str, name: str, type_: Any = "string") -> None:
        """Define a custom property of a field type such as `string`; a list defines an enum of these values."""
        types = self._store.by_name[TYPE.name]
        request: dict[str, Any] = {"name": name, "description": name}
        if isinstance(type_, list):
            request["customPropertyConfig"] = {"config": {"values": type_, "multiSelect": True}}
        definition = build_property(request, types["enum" if isinstance(type_, list) else type_])
        data = types[kind].data
        others = [existing for existing in data["customProperties"] if existing["name"] != name]
        data["customProperties"] = sorted([*others, definition], key=lambda item: str(item["name"]))

    def by_id(self, references: list[dict[str, Any]], only: str | None = None) -> list[Entity]:
        """Resolve references by id; a missing id is an unhandled exception on the server."""
        entities = []
        for reference in references:
            if "id" not in reference:
                raise unhandled_exception("id is marked non-null but is null")
            type_ = only or reference.get("type", "")
            kind = BY_NAME.get(type_)
            found = self._store.get(kind, reference["id"]) if kind else None
            if found is None or found.deleted:
                raise no_entity(type_, reference["id"])
            entities.append(found)
        return entities

    def by_name(self, type_: str, names: list[str]) -> list[Entity]:
        entities = []
        for name in names:
            found = self._store.find(BY_NAME[type_], name)
            if found is None or found.deleted:
                raise not_found(type_, name)
            entities.append(found)
        return entities

    def tag(self, fqn: str, source: str = "Classification") -> Entity | None:
        """Find a tag or glossary term by FQN."""
        found = self._store.by_name[_SOURCES[source][0].name].get(normalize_fqn(fqn))
        return None if found is None or found.deleted else found

    def labels(self, raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Complete labels, sorted and without duplicates."""
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
        """Reject two labels of a mutually exclusive parent."""
        label_by_parent: dict[str, str] = {}
        for name in sorted(labels):
            tag = self.tag(name, labels[name]["source"])
            if tag is None or tag.parent is None or not tag.parent.data.get("mutuallyExclusive"):
                continue
            other = label_by_parent.setdefault(tag.parent.id, name)
            if other != name:
                raise ApiError(
                    400, f"Tag labels {name} and {other} are mutually exclusive and can't be assigned together"
                )

    def extension(self, kind: str, values: dict[str, Any]) -> dict[str, Any]:
        """Validate values of custom properties, and sort them by name."""
        return check_values(self._store.by_name[TYPE.name][kind].data["customProperties"], values)
