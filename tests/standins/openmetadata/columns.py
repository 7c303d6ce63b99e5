"""Columns: validation, completion, merging and comparison."""

from collections.abc import Iterator
from typing import Any

from tests.standins.openmetadata.changes import Change, json_text
from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.names import quote_name, split_words

Column = dict[str, Any]

_NEED_LENGTH = frozenset({"CHAR", "VARCHAR", "BINARY", "VARBINARY"})
_ORDER = split_words(
    "name displayName dataType arrayDataType dataLength precision scale dataTypeDisplay description fullyQualifiedName "
    "tags constraint ordinalPosition jsonSchema children"
)
#: Properties that are compared individually.
_COMPARED = ("description", "displayName", "dataTypeDisplay", "dataLength", "precision", "scale", "constraint")


def check(columns: list[Column]) -> None:
    """Validate columns, and fill in what the server fills in before it resolves the parent."""
    fill_lists(columns)
    _check_duplicates(columns)
    for column in columns:
        display = column.get("dataTypeDisplay")
        column["dataTypeDisplay"] = (display or column["dataType"]).lower()
    _check_types(columns)


def fill_lists(columns: list[Column]) -> None:
    """Fill in missing lists."""
    for column in columns:
        if not column.setdefault("tags", []):
            column["tags"] = []
        fill_lists(column.setdefault("children", []))


def _check_duplicates(columns: list[Column]) -> None:
    seen = set()
    for column in columns:
        name = column["name"]
        if name in seen:
            raise ApiError(400, f"Column name {name} is repeated")
        seen.add(name)
        if column["children"]:
            _check_duplicates(column["children"])


def _check_types(columns: list[Column]) -> None:
    for column in columns:
        kind = column["dataType"]
        if kind in _NEED_LENGTH and "dataLength" not in column:
            raise ApiError(400, "For column data types char, varchar, binary, varbinary dataLength must not be null")
        if kind == "ARRAY" and "arrayDataType" not in column:
            raise ApiError(400, "For column data type array, arrayDataType must not be null")
        if "scale" in column and "precision" not in column:
            raise ApiError(400, f"Scale is set but precision is not set for the column {column['name']}")
        if column["children"]:
            _check_types(column["children"])


def qualify(columns: list[Column], parent: str) -> None:
    """Set the fully qualified names of columns, including nested ones."""
    for column in columns:
        fqn = column["fullyQualifiedName"] = f"{parent}.{quote_name(column['name'])}"
        if column.get("children"):
            qualify(column["children"], fqn)


def walk(columns: list[Column]) -> Iterator[Column]:
    """Iterate over columns and their children."""
    for column in columns:
        yield column
        if column.get("children"):
            yield from walk(column["children"])


def by_path(columns: list[Column], prefix: str = "") -> dict[str, Column]:
    """Columns by the path that test cases and profiles use: nested names are separated by dots, without quotes."""
    out: dict[str, Column] = {}
    for column in columns:
        path = prefix + column["name"]
        out |= {path: column, **by_path(column.get("children") or [], f"{path}.")}
    return out


def _identity(column: Column) -> tuple[Any, ...]:
    return column["name"], column["dataType"], column.get("arrayDataType")


def merge(old: list[Column], new: list[Column], keep_texts: bool) -> None:
    """Carry over tags, and with `keep_texts` also descriptions and display names."""
    old_by_identity = {_identity(column): column for column in old}
    for column in new:
        before = old_by_identity.get(_identity(column))
        if before is None:
            continue
        if keep_texts:
            for text in ("description", "displayName"):
                if before.get(text):
                    column[text] = before[text]
        if before.get("tags"):
            sent = {label["tagFQN"] for label in column["tags"]}
            column["tags"] = column["tags"] + [label for label in before["tags"] if label["tagFQN"] not in sent]
        if before.get("children") and column.get("children"):
            merge(before["children"], column["children"], keep_texts)


def compare(old: list[Column], new: list[Column], change: Change, path: str = "columns") -> None:
    """Record differences; a changed type counts as one deleted and one added column."""
    if old == new:
        return
    before, after = ({_identity(column): column for column in columns} for columns in (old, new))
    deleted = [column for key, column in before.items() if key not in after]
    added = [column for key, column in after.items() if key not in before]
    if added:
        change.add(path, columns_json(added))
    if deleted:
        change.delete(path, columns_json(deleted))
        change.major = True
    for key, column in after.items():
        if key in before:
            _compare_column(before[key], column, change, f"{path}.{column['name']}")


def _compare_column(old: Column, new: Column, change: Change, path: str) -> None:
    for name in _COMPARED:
        change.scalar(f"{path}.{name}", old.get(name), new.get(name))
    change.labels(f"{path}.tags", old.get("tags") or [], new.get("tags") or [])
    compare(old.get("children") or [], new.get("children") or [], change, path)


def columns_json(columns: list[Column]) -> str:
    return json_text([_ordered(column) for column in columns])


def _ordered(column: Column) -> Column:
    out = {name: column[name] for name in _ORDER if name in column}
    if out.get("children"):
        out["children"] = [_ordered(child) for child in out["children"]]
    return out
