"""Edits fields of an asset file; comments, key order and untouched lines stay."""

import difflib
import io
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from mappers.governance.merge import FieldPath, FieldValue, as_set

_OPENMETADATA = ("governance", "openmetadata")
#: Where the fields of the facet stand in a file.
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
_OF_COLUMNS = {"classifications": "classification"}


def edit_asset_text(text: str, changes: Mapping[FieldPath, FieldValue]) -> str:
    """Give the text of an asset file with fields changed; of the columns, those that it names."""
    yaml = _yaml(text)
    document = yaml.load(text)
    plain = _dumped(yaml, document)
    asset = document["asset"]
    for path, value in sorted(changes.items()):
        if path[0] == "columns":
            _change_column(asset, path, value)
        elif path[0] == "customProperties":
            _change(asset, ("custom_properties", path[1]), value)
        elif path[0] in _YAML_PATHS:
            _change(asset, _YAML_PATHS[path[0]], value)
    return _restore_unchanged_lines(text, plain, _dumped(yaml, document))


def _dumped(yaml: YAML, document: Any) -> str:
    written = io.StringIO()
    yaml.dump(document, written)
    return written.getvalue()


def _restore_unchanged_lines(text: str, plain: str, new: str) -> str:
    """Leave the lines that did not change as they were written: blanks within them are not kept otherwise."""
    here, before, after = (one.splitlines(keepends=True) for one in (text, plain, new))
    if ["".join(line.split()) for line in here] != ["".join(line.split()) for line in before]:
        return new
    kept = difflib.SequenceMatcher(None, before, after)
    return "".join(
        line for what, a, b, c, d in kept.get_opcodes() for line in (here[a:b] if what == "equal" else after[c:d])
    )


def _yaml(text: str) -> YAML:
    """Write as the file is written, as far as that can be seen."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4_096
    offset = _offset(text)
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    return yaml


def _offset(text: str) -> int:
    """See how far the elements of a list stand to the right of its key."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for above, line in pairwise(lines):
        if line.lstrip().startswith("- ") and above.rstrip().endswith(":"):
            return max(0, _indent(line) - _indent(above))
    return 2


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _change_column(asset: CommentedMap, path: FieldPath, value: FieldValue) -> None:
    column = next((one for one in asset.get("schema") or () if one["name"] == path[1]), None)
    if column is not None:
        _change(column, (_OF_COLUMNS.get(path[2], path[2]),), value)


def _change(holder: CommentedMap, at: tuple[str, ...], value: FieldValue) -> None:
    """Set a key, and make what it stands in; one that goes leaves an empty section alone."""
    for key in at[:-1]:
        if not isinstance(holder.get(key), CommentedMap):
            if value is None:
                return
            holder[key] = CommentedMap()
        holder = holder[key]
    key = at[-1]
    if value is None:
        holder.pop(key, None)
    elif isinstance(value, frozenset):
        _change_list(holder, key, value)
    else:
        holder[key] = value


def _change_list(holder: CommentedMap, key: str, value: frozenset[str]) -> None:
    """Let a list hold these: what stays, stays where it is; a single word stays one if it can."""
    before: Any = holder.get(key)
    if isinstance(before, CommentedSeq):
        for place in reversed([place for place, word in enumerate(before) if str(word) not in value]):
            del before[place]
        before.extend(sorted(value - {str(word) for word in before}))
        return
    words = [before] if before in value else []
    words += sorted(value - as_set(before))
    if len(words) == 1 and (before is None or isinstance(before, str)):
        holder[key] = words[0]
        return
    made = CommentedSeq(words)
    made.fa.set_flow_style()
    holder[key] = made
