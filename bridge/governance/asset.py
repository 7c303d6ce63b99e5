"""An asset file: what stewards write down of a dataset, or of many whose names are alike."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from bridge.settings.base import Section
from mappers.governance.facet import access_tag

_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_DURATION = r"^[1-9]\d{0,6}[smhd]$"
_WILD = frozenset("*?")


def _several(value: Any) -> Any:
    """Take one word for a list of one."""
    return [value] if isinstance(value, str) else value


def _once_each(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _time_of_day(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise PydanticCustomError("time_of_day", 'must be a time such as "06:30", in quotes')
    return text


def _time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise PydanticCustomError("time_zone", "is no time zone such as Europe/London or UTC") from error
    return name


ShortText = Annotated[str, Field(min_length=1, max_length=256)]
ShortTexts = Annotated[
    list[ShortText],
    BeforeValidator(_several, json_schema_input_type=ShortText | list[ShortText]),
    AfterValidator(_once_each),
]


class AssetColumn(Section):
    """A column that the contract promises."""

    name: ShortText
    type: str | None = Field(default=None, min_length=1)
    required: bool = False
    classification: ShortTexts = Field(default=[])
    sensitive: bool = False
    description: str | None = None


class AccessPolicy(Section):
    """What a role may do with the data."""

    role: ShortText
    permissions: Annotated[list[Literal["read", "write", "delete"]], Field(min_length=1)]


class AssetOpenMetadata(Section):
    """What only OpenMetadata has a word for."""

    sync_enabled: bool = True
    domain: ShortText | None = None
    glossary_terms: ShortTexts | None = None
    data_product: ShortTexts | None = None
    access_policies: list[AccessPolicy] | None = None
    tier: Literal["Tier1", "Tier2", "Tier3", "Tier4", "Tier5"] | None = None
    certification: ShortText | None = None


class AssetGovernance(Section):
    """Whose it is, what it is about, and how long it is kept."""

    owner: ShortTexts | None = None
    tags: ShortTexts | None = None
    classification: ShortTexts | None = None
    retention_days: int | None = Field(default=None, ge=1, le=1_000_000)
    openmetadata: AssetOpenMetadata = AssetOpenMetadata()


class AssetCheck(Section):
    """A check that shall be made; what else it says is what it expects."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: ShortText
    check: ShortText
    column: ShortText | None = None
    severity: Literal["fail", "warn"] = "fail"


class Sla(Section):
    """When the data is promised, and how old it may get."""

    expected_by: Annotated[str, AfterValidator(_time_of_day)] | None = None
    timezone: Annotated[str, AfterValidator(_time_zone)] = "UTC"
    freshness: str | None = Field(default=None, pattern=_DURATION)
    max_duration: str | None = Field(default=None, pattern=_DURATION)


class Asset(Section):
    """What is written down of a dataset; `*` and `?` in its name or namespace stand for many."""

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
    def _no_column_twice(self) -> "Asset":
        for what, names in (
            ("schema", [column.name for column in self.columns or ()]),
            ("quality", [one.name for one in self.quality or ()]),
        ):
            if twice := sorted(name for name, count in Counter(names).items() if count > 1):
                raise PydanticCustomError("twice", "{what} names {name} twice", {"what": what, "name": twice[0]})
        return self

    @property
    def is_pattern(self) -> bool:
        """Tell whether it may be about many datasets."""
        return bool(_WILD & {*self.namespace, *self.name})


class AssetFile(Section):
    """A file with one asset."""

    asset: Asset


def governance_facet(asset: Asset) -> dict[str, Any]:
    """Say what governs a dataset, as the facet says it; what the file does not mention is not in it."""
    of = asset.governance
    there = of.openmetadata
    columns = [_column(column) for column in asset.columns or ()]
    said: dict[str, Any] = {
        "asset": asset.name,
        "version": asset.version,
        "displayName": asset.display_name,
        "description": asset.description,
        "owners": of.owner,
        "tags": of.tags,
        "classifications": of.classification,
        "retentionDays": of.retention_days,
        "category": asset.category,
        "syncEnabled": None if there.sync_enabled else False,
        "domain": there.domain,
        "glossaryTerms": there.glossary_terms,
        "dataProducts": there.data_product,
        "accessPolicies": _dumped(there.access_policies),
        "accessTag": access_tag(asset.namespace, asset.name) if there.access_policies else None,
        "tier": there.tier,
        "certification": there.certification,
        "customProperties": asset.custom_properties or None,
        "columns": [column for column in columns if len(column) > 1] or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _column(column: AssetColumn) -> dict[str, Any]:
    said = {
        "name": column.name,
        "classifications": column.classification or None,
        "sensitive": column.sensitive or None,
        "required": column.required or None,
        "description": column.description,
    }
    return {key: value for key, value in said.items() if value is not None}


def contract_facet(asset: Asset) -> dict[str, Any] | None:
    """Say which columns are promised; None where no schema is written down."""
    if asset.columns is None:
        return None
    columns = [one.model_dump(include={"name", "required", "type"}, exclude_none=True) for one in asset.columns]
    return {"version": asset.version or "", "columns": columns}


def expectations_facet(asset: Asset) -> dict[str, Any] | None:
    """Say which checks shall be made; None where none is written down."""
    if asset.quality is None:
        return None
    return {"checks": [_expectation(one) for one in asset.quality]}


def _expectation(one: AssetCheck) -> dict[str, Any]:
    said: dict[str, Any] = {"name": one.name, "check": one.check}
    if one.column:
        said["column"] = one.column
    return said | {"expected": {"severity": one.severity, **(one.model_extra or {})}}


def _dumped(parts: Iterable[Section] | None) -> list[dict[str, Any]] | None:
    return None if parts is None else [part.model_dump(mode="json") for part in parts]
