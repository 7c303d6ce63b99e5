"""What entities may refer to: users, teams, domains, products, tags, terms and custom properties."""

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.standins.openmetadata.errors import Refused, no_entity, not_found, rule_broken, unhandled
from tests.standins.openmetadata.governed_kinds import TYPE
from tests.standins.openmetadata.names import joined, normal
from tests.standins.openmetadata.properties import checked, property_of

if TYPE_CHECKING:
    from tests.standins.openmetadata.state import Store

_PATHS = {"user": "users", "team": "teams", "domain": "domains", "dataProduct": "dataProducts"}


@dataclass(frozen=True)
class Thing:
    """Something with an id that entities refer to."""

    type: str
    name: str
    description: str | None = None
    #: The domain of a data product.
    domain: str | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def reference(self, href: str | None = None) -> dict[str, Any]:
        out: dict[str, Any] = {
            "id": self.id,
            "type": self.type,
            "name": self.name,
            "fullyQualifiedName": joined("", self.name),
        }
        if self.description:
            out["description"] = self.description
        out |= {"displayName": self.name, "deleted": False}
        if href is not None:
            out["href"] = f"{href}/api/v1/{_PATHS[self.type]}/{self.id}"
        return out


@dataclass(frozen=True)
class Tag:
    """A tag of a classification, or a term of a glossary."""

    fqn: str
    name: str
    description: str
    source: str = "Classification"
    exclusive: bool = False
    style: dict[str, Any] | None = None


class Governance:
    """The references that exist; tests add what they need."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self.things: dict[tuple[str, str], Thing] = {}
        self.tags: dict[tuple[str, str], Tag] = {}

    def add(self, type_: str, name: str, description: str | None = None, domain: str | None = None) -> Thing:
        """Add a user, team, domain or dataProduct."""
        thing = Thing(type_, name, description, domain)
        self.things[type_, thing.id] = thing
        return thing

    def add_tag(self, classification: str, name: str, description: str = "", **more: Any) -> Tag:
        """Add a tag; a glossary term is one with `source="Glossary"`."""
        tag = Tag(joined(classification, name), name, description, **more)
        self.tags[tag.source, tag.fqn] = tag
        return tag

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

    def by_id(self, references: list[dict[str, Any]], only: str | None = None) -> list[Thing]:
        """Resolve references that carry an id; without one the server stumbles."""
        out = []
        for reference in references:
            if "id" not in reference:
                raise unhandled("id is marked non-null but is null")
            type_ = only or reference.get("type", "")
            thing = self.things.get((type_, reference["id"]))
            if thing is None:
                raise no_entity(type_, reference["id"])
            out.append(thing)
        return out

    def by_name(self, type_: str, names: list[str]) -> list[Thing]:
        out = []
        for name in names:
            found = [
                t for (kind, _), t in self.things.items() if kind == type_ and joined("", t.name) == normal(name)
            ]
            if not found:
                raise not_found(type_, name)
            out.append(found[0])
        return out

    def labels(self, raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Complete labels; sorted, each once."""
        out: dict[str, dict[str, Any]] = {}
        for label in raw:
            source = label.get("source", "Classification")
            tag = self.tags.get((source, normal(label["tagFQN"])))
            if tag is None:
                raise no_entity("glossaryTerm" if source == "Glossary" else "tag", label["tagFQN"])
            complete = {"tagFQN": tag.fqn, "name": tag.name, "description": tag.description, "source": source}
            complete |= {"labelType": label.get("labelType", "Manual"), "state": label.get("state", "Confirmed")}
            complete |= {key: label[key] for key in ("appliedAt", "appliedBy") if key in label}
            out.setdefault(tag.fqn, complete)
        self._check_exclusive(sorted(out))
        return [out[fqn] for fqn in sorted(out)]

    def _check_exclusive(self, names: list[str]) -> None:
        taken: dict[str, str] = {}
        for name in names:
            tag = self.tags.get(("Classification", name))
            if tag is None or not tag.exclusive:
                continue
            other = taken.setdefault(name.removesuffix(joined("", tag.name)), name)
            if other != name:
                raise Refused(
                    400, f"Tag labels {name} and {other} are mutually exclusive and can't be assigned together"
                )

    def extension(self, kind: str, values: dict[str, Any]) -> dict[str, Any]:
        """Check custom properties, and give them in the order of their names."""
        return checked(self._store.by_name[TYPE.name][kind].data["customProperties"], values)


def check_owners(owners: list[dict[str, Any]]) -> None:
    """Allow users, or one team."""
    if len(owners) > 1 and any(owner.get("type") == "team" for owner in owners):
        raise rule_broken(
            "Multiple Users or Single Team Ownership",
            "Validates that an entity has either multiple owners or a single team as the owner.",
        )


def check_domains(domains: list[Any]) -> None:
    if len(domains) > 1:
        raise rule_broken(
            "Multiple Domains are not allowed",
            "By default, we only allow entities to be assigned to a single domain, except for Users and Teams.",
        )


def check_products(products: list[Thing], domains: list[Thing]) -> None:
    """Allow products of the entity's own domain."""
    inside = {domain.name for domain in domains}
    if any(product.domain not in inside for product in products):
        raise rule_broken(
            "Data Product Domain Validation",
            "Validates that Data Products assigned to an entity match the entity's domains.",
        )
