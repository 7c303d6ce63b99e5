"""What a request refers to: the parents of an entity, its people, labels and other entities."""

from typing import Any

from tests.standins.openmetadata import columns as column_rules
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.errors import no_entity, not_found, rule_broken, unhandled
from tests.standins.openmetadata.governance_kinds import BY_NAME, TAG
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.state import Store

_NO_CLASSIFICATION = (
    'Cannot invoke "org.openmetadata.schema.type.EntityReference.getFullyQualifiedName()" because the return value of '
    '"org.openmetadata.schema.entity.classification.Tag.getClassification()" is null'
)
#: Lists of other entities: of which kind they are, where requests name those by their names.
_BY_NAME = {"experts": "user", "policies": "policy", "relatedTerms": "glossaryTerm"}
#: The same where requests name them by their ids.
_BY_ID = {"teams": "team", "parents": "team", "roles": "role", "defaultRoles": "role"}


def parent_of(store: Store, kind: Kind, request: Data) -> Entity | None:
    """Find what the entity of a request lies in."""
    found = _holder(store, kind, request)
    if "parent" not in request:
        return found
    inner = request["parent"]
    if isinstance(inner, dict):
        within = store.get(kind, inner["id"])
        if within is None:
            raise no_entity(kind.name, inner["id"])
        return within
    return store.governance.by_name(kind.name, [inner])[0]


def _holder(store: Store, kind: Kind, request: Data) -> Entity | None:
    if kind.parent is None or kind.parent_kind is None:
        return None
    above = BY_NAME[kind.parent_kind]
    if kind is TAG and kind.parent not in request and "parent" not in request:
        raise unhandled(_NO_CLASSIFICATION)
    if kind is TAG and kind.parent not in request:
        return None
    found = store.find(above, request[kind.parent])
    if found is None:
        raise (no_entity if kind.asset else not_found)(above.name, request[kind.parent])
    return found


def relations(store: Store, kind: Kind, request: Data, data: Data) -> list[Data]:
    """Resolve what a request refers to into the data of its entity; gives its labels."""
    known = store.governance
    if request.get("owners"):
        check_owners(request["owners"])
        data["owners"] = known.by_id(request["owners"])
    if request.get("domains"):
        data["domains"] = known.by_name("domain", request["domains"])
        check_domains(kind, data["domains"])
    if request.get("dataProducts"):
        data["dataProducts"] = known.by_name("dataProduct", request["dataProducts"])
        check_products(data["dataProducts"], data.get("domains", []))
    if request.get("extension"):
        data["extension"] = known.extension(kind.name, request["extension"])
    for name in kind.references:
        if name in request:
            data[name] = _listed(store, kind, name, request[name])
    for column in column_rules.every(data.get("columns", [])):
        if column["tags"]:
            column["tags"] = known.labels(column["tags"])
    return known.labels(request["tags"]) if request.get("tags") else []


def _listed(store: Store, kind: Kind, name: str, given: list[Any]) -> list[Entity]:
    known = store.governance
    if name == "policies" and kind.name == "team":
        return known.by_id([{"id": one} for one in given], only="policy")
    if name in _BY_NAME:
        return known.by_name(_BY_NAME[name], given)
    if name in _BY_ID:
        return known.by_id([{"id": one} for one in given], only=_BY_ID[name])
    return known.by_id(given)


def check_owners(owners: list[dict[str, Any]]) -> None:
    """Allow users, or one team."""
    if len(owners) > 1 and any(owner.get("type") == "team" for owner in owners):
        raise rule_broken(
            "Multiple Users or Single Team Ownership",
            "Validates that an entity has either multiple owners or a single team as the owner.",
        )


def check_domains(kind: Kind, domains: list[Any]) -> None:
    if len(domains) > 1 and kind.name not in ("user", "team"):
        raise rule_broken(
            "Multiple Domains are not allowed",
            "By default, we only allow entities to be assigned to a single domain, except for Users and Teams.",
        )


def check_products(products: list[Entity], domains: list[Entity]) -> None:
    """Allow products of the entity's own domain."""
    inside = {domain.id for domain in domains}
    if any(inside.isdisjoint(domain.id for domain in product.data.get("domains", [])) for product in products):
        raise rule_broken(
            "Data Product Domain Validation",
            "Validates that Data Products assigned to an entity match the entity's domains.",
        )
