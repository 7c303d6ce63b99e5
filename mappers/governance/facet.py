"""Reads, validates and builds governance and contract facets.

Anyone who may send events can send these facets, so they are validated. A member of the wrong type is dropped without
affecting the others. An access tag contains only letters, digits and underscores, because it becomes part of a policy
condition.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from mappers.canonical.identity import digest
from mappers.governance.merge import FieldPath, FieldValue, FieldValues

_Strings = list[str]
_Scalar = str | int | float | bool


class _Policy(TypedDict):
    role: Annotated[str, msgspec.Meta(min_length=1)]
    permissions: list[Literal["read", "write", "delete"]]


class _Column(TypedDict):
    name: str
    classifications: NotRequired[_Strings]
    sensitive: NotRequired[bool]
    required: NotRequired[bool]
    description: NotRequired[str]


class _PromisedColumn(TypedDict):
    name: str
    type: NotRequired[str]
    required: NotRequired[bool]


_GOVERNANCE: dict[str, Any] = {
    **dict.fromkeys(("asset", "version", "displayName", "description", "category"), str),
    **dict.fromkeys(("domain", "tier", "certification"), str),
    **dict.fromkeys(("owners", "tags", "classifications", "glossaryTerms", "dataProducts"), _Strings),
    "retentionDays": Annotated[int, msgspec.Meta(ge=1)],
    "syncEnabled": bool,
    "accessPolicies": list[_Policy],
    "accessTag": Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9_]{1,120}$")],
    "customProperties": dict[str, _Scalar],
    "columns": list[_Column],
    "file": dict[str, Any],
}
_CONTRACT: dict[str, Any] = {"version": str, "columns": list[_PromisedColumn]}


def validate_governance(facet: Mapping[str, Any]) -> dict[str, Any]:
    """Return the valid members of a governance facet; access policies require an access tag."""
    valid_members = _valid_members(facet, _GOVERNANCE)
    if "accessTag" not in valid_members:
        valid_members.pop("accessPolicies", None)
    if "file" in valid_members:
        valid_members["file"] = validate_governance(
            {key: value for key, value in valid_members["file"].items() if key != "file"}
        )
    return valid_members


def validate_contract(facet: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the valid members of a contract facet, or None if the contract promises no columns."""
    contract = _valid_members(facet, _CONTRACT)
    return contract if "columns" in contract else None


def _valid_members(facet: Mapping[str, Any], types: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known members with valid values; all other members are dropped."""
    valid_members = {}
    for key, value in facet.items():
        if key in types:
            try:
                valid_members[key] = msgspec.convert(value, types[key])
            except msgspec.ValidationError:
                continue
    return valid_members


#: Lists whose order has no meaning.
SETS = frozenset({"owners", "tags", "classifications", "glossaryTerms", "dataProducts"})
_NOT_WORD = re.compile(r"[^A-Za-z0-9_]+")
COLUMNS, CUSTOM = "columns", "customProperties"
#: Member with the content of the asset file; present only if fields have changed in OpenMetadata since.
FILE = "file"
#: Members that describe the asset file and are not governance fields.
_NOT_FIELDS = frozenset({FILE, "asset", "version", "accessTag"})


def facet_fields(facet: Mapping[str, Any]) -> dict[FieldPath, FieldValue]:
    """Return the governance fields of a facet."""
    fields: dict[FieldPath, FieldValue] = {}
    for key, value in facet.items():
        if key in _NOT_FIELDS:
            continue
        if key == COLUMNS:
            for column in value:
                name = column["name"]
                fields |= {
                    (COLUMNS, name, member): _to_field_value(member, content)
                    for member, content in column.items()
                    if member != "name"
                }
        elif key == CUSTOM:
            fields |= {(CUSTOM, name): content for name, content in value.items()}
        else:
            fields[(key,)] = _to_field_value(key, value)
    return fields


def build_facet(fields: FieldValues, template: Mapping[str, Any]) -> dict[str, Any]:
    """Build a facet from fields; other members and the order of list elements come from the template."""
    facet: dict[str, Any] = {key: template[key] for key in ("asset", "version", "accessTag") if key in template}
    columns: dict[str, dict[str, Any]] = {}
    template_columns = {column["name"]: column for column in template.get(COLUMNS, ())}
    for path, value in sorted(fields.items()):
        if value is None:
            continue
        key, *subpath = path
        if key == COLUMNS:
            column_name, member = subpath
            template_value = template_columns.get(column_name, {}).get(member)
            column = columns.setdefault(column_name, {"name": column_name})
            column[member] = _to_member_value(member, value, template_value)
        elif key == CUSTOM:
            (property_name,) = subpath
            facet.setdefault(CUSTOM, {})[property_name] = value
        else:
            facet[key] = _to_member_value(key, value, template.get(key))
    if columns:
        facet[COLUMNS] = [columns[name] for name in sorted(columns)]
    return facet


def asset_content(facet: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the asset file that a facet was built from."""
    content = facet.get(FILE)
    if isinstance(content, dict):
        return dict(content)
    return {key: value for key, value in facet.items() if key != FILE}


def access_tag(namespace: str, name: str) -> str:
    """Return the name of the tag that selects an asset in policies; the name is valid in policy conditions."""
    suffix = digest(f"{namespace}\0{name}".encode()).hex()[:8]
    return f"{_NOT_WORD.sub('_', name)[:100]}_{suffix}"


def _to_field_value(key: str, content: Any) -> FieldValue:
    if key in SETS:
        return frozenset(content)
    if isinstance(content, list | dict):
        return msgspec.json.encode(content, order="sorted").decode()
    value: FieldValue = content
    return value


def _to_member_value(key: str, value: FieldValue, template: Any) -> Any:
    if isinstance(value, frozenset):
        in_template_order = [element for element in template or () if element in value]
        return in_template_order + sorted(value.difference(in_template_order))
    if key == "accessPolicies" and isinstance(value, str):
        return msgspec.json.decode(value)
    return value
