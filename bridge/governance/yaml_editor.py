"""Edits fields of an asset file; keeps comments, key order and untouched lines."""

import difflib
import io
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from mappers.governance.merge import FieldPath, FieldValue, as_set

_OPENMETADATA = ("governance", "openmetadata")
#: Path in the asset file by facet field.
_YAML_PATHS: dict[str, tuple[str, ...]] = {
    "description": ("description",),
    "displayName": ("display_name",),
    "category": ("category",),
    "owners": ("governance", "owner"),
    "tags": ("governance", "tags"),
    "classifications": ("governance", "classification"),
    "retentionDays": ("governance", "retention_days"),
    "domain": (*_OPENMETADATA, "domain"),
    "glossaryTerms": (*_OPENMETADATA, "glossary_terms"),
    "dataProducts": (*_OPENMETADATA, "data_product"),
    "tier": (*_OPENMETADATA, "tier"),
    "certification": (*_OPENMETADATA, "certification"),
}
_COLUMN_KEYS = {"classifications": "classification"}


def edit_asset_text(text: str, changes: Mapping[FieldPath, FieldValue]) -> str:
    """Apply changes to the text of an asset file. Columns that the file does not mention are not added."""
    yaml = _create_yaml(text)
    document = yaml.load(text)
    dumped_text = _dump_text(yaml, document)
    asset = document["asset"]
    for path, value in sorted(changes.items()):
        field, *subkeys = path
        if field == "columns":
            _set_column_field(asset, path, value)
        elif field == "customProperties":
            _set_field(asset, ("custom_properties", *subkeys), value)
        elif field in _YAML_PATHS:
            _set_field(asset, _YAML_PATHS[field], value)
    return _restore_unchanged_lines(text, dumped_text, _dump_text(yaml, document))


def _dump_text(yaml: YAML, document: Any) -> str:
    buffer = io.StringIO()
    yaml.dump(document, buffer)
    return buffer.getvalue()


def _restore_unchanged_lines(text: str, dumped_text: str, edited_text: str) -> str:
    """Keep unchanged lines as written, because dumping normalizes their spaces."""
    original_lines, dumped_lines, edited_lines = (
        version.splitlines(keepends=True) for version in (text, dumped_text, edited_text)
    )
    if ["".join(line.split()) for line in original_lines] != ["".join(line.split()) for line in dumped_lines]:
        return edited_text
    matcher = difflib.SequenceMatcher(None, dumped_lines, edited_lines)
    restored_lines: list[str] = []
    for operation, start, end, edited_start, edited_end in matcher.get_opcodes():
        restored_lines += original_lines[start:end] if operation == "equal" else edited_lines[edited_start:edited_end]
    return "".join(restored_lines)


def _create_yaml(text: str) -> YAML:
    """Return a YAML parser and dumper that keeps the indentation of the file."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4_096
    offset = _list_offset(text)
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    return yaml


def _list_offset(text: str) -> int:
    """Return the indentation of list items relative to their key."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for previous_line, line in pairwise(lines):
        if line.lstrip().startswith("- ") and previous_line.rstrip().endswith(":"):
            return max(0, _indent(line) - _indent(previous_line))
    return 2


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _set_column_field(asset: CommentedMap, path: FieldPath, value: FieldValue) -> None:
    _, column_name, facet_key = path
    column = next((column for column in asset.get("schema") or () if column["name"] == column_name), None)
    if column is not None:
        _set_field(column, (_COLUMN_KEYS.get(facet_key, facet_key),), value)


def _set_field(section: CommentedMap, path: tuple[str, ...], value: FieldValue) -> None:
    """Set a key and create missing sections, or remove a key. A section that becomes empty is kept."""
    *section_keys, key = path
    for section_key in section_keys:
        if not isinstance(section.get(section_key), CommentedMap):
            if value is None:
                return
            section[section_key] = CommentedMap()
        section = section[section_key]
    if value is None:
        section.pop(key, None)
    elif isinstance(value, frozenset):
        _set_list(section, key, value)
    else:
        section[key] = value


def _set_list(section: CommentedMap, key: str, value: frozenset[str]) -> None:
    """Set a list. Remaining elements keep their order, and a single string stays a string if possible."""
    current_value: Any = section.get(key)
    if isinstance(current_value, CommentedSeq):
        for index in reversed([index for index, element in enumerate(current_value) if str(element) not in value]):
            del current_value[index]
        current_value.extend(sorted(value - {str(element) for element in current_value}))
        return
    elements = [current_value] if current_value in value else []
    elements += sorted(value - as_set(current_value))
    if len(elements) == 1 and (current_value is None or isinstance(current_value, str)):
        section[key] = elements[0]
        return
    sequence = CommentedSeq(elements)
    sequence.fa.set_flow_style()
    section[key] = sequence
