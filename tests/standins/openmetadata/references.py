"""Resolves the references of a request: parents, owners, labels and other entities."""

from typing import Any

from tests.standins.openmetadata import columns as column_rules
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.errors import no_entity, not_found, rule_violation, unhandled_exception
from tests.standins.openmetadata.governance_kinds import BY_NAME, TAG
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.state import Store

_NO_CLASSIFICATION = (
    'Cannot invoke "org.openmetadata.schema.type.EntityReference.getFullyQualifiedName()" because the return value of '
    '"org.openmetadata.schema.entity.classification.Tag.getClassification()" is null'
)
#: Kinds of references given by name.
_BY_NAME = {"experts": "user", "policies": "policy", "relatedTerms": "glossaryTerm"}
#: Kinds of references given by id.
_BY_ID = {"teams": "team", "parents": "team", "roles": "role", "defaultRoles": "role"}


def find_parent(store: Store, kind: Kind, request: Data) -> Entity | None:
    """Find the parent of the entity of a request."""
    found = _container(store, kind, request)
    if "parent" not in request:
        return found
    parent = request["parent"]
    if isinstance(parent, dict):
        parent_entity = store.get(kind, parent["id"])
        if parent_entity is None:
            raise no_entity(kind.name, parent["id"])
        return parent_entity
    return store.governance.by_name(kind.name, [parent])[0]


def _container(store: Store, kind: Kind, request: Data) -> Entity | None:
    if kind.parent is None or kind.parent_kind is None:
        return None
    container_kind = BY_NAME[kind.parent_kind]
    if kind is TAG and kind.parent not in request and "parent" not in request:
        raise unhandled_exception(_NO_CLASSIFICATION)
    if kind is TAG and kind.parent not in request:
        return None
    found = store.find(container_kind, request[kind.parent])
    if found is None:
        raise (no_entity if kind.asset else not_found)(container_kind.name, request[kind.parent])
    return found


def relations(store: Store, kind: Kind, request: Data, data: Data) -> list[Data]:
    """Resolve the references of a request into entity data; returns the labels."""
    governance = store.governance
    if request.get("owners"):
        check_owners(request["owners"])
        data["owners"] = governance.by_id(request["owners"])
    if request.get("domains"):
        data["domains"] = governance.by_name("domain", request["domains"])
        check_domains(kind, data["domains"])
    if request.get("dataProducts"):
        data["dataProducts"] = governance.by_name("dataProduct", request["dataProducts"])
        check_products(data["dataProducts"], data.get("domains", []))
    if request.get("extension"):
        data["extension"] = governance.extension(kind.name, request["extension"])
    for name in kind.references:
        if name in request:
            data[name] = _resolve_list(store, kind, name, request[name])
    for column in column_rules.walk(data.get("columns", [])):
        if column["tags"]:
            column["tags"] = governance.labels(column["tags"])
    return governance.labels(request["tags"]) if request.get("tags") else []


def _resolve_list(store: Store, kind: Kind, name: str, references: list[Any]) -> list[Entity]:
    governance = store.governance
    if name == "policies" and kind.name == "team":
        return governance.by_id([{"id": id_} for id_ in references], only="policy")
    if name in _BY_NAME:
        return governance.by_name(_BY_NAME[name], references)
    if name in _BY_ID:
        return governance.by_id([{"id": id_} for id_ in references], only=_BY_ID[name])
    return governance.by_id(references)


def check_owners(owners: list[dict[str, Any]]) -> None:
    """Accept several users or one team."""
    if len(owners) > 1 and any(owner.get("type") == "team" for owner in owners):
        raise rule_violation(
            "Multiple Users or Single Team Ownership",
            "Validates that an entity has either multiple owners or a single team as the owner.",
        )


def check_domains(kind: Kind, domains: list[Any]) -> None:
    if len(domains) > 1 and kind.name not in ("user", "team"):
        raise rule_violation(
            "Multiple Domains are not allowed",
            "By default, we only allow entities to be assigned to a single domain, except for Users and Teams.",
        )


def check_products(products: list[Entity], domains: list[Entity]) -> None:
    """Accept only products of the entity's domains."""
    domain_ids = {domain.id for domain in domains}
    if any(domain_ids.isdisjoint(domain.id for domain in product.data.get("domains", [])) for product in products):
        raise rule_violation(
            "Data Product Domain Validation",
            "Validates that Data Products assigned to an entity match the entity's domains.",
        )
