"""Reads, validates and builds governance and contract facets."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from mappers.canonical.identity import digest
from mappers.governance.merge import FieldPath, FieldValue, FieldValues

_Words = list[str]
_Single = str | int | float | bool


class _Policy(TypedDict):
    role: Annotated[str, msgspec.Meta(min_length=1)]
    permissions: list[Literal["read", "write", "delete"]]


class _Column(TypedDict):
    name: str
    classifications: NotRequired[_Words]
    sensitive: NotRequired[bool]
    required: NotRequired[bool]
    description: NotRequired[str]


class _Promised(TypedDict):
    name: str
    type: NotRequired[str]
    required: NotRequired[bool]


_GOVERNANCE: dict[str, Any] = {
    **dict.fromkeys(("asset", "version", "displayName", "description", "category"), str),
    **dict.fromkeys(("domain", "tier", "certification"), str),
    **dict.fromkeys(("owners", "tags", "classifications", "glossaryTerms", "dataProducts"), _Words),
    "retentionDays": Annotated[int, msgspec.Meta(ge=1)],
    "syncEnabled": bool,
    "accessPolicies": list[_Policy],
    "accessTag": Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9_]{1,120}$")],
    "customProperties": dict[str, _Single],
    "columns": list[_Column],
    "file": dict[str, Any],
}
_CONTRACT: dict[str, Any] = {"version": str, "columns": list[_Promised]}


def validate_governance(facet: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a governance facet says that can be understood."""
    said = _sound(facet, _GOVERNANCE)
    if "accessTag" not in said:
        said.pop("accessPolicies", None)
    if "file" in said:
        said["file"] = validate_governance({key: value for key, value in said["file"].items() if key != "file"})
    return said


def validate_contract(facet: Mapping[str, Any]) -> dict[str, Any] | None:
    """Give a contract; None where it promises nothing that can be understood."""
    said = _sound(facet, _CONTRACT)
    return said if "columns" in said else None


def _sound(facet: Mapping[str, Any], types: Mapping[str, Any]) -> dict[str, Any]:
    said = {}
    for key, value in facet.items():
        if key in types:
            try:
                said[key] = msgspec.convert(value, types[key])
            except msgspec.ValidationError:
                continue
    return said


#: Lists of words whose order says nothing.
SETS = frozenset({"owners", "tags", "classifications", "glossaryTerms", "dataProducts"})
_NO_WORD = re.compile(r"[^A-Za-z0-9_]+")
COLUMNS, CUSTOM = "columns", "customProperties"
#: What a facet may hold of the file it was made of, where OpenMetadata has changed something since.
FILE = "file"
#: What is no field: which file it is from, and what that said.
_ABOUT = frozenset({FILE, "asset", "version", "accessTag"})


def facet_fields(facet: Mapping[str, Any]) -> dict[FieldPath, FieldValue]:
    """Give what a facet says, field by field."""
    fields: dict[FieldPath, FieldValue] = {}
    for key, value in facet.items():
        if key in _ABOUT:
            continue
        if key == COLUMNS:
            for column in value:
                name = column["name"]
                fields |= {(COLUMNS, name, of): _value(of, said) for of, said in column.items() if of != "name"}
        elif key == CUSTOM:
            fields |= {(CUSTOM, name): said for name, said in value.items()}
        else:
            fields[key,] = _value(key, value)
    return fields


def build_facet(fields: FieldValues, like: Mapping[str, Any]) -> dict[str, Any]:
    """Give the facet that says these fields; what is no field is as in another, and so is the order of its words."""
    facet: dict[str, Any] = {key: like[key] for key in ("asset", "version", "accessTag") if key in like}
    columns: dict[str, dict[str, Any]] = {}
    before = {one["name"]: one for one in like.get(COLUMNS, ())}
    for path, value in sorted(fields.items()):
        if value is None:
            continue
        if path[0] == COLUMNS:
            known = before.get(path[1], {})
            columns.setdefault(path[1], {"name": path[1]})[path[2]] = _said(path[2], value, known.get(path[2]))
        elif path[0] == CUSTOM:
            facet.setdefault(CUSTOM, {})[path[1]] = value
        else:
            facet[path[0]] = _said(path[0], value, like.get(path[0]))
    return facet | ({COLUMNS: [columns[name] for name in sorted(columns)]} if columns else {})


def asset_content(facet: Mapping[str, Any]) -> dict[str, Any]:
    """Give what the asset file said from which a facet was made."""
    said = facet.get(FILE)
    return dict(said) if isinstance(said, dict) else {key: value for key, value in facet.items() if key != FILE}


def access_tag(namespace: str, name: str) -> str:
    """Name the tag by which policies know what an asset is about: conditions take no other letters."""
    mark = digest(f"{namespace}\0{name}".encode()).hex()[:8]
    return f"{_NO_WORD.sub('_', name)[:100]}_{mark}"


def _value(key: str, said: Any) -> FieldValue:
    if key in SETS:
        return frozenset(said)
    if isinstance(said, list | dict):
        return msgspec.json.encode(said, order="sorted").decode()
    value: FieldValue = said
    return value


def _said(key: str, value: FieldValue, like: Any) -> Any:
    if isinstance(value, frozenset):
        kept = [one for one in like or () if one in value]
        return kept + sorted(value - {*kept})
    if key == "accessPolicies" and isinstance(value, str):
        return msgspec.json.decode(value)
    return value
