"""Pydantic model of an asset file, and the facets it produces."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from bridge.settings.base import Section
from mappers.governance.facet import access_tag

_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_DURATION_PATTERN = r"^[1-9]\d{0,6}[smhd]$"
_WILDCARDS = frozenset("*?")


def _as_list(value: Any) -> Any:
    """Convert a single string to a list with one element."""
    return [value] if isinstance(value, str) else value


def _without_repeats(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _check_time_of_day(time: str) -> str:
    if not _TIME_OF_DAY.fullmatch(time):
        raise PydanticCustomError("time_of_day", 'must be a time such as "06:30", in quotes')
    return time


def _check_time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise PydanticCustomError("time_zone", "unknown time zone (examples: Europe/London, UTC)") from error
    return name


ShortText = Annotated[str, Field(min_length=1, max_length=256)]
ShortTexts = Annotated[
    list[ShortText],
    BeforeValidator(_as_list, json_schema_input_type=ShortText | list[ShortText]),
    AfterValidator(_without_repeats),
]


class AssetColumn(Section):
    """A column in the schema contract of an asset."""

    name: ShortText
    type: str | None = Field(default=None, min_length=1)
    required: bool = False
    classification: ShortTexts = Field(default=[])
    sensitive: bool = False
    description: str | None = None


class AccessPolicy(Section):
    """Permissions of a role."""

    role: ShortText
    permissions: Annotated[list[Literal["read", "write", "delete"]], Field(min_length=1)]


class AssetOpenMetadata(Section):
    """Fields that only OpenMetadata has."""

    sync_enabled: bool = True
    domain: ShortText | None = None
    glossary_terms: ShortTexts | None = None
    data_product: ShortTexts | None = None
    access_policies: list[AccessPolicy] | None = None
    tier: Literal["Tier1", "Tier2", "Tier3", "Tier4", "Tier5"] | None = None
    certification: ShortText | None = None


class AssetGovernance(Section):
    """Ownership, tags and retention."""

    owner: ShortTexts | None = None
    tags: ShortTexts | None = None
    classification: ShortTexts | None = None
    retention_days: int | None = Field(default=None, ge=1, le=1_000_000)
    openmetadata: AssetOpenMetadata = AssetOpenMetadata()


class AssetCheck(Section):
    """An expected quality check; additional keys are its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: ShortText
    check: ShortText
    column: ShortText | None = None
    severity: Literal["fail", "warn"] = "fail"


class Sla(Section):
    """When data is due, and how old it may be."""

    expected_by: Annotated[str, AfterValidator(_check_time_of_day)] | None = None
    timezone: Annotated[str, AfterValidator(_check_time_zone)] = "UTC"
    freshness: str | None = Field(default=None, pattern=_DURATION_PATTERN)
    max_duration: str | None = Field(default=None, pattern=_DURATION_PATTERN)


class Asset(Section):
    """Governance of one dataset, or of many if name or namespace contain `*` or `?`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: ShortText
    version: str | None = None
    namespace: ShortText
    display_name: str | None = Field(default=None, max_length=256)
    description: str | None = None
    columns: list[AssetColumn] | None = Field(default=None, alias="schema")
    governance: AssetGovernance = AssetGovernance()
    category: ShortText | None = None
    custom_properties: dict[ShortText, str | int | float | bool] = Field(default={})
    quality: list[AssetCheck] | None = None
    sla: Sla | None = None

    @model_validator(mode="after")
    def _reject_duplicates(self) -> "Asset":
        for key, names in (
            ("schema", [column.name for column in self.columns or ()]),
            ("quality", [check.name for check in self.quality or ()]),
        ):
            if duplicates := sorted(name for name, count in Counter(names).items() if count > 1):
                raise PydanticCustomError("twice", "{key} contains {name} twice", {"key": key, "name": duplicates[0]})
        return self

    @property
    def qualified_name(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def is_pattern(self) -> bool:
        """True if the asset may match several datasets."""
        return bool(_WILDCARDS & {*self.namespace, *self.name})


class AssetFile(Section):
    """A file that contains one asset."""

    asset: Asset


def governance_facet(asset: Asset) -> dict[str, Any]:
    """Build the governance facet. Keys that the file does not mention are left out."""
    governance = asset.governance
    openmetadata = governance.openmetadata
    columns = [_column_facet(column) for column in asset.columns or ()]
    facet: dict[str, Any] = {
        "asset": asset.name,
        "version": asset.version,
        "displayName": asset.display_name,
        "description": asset.description,
        "owners": governance.owner,
        "tags": governance.tags,
        "classifications": governance.classification,
        "retentionDays": governance.retention_days,
        "category": asset.category,
        "syncEnabled": None if openmetadata.sync_enabled else False,
        "domain": openmetadata.domain,
        "glossaryTerms": openmetadata.glossary_terms,
        "dataProducts": openmetadata.data_product,
        "accessPolicies": _dump_sections(openmetadata.access_policies),
        "accessTag": access_tag(asset.namespace, asset.name) if openmetadata.access_policies else None,
        "tier": openmetadata.tier,
        "certification": openmetadata.certification,
        "customProperties": asset.custom_properties or None,
        "columns": [column for column in columns if len(column) > 1] or None,
    }
    return {key: value for key, value in facet.items() if value is not None}


def _column_facet(column: AssetColumn) -> dict[str, Any]:
    facet = {
        "name": column.name,
        "classifications": column.classification or None,
        "sensitive": column.sensitive or None,
        "required": column.required or None,
        "description": column.description,
    }
    return {key: value for key, value in facet.items() if value is not None}


def contract_facet(asset: Asset) -> dict[str, Any] | None:
    """Build the contract facet, or return None if the asset has no schema."""
    if asset.columns is None:
        return None
    columns = [column.model_dump(include={"name", "required", "type"}, exclude_none=True) for column in asset.columns]
    return {"version": asset.version or "", "columns": columns}


def expectations_facet(asset: Asset) -> dict[str, Any] | None:
    """Build the expectations facet, or return None if the asset has no checks."""
    if asset.quality is None:
        return None
    return {"checks": [_expected_check(check) for check in asset.quality]}


def _expected_check(check: AssetCheck) -> dict[str, Any]:
    expected: dict[str, Any] = {"name": check.name, "check": check.check}
    if check.column:
        expected["column"] = check.column
    return expected | {"expected": {"severity": check.severity, **(check.model_extra or {})}}


def _dump_sections(sections: Iterable[Section] | None) -> list[dict[str, Any]] | None:
    return None if sections is None else [section.model_dump(mode="json") for section in sections]
