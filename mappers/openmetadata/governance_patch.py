"""Builds the JSON Patch for governance fields; everything else stays."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.governance.merge import FieldPath, FieldValue, FieldValues
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
    """The ids of what an entity refers to: of owners, domains and data products, as they are named in fields."""

    owners: Mapping[str, tuple[str, str]]
    domains: Mapping[str, str]
    products: Mapping[str, str]


NO_REFERENCES = ReferenceIds({}, {}, {})


def build_patch(entity: JsonObject, changes: FieldValues, of: ReferenceIds) -> list[JsonObject]:
    """Say what changes fields of an entity; what is None goes."""
    operations: list[JsonObject] = []
    labels: dict[str | None, dict[FieldPath, FieldValue]] = {}
    custom: dict[str, FieldValue] = {}
    for path, value in changes.items():
        if path[0] == CUSTOM:
            custom[path[1]] = value
        elif path in (TAGS, TERMS, TIER):
            labels.setdefault(None, {})[path] = value
        elif path[0] == COLUMNS and path[2] == "tags":
            labels.setdefault(path[1], {})[TAGS] = value
    # a data product must lie in the domain of what it holds: that goes first
    for path in (DESCRIPTION, DISPLAY_NAME, RETENTION, OWNERS, DOMAIN, PRODUCTS, CERTIFICATION):
        if path in changes:
            operations += _set(entity, path[0], _patch_value(entity, path, changes[path], of))
    for where, said in sorted(labels.items(), key=lambda one: one[0] or ""):
        operations += _relabelled(entity, where, said)
    for path, value in changes.items():
        if path[0] == COLUMNS and path[2] == "description":
            operations += _described(entity, path[1], value)
    return operations + _extended(entity, custom)


_KEYS = {"domain": "domains"}


def _set(entity: JsonObject, name: str, value: Any) -> list[JsonObject]:
    key = _KEYS.get(name, name)
    if value is not None:
        return [{"op": "add", "path": f"/{key}", "value": value}]
    return [{"op": "remove", "path": f"/{key}"}] if entity.get(key) else []


def _patch_value(entity: JsonObject, path: FieldPath, value: FieldValue, of: ReferenceIds) -> Any:
    """Say a value as a patch does; of a set that others wrote into as well, all that is there stays in its order."""
    if path == DOMAIN:  # a server may be told to take several: of those the first is ours, and the others stay
        others = [_reference(str(one["id"]), "domain") for one in own_references(entity, "domains")[1:]]
        ours = [] if value is None else [_reference(of.domains[str(value)], "domain")]
        return ours + [one for one in others if one not in ours]
    if value is None:
        return [] if path == PRODUCTS else None
    if path == OWNERS:
        return [_reference(*of.owners[one]) for one in _ordered(value, _names(entity, "owners"))]
    if path == PRODUCTS:
        return [_reference(of.products[one], "dataProduct") for one in sorted(_elements(value))]
    if path == CERTIFICATION:
        return {"tagLabel": _label(str(value), term=False), "appliedDate": 0, "expiryDate": 0}
    return to_remote_value(path, value)


def _ordered(value: FieldValue, there: Sequence[str]) -> list[str]:
    wanted_ones = _elements(value)
    kept = [one for one in there if one in wanted_ones]
    return kept + sorted(wanted_ones - {*kept})


def _names(entity: JsonObject, key: str) -> list[str]:
    return [f"{one['type']}:{one['name']}" for one in entity.get(key) or ()]


def _relabelled(entity: JsonObject, where: str | None, said: FieldValues) -> list[JsonObject]:
    """Replace the labels of an entity or column by those that it shall have: what stays is as it was."""
    at = _pointer(entity, where)
    if at is None:
        return []
    pointer, owner = at
    there = {_key(label): label for label in owner.get("tags") or ()}
    wanted_ones = [key for key, label in there.items() if not _of(label, said)]
    for path, value in said.items():
        wanted_ones += [(tag, path == TERMS) for tag in sorted(_elements(value))]
    labels = [there.get(key) or _label(*key) for key in dict.fromkeys(wanted_ones)]
    return [{"op": "add", "path": f"{pointer}/tags", "value": labels}]


def _key(label: JsonObject) -> tuple[str, bool]:
    return str(label["tagFQN"]), is_term(label)


def _of(label: JsonObject, said: FieldValues) -> bool:
    """Tell whether a label is of one of these fields."""
    if is_derived(label):
        return False
    if is_term(label):
        return TERMS in said
    return (TIER if str(label["tagFQN"]).startswith(TIER_LABELS) else TAGS) in said


def _described(entity: JsonObject, where: str, value: FieldValue) -> list[JsonObject]:
    at = _pointer(entity, where)
    if at is None:
        return []
    pointer, column = at
    if value is None:
        return [{"op": "remove", "path": f"{pointer}/description"}] if column.get("description") else []
    return [{"op": "add", "path": f"{pointer}/description", "value": escape_description(str(value))}]


def _pointer(entity: JsonObject, where: str | None) -> tuple[str, JsonObject] | None:
    """Find where a column lies in an entity; the entity itself lies nowhere in it."""
    if where is None:
        return "", entity
    return next(((at, column) for at, path, column in located_columns(entity) if ".".join(path) == where), None)


def _extended(entity: JsonObject, custom: Mapping[str, FieldValue]) -> list[JsonObject]:
    """Set custom properties; those of others stay."""
    there = entity.get("extension")
    said = {name: sorted(value) if isinstance(value, frozenset) else value for name, value in custom.items()}
    new = {name: value for name, value in said.items() if value is not None}
    if not there:
        return [{"op": "add", "path": "/extension", "value": new}] if new else []
    added: list[JsonObject] = [
        {"op": "add", "path": f"/extension/{_escaped(name)}", "value": value} for name, value in new.items()
    ]
    gone = [name for name, value in said.items() if value is None and name in there]
    return added + [{"op": "remove", "path": f"/extension/{_escaped(name)}"} for name in gone]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _label(tag: str, term: bool) -> JsonObject:
    source, kind = ("Glossary", "Manual") if term else ("Classification", "Automated")
    return {"tagFQN": tag, "source": source, "labelType": kind, "state": "Confirmed"}


def _reference(id_: str, kind: str) -> JsonObject:
    return {"id": id_, "type": kind}


def _elements(value: FieldValue) -> frozenset[str]:
    return value if isinstance(value, frozenset) else frozenset() if value is None else frozenset([str(value)])
