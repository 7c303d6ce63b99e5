"""Quality checks of a process file and the keys that each kind requires."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from bridge.settings.base import Section

CheckKind = Literal["not_null", "unique", "accepted_values", "range", "row_count", "freshness", "referential", "sql"]
Scalar = str | int | float | bool

_VIEW = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AGE = re.compile(r"(\d+)\s*([mhd])")
_MINUTES = {"m": 1, "h": 60, "d": 24 * 60}
#: What each kind needs, and what it may have beside that.
_NEEDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "not_null": (frozenset({"column"}), frozenset()),
    "unique": (frozenset(), frozenset({"column", "columns"})),
    "accepted_values": (frozenset({"column", "values"}), frozenset()),
    "range": (frozenset({"column"}), frozenset({"min", "max"})),
    "row_count": (frozenset(), frozenset({"min", "max"})),
    "freshness": (frozenset({"column", "max_age"}), frozenset()),
    "referential": (frozenset({"column", "references"}), frozenset()),
    "sql": (frozenset({"sql", "expected"}), frozenset({"column"})),
}
_ALWAYS = frozenset({"on", "check", "name", "severity"})


def _view(name: str) -> str:
    if not _VIEW.fullmatch(name):
        raise PydanticCustomError("view", "must be a name that SQL can use: letters, digits and _")
    return name


#: A name by which SQL knows something.
ViewName = Annotated[str, AfterValidator(_view)]


def parse_age_minutes(age: str) -> int:
    """Read how old something may be: `90m`, `26h`, `2d`."""
    found = _AGE.fullmatch(age)
    if found is None:
        raise PydanticCustomError("age", "must be like 90m, 26h or 2d")
    return int(found[1]) * _MINUTES[found[2]]


def _age(text: str) -> str:
    parse_age_minutes(text)
    return text


class CheckDefinition(Section):
    """Something that must hold of an output, or of a step."""

    on: str = Field(min_length=1, description="An output, by its dataset; or a step, by its name.")
    check: CheckKind
    name: str | None = Field(default=None, min_length=1)
    severity: Literal["fail", "warn"] = "fail"
    column: str | None = Field(default=None, min_length=1)
    columns: list[str] | None = Field(default=None, min_length=1, description="unique: together.")
    values: list[Scalar] | None = Field(
        default=None, min_length=1, description="accepted_values: null is not among them."
    )
    min: int | float | str | None = None
    max: int | float | str | None = None
    max_age: Annotated[str, AfterValidator(_age)] | None = Field(
        default=None, description="freshness: how old the newest value may be, such as 26h."
    )
    references: str | None = Field(
        default=None, pattern=r"^\w+\.\w+$", description="referential: view.column that has every value but null."
    )
    sql: str | None = Field(default=None, min_length=1, description="sql: a query that gives one value.")
    expected: Scalar | None = Field(default=None, description="sql: what the query must give.")

    @model_validator(mode="after")
    def _complete(self) -> "CheckDefinition":
        needed, allowed = _NEEDS[self.check]
        given = {name for name in self.model_fields_set if getattr(self, name) is not None} - _ALWAYS
        if missing := sorted(needed - given):
            raise PydanticCustomError("needs", "{said}", {"said": f"{self.check} needs {' and '.join(missing)}"})
        if surplus := sorted(given - needed - allowed):
            raise PydanticCustomError(
                "surplus", "{said}", {"said": f"{self.check} takes no {' and no '.join(surplus)}"}
            )
        if self.check == "unique" and (self.column is None) == (self.columns is None):
            raise PydanticCustomError("needs", "unique needs column, or columns")
        if self.check in {"range", "row_count"} and self.min is None and self.max is None:
            raise PydanticCustomError("needs", "{said}", {"said": f"{self.check} needs min or max"})
        if self.check == "row_count" and any(isinstance(one, str | float) for one in (self.min, self.max)):
            raise PydanticCustomError("count", "row_count counts rows: min and max are whole numbers")
        return self

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Give the columns that it is about."""
        return tuple(self.columns or ([self.column] if self.column else []))

    def expected_values(self) -> dict[str, Any]:
        """Give what it expects, as it is told with its outcome."""
        told = self.model_dump(exclude_none=True, exclude={"on", "check", "name", "severity", "column"})
        return {key: told[key] for key in sorted(told)}
