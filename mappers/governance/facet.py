"""Reads, validates and builds governance and contract facets.

The facets come with events, so anyone who may send events can write them. Members of another type are
dropped and block nothing else; a tag in the condition of a policy contains only letters, digits and
underscores.
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
    """Valid members of a governance facet; access policies require an access tag."""
    valid = _valid_members(facet, _GOVERNANCE)
    if "accessTag" not in valid:
        valid.pop("accessPolicies", None)
    if "file" in valid:
        valid["file"] = validate_governance({key: value for key, value in valid["file"].items() if key != "file"})
    return valid


def validate_contract(facet: Mapping[str, Any]) -> dict[str, Any] | None:
    """Valid members of a contract facet; None if it promises no columns."""
    contract = _valid_members(facet, _CONTRACT)
    return contract if "columns" in contract else None


def _valid_members(facet: Mapping[str, Any], types: Mapping[str, Any]) -> dict[str, Any]:
    valid = {}
    for key, value in facet.items():
        if key in types:
            try:
                valid[key] = msgspec.convert(value, types[key])
            except msgspec.ValidationError:
                continue
    return valid


#: Lists whose order has no meaning.
SETS = frozenset({"owners", "tags", "classifications", "glossaryTerms", "dataProducts"})
_NOT_WORD = re.compile(r"[^A-Za-z0-9_]+")
COLUMNS, CUSTOM = "columns", "customProperties"
#: Member with the content of the asset file, present if OpenMetadata changed something since.
FILE = "file"
#: Members that are not governance fields, but about the asset file.
_NOT_FIELDS = frozenset({FILE, "asset", "version", "accessTag"})


def facet_fields(facet: Mapping[str, Any]) -> dict[FieldPath, FieldValue]:
    """Governance fields of a facet."""
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
            fields[key,] = _to_field_value(key, value)
    return fields


def build_facet(fields: FieldValues, template: Mapping[str, Any]) -> dict[str, Any]:
    """Build a facet from fields; other members, and the order of list elements, are those of the template."""
    facet: dict[str, Any] = {key: template[key] for key in ("asset", "version", "accessTag") if key in template}
    columns: dict[str, dict[str, Any]] = {}
    template_columns = {column["name"]: column for column in template.get(COLUMNS, ())}
    for path, value in sorted(fields.items()):
        if value is None:
            continue
        if path[0] == COLUMNS:
            template_column = template_columns.get(path[1], {})
            columns.setdefault(path[1], {"name": path[1]})[path[2]] = _to_member_value(
                path[2], value, template_column.get(path[2])
            )
        elif path[0] == CUSTOM:
            facet.setdefault(CUSTOM, {})[path[1]] = value
        else:
            facet[path[0]] = _to_member_value(path[0], value, template.get(path[0]))
    return facet | ({COLUMNS: [columns[name] for name in sorted(columns)]} if columns else {})


def asset_content(facet: Mapping[str, Any]) -> dict[str, Any]:
    """Content of the asset file from which a facet was built."""
    content = facet.get(FILE)
    return dict(content) if isinstance(content, dict) else {key: value for key, value in facet.items() if key != FILE}


def access_tag(namespace: str, name: str) -> str:
    """Name of the tag by which policies select the tables of an asset: conditions accept no other characters."""
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
        return in_template_order + sorted(value - {*in_template_order})
    if key == "accessPolicies" and isinstance(value, str):
        return msgspec.json.decode(value)
    return value
