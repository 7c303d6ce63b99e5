"""Builds the JSON Patch that changes governance fields and nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.governance.merge import FieldPath, FieldValue, FieldValues, as_set
from mappers.openmetadata.descriptions import escape_description
from mappers.openmetadata.governance import (
    CERTIFICATION,
    COLUMNS,
    CUSTOM,
    DESCRIPTION,
    DISPLAY_NAME,
    DOMAIN,
    OWNERS,
    PRODUCTS,
    RETENTION,
    TAGS,
    TERMS,
    TIER,
    TIER_LABELS,
    is_derived,
    is_term,
    located_columns,
    own_references,
    to_remote_value,
)


class ReferenceIds(NamedTuple):
    """Ids of owners (each with its type), domains and data products, by their names in fields."""

    owners: Mapping[str, tuple[str, str]]
    domains: Mapping[str, str]
    products: Mapping[str, str]


NO_REFERENCES = ReferenceIds({}, {}, {})


def build_patch(entity: JsonObject, changes: FieldValues, references: ReferenceIds) -> list[JsonObject]:
    """Build the operations that change fields of an entity; a value of None removes a field."""
    operations: list[JsonObject] = []
    entity_labels = {path: value for path, value in changes.items() if path in (TAGS, TERMS, TIER)}
    custom_properties: dict[str, FieldValue] = {}
    column_tags: dict[str, FieldValue] = {}
    column_descriptions: dict[str, FieldValue] = {}
    for path, value in changes.items():
        if path[0] == CUSTOM:
            _, property_name = path
            custom_properties[property_name] = value
        elif path[0] == COLUMNS and path[-1] == "tags":
            _, column_name, _ = path
            column_tags[column_name] = value
        elif path[0] == COLUMNS and path[-1] == "description":
            _, column_name, _ = path
            column_descriptions[column_name] = value
    # The domain comes before the data products, which must belong to the domain of their assets.
    for path in (DESCRIPTION, DISPLAY_NAME, RETENTION, OWNERS, DOMAIN, PRODUCTS, CERTIFICATION):
        if path in changes:
            (field_name,) = path
            patch_value = _patch_value(entity, path, changes[path], references)
            operations += _member_operations(entity, field_name, patch_value)
    if entity_labels:
        operations += _label_operations(entity, None, entity_labels)
    for column_name, tags in sorted(column_tags.items()):
        operations += _label_operations(entity, column_name, {TAGS: tags})
    for column_name, description in column_descriptions.items():
        operations += _description_operations(entity, column_name, description)
    return operations + _custom_property_operations(entity, custom_properties)


_MEMBER_NAMES = {"domain": "domains"}


def _member_operations(entity: JsonObject, field_name: str, value: Any) -> list[JsonObject]:
    key = _MEMBER_NAMES.get(field_name, field_name)
    if value is not None:
        return [{"op": "add", "path": f"/{key}", "value": value}]
    return [{"op": "remove", "path": f"/{key}"}] if entity.get(key) else []


def _patch_value(entity: JsonObject, path: FieldPath, value: FieldValue, references: ReferenceIds) -> Any:
    """Return the value that a patch sets; owners keep their existing order."""
    if path == DOMAIN:  # only the first domain is ours; further domains, which some servers allow, are kept
        other_domains = [_reference(str(domain["id"]), "domain") for domain in own_references(entity, "domains")[1:]]
        our_domain = [] if value is None else [_reference(references.domains[str(value)], "domain")]
        return our_domain + [domain for domain in other_domains if domain not in our_domain]
    if value is None:
        return [] if path == PRODUCTS else None
    if path == OWNERS:
        return [
            _reference(*references.owners[owner])
            for owner in _in_existing_order(value, _reference_names(entity, "owners"))
        ]
    if path == PRODUCTS:
        return [_reference(references.products[product], "dataProduct") for product in sorted(as_set(value))]
    if path == CERTIFICATION:
        return {"tagLabel": _new_label(str(value), term=False), "appliedDate": 0, "expiryDate": 0}
    return to_remote_value(path, value)


def _in_existing_order(value: FieldValue, existing: Sequence[str]) -> list[str]:
    desired = as_set(value)
    unchanged = [name for name in existing if name in desired]
    return unchanged + sorted(desired - {*unchanged})


def _reference_names(entity: JsonObject, key: str) -> list[str]:
    return [f"{reference['type']}:{reference['name']}" for reference in entity.get(key) or ()]


def _label_operations(entity: JsonObject, column_name: str | None, fields: FieldValues) -> list[JsonObject]:
    """Replace the labels of an entity or column that belong to the given fields, and keep all other labels."""
    located = _locate_column(entity, column_name)
    if located is None:
        return []
    pointer, owner = located
    existing = {_label_key(label): label for label in owner.get("tags") or ()}
    labels = {key: label for key, label in existing.items() if not _belongs_to_fields(label, fields)}
    for path, value in fields.items():
        is_term_field = path == TERMS
        for tag in sorted(as_set(value)):
            key = (tag, is_term_field)
            if key not in labels:
                labels[key] = existing.get(key) or _new_label(tag, term=is_term_field)
    return [{"op": "add", "path": f"{pointer}/tags", "value": list(labels.values())}]


def _label_key(label: JsonObject) -> tuple[str, bool]:
    """Return the fully qualified name of a label, and whether the label is a glossary term."""
    return str(label["tagFQN"]), is_term(label)


def _belongs_to_fields(label: JsonObject, fields: FieldValues) -> bool:
    if is_derived(label):
        return False
    if is_term(label):
        return TERMS in fields
    if str(label["tagFQN"]).startswith(TIER_LABELS):
        return TIER in fields
    return TAGS in fields


def _description_operations(entity: JsonObject, column_name: str, value: FieldValue) -> list[JsonObject]:
    located = _locate_column(entity, column_name)
    if located is None:
        return []
    pointer, column = located
    if value is None:
        return [{"op": "remove", "path": f"{pointer}/description"}] if column.get("description") else []
    return [{"op": "add", "path": f"{pointer}/description", "value": escape_description(str(value))}]


def _locate_column(entity: JsonObject, column_name: str | None) -> tuple[str, JsonObject] | None:
    """Return JSON pointer and body of a column, or of the entity itself if `column_name` is None."""
    if column_name is None:
        return "", entity
    for pointer, path, column in located_columns(entity):
        if ".".join(path) == column_name:
            return pointer, column
    return None


def _custom_property_operations(entity: JsonObject, custom_properties: Mapping[str, FieldValue]) -> list[JsonObject]:
    """Set or remove custom properties, and keep the other custom properties of the entity."""
    existing = entity.get("extension")
    values = {
        name: sorted(value) if isinstance(value, frozenset) else value for name, value in custom_properties.items()
    }
    assigned = {name: value for name, value in values.items() if value is not None}
    if not existing:
        return [{"op": "add", "path": "/extension", "value": assigned}] if assigned else []
    operations: list[JsonObject] = [
        {"op": "add", "path": f"/extension/{_escape_pointer(name)}", "value": value}
        for name, value in assigned.items()
    ]
    removed = [name for name, value in values.items() if value is None and name in existing]
    return operations + [{"op": "remove", "path": f"/extension/{_escape_pointer(name)}"} for name in removed]


def _escape_pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _new_label(tag: str, *, term: bool) -> JsonObject:
    source, label_type = ("Glossary", "Manual") if term else ("Classification", "Automated")
    return {"tagFQN": tag, "source": source, "labelType": label_type, "state": "Confirmed"}


def _reference(entity_id: str, kind: str) -> JsonObject:
    return {"id": entity_id, "type": kind}
