"""What of a governance facet or a contract is as stewards write it.

Both come as facets of events, and anybody who may send events may write them: what has another shape is left out, so
that it stops nobody, and a tag that policies ask for holds nothing but a name.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

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


def sound_governance(facet: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a governance facet says that can be understood."""
    said = _sound(facet, _GOVERNANCE)
    if "accessTag" not in said:
        said.pop("accessPolicies", None)
    if "file" in said:
        said["file"] = sound_governance({key: value for key, value in said["file"].items() if key != "file"})
    return said


def sound_contract(facet: Mapping[str, Any]) -> dict[str, Any] | None:
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
