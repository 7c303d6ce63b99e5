"""Quality checks of a process file, and the keys that each kind of check requires."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from bridge.settings.base import Section
from mappers.governance.checks import CheckKind

Scalar = str | int | float | bool

_VIEW = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AGE = re.compile(r"(\d+)\s*([mhd])")
_MINUTES = {"m": 1, "h": 60, "d": 24 * 60}
#: Required and optional keys of each kind.
_KEYS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "not_null": (frozenset({"column"}), frozenset()),
    "unique": (frozenset(), frozenset({"column", "columns"})),
    "accepted_values": (frozenset({"column", "values"}), frozenset()),
    "range": (frozenset({"column"}), frozenset({"min", "max"})),
    "row_count": (frozenset(), frozenset({"min", "max"})),
    "freshness": (frozenset({"column", "max_age"}), frozenset()),
    "referential": (frozenset({"column", "references"}), frozenset()),
    "sql": (frozenset({"sql", "expected"}), frozenset({"column"})),
}
_COMMON_KEYS = frozenset({"on", "check", "name", "severity"})


def _check_view_name(name: str) -> str:
    if not _VIEW.fullmatch(name):
        raise PydanticCustomError("view", "must be a valid SQL identifier: letters, digits and _")
    return name


#: Name of a view.
ViewName = Annotated[str, AfterValidator(_check_view_name)]


def parse_age_minutes(age: str) -> int:
    """Parse a maximum age such as `90m`, `26h` or `2d`."""
    match = _AGE.fullmatch(age)
    if match is None:
        raise PydanticCustomError("age", "must be like 90m, 26h or 2d")
    return int(match[1]) * _MINUTES[match[2]]


def _validate_age(age: str) -> str:
    parse_age_minutes(age)
    return age


class CheckDefinition(Section):
    """An expectation about an output or a step."""

    on: str = Field(min_length=1, description="Dataset of an output, or name of a step.")
    check: CheckKind
    name: str | None = Field(default=None, min_length=1)
    severity: Literal["fail", "warn"] = "fail"
    column: str | None = Field(default=None, min_length=1)
    columns: list[str] | None = Field(default=None, min_length=1, description="unique: combination of these columns.")
    values: list[Scalar] | None = Field(
        default=None, min_length=1, description="accepted_values: allowed values besides null."
    )
    min: int | float | str | None = None
    max: int | float | str | None = None
    max_age: Annotated[str, AfterValidator(_validate_age)] | None = Field(
        default=None, description="freshness: maximum age of the newest value, e.g. 26h."
    )
    references: str | None = Field(
        default=None,
        pattern=r"^\w+\.\w+$",
        description="referential: view.column that contains every non-null value.",
    )
    sql: str | None = Field(default=None, min_length=1, description="sql: query that returns one value.")
    expected: Scalar | None = Field(default=None, description="sql: expected value.")

    @model_validator(mode="after")
    def _check_keys(self) -> "CheckDefinition":
        required_keys, optional_keys = _KEYS[self.check]
        keys = {name for name in self.model_fields_set if getattr(self, name) is not None} - _COMMON_KEYS
        if missing_keys := sorted(required_keys - keys):
            raise PydanticCustomError(
                "needs", "{problem}", {"problem": f"{self.check} requires {' and '.join(missing_keys)}"}
            )
        if unsupported_keys := sorted(keys - required_keys - optional_keys):
            raise PydanticCustomError(
                "surplus", "{problem}", {"problem": f"{self.check} does not support {' or '.join(unsupported_keys)}"}
            )
        if self.check == "unique" and (self.column is None) == (self.columns is None):
            raise PydanticCustomError("needs", "unique requires either column or columns")
        if self.check in {"range", "row_count"} and self.min is None and self.max is None:
            raise PydanticCustomError("needs", "{problem}", {"problem": f"{self.check} requires min or max"})
        if self.check == "row_count" and any(isinstance(bound, str | float) for bound in (self.min, self.max)):
            raise PydanticCustomError("count", "min and max of row_count must be integers")
        return self

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that the check applies to."""
        if self.columns:
            return tuple(self.columns)
        return (self.column,) if self.column else ()

    def expected_values(self) -> dict[str, Any]:
        """Return the expected values, which are reported with the outcome of the check."""
        values = self.model_dump(exclude_none=True, exclude={"on", "check", "name", "severity", "column"})
        return {key: values[key] for key in sorted(values)}
