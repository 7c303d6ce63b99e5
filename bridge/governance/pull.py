"""Writes changes made in OpenMetadata back into asset files."""

import difflib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml.error import YAMLError

from bridge.governance.asset_files import load_asset
from bridge.governance.asset_sync import DatasetPlan
from bridge.governance.facets import combine_assets
from bridge.governance.loaded_asset import LoadedAsset
from bridge.governance.yaml_editor import edit_asset_text
from bridge.store.governance_facets import GOVERNANCE
from connectors.errors import ConfigError
from mappers.governance.facet import asset_content, facet_fields
from mappers.governance.merge import FieldPath, FieldValue, FieldValues, as_set, changed_fields
from mappers.openmetadata.governance import TagVocabulary
from mappers.openmetadata.remote_changes import import_remote_changes


class FileEdit(NamedTuple):
    """An edit of an asset file, and the changes that could not be written into it."""

    source: str
    before: str
    after: str
    problems: tuple[str, ...]

    @property
    def patch(self) -> str:
        """The edit as a unified diff."""
        before_lines, after_lines = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        name = self.source.lstrip("/")
        return "".join(difflib.unified_diff(before_lines, after_lines, f"a/{name}", f"b/{name}"))


def plan_file_edits(plans: Sequence[DatasetPlan], vocabulary: TagVocabulary) -> list[FileEdit]:
    """Plan edits that add remote changes to files. Assets that may match several datasets are not edited."""
    edits = []
    for plan in plans:
        remote_fields = plan.remote_diff.remote.fields if plan.remote_diff else {}
        if not remote_fields and not plan.imported_fields:
            continue
        exact_assets = [loaded for loaded in plan.loaded if not loaded.asset.is_pattern]
        name = " ".join(plan.name)
        if not exact_assets:
            source = plan.loaded[0].source if plan.loaded else ""
            edits.append(
                FileEdit(
                    source, "", "", (f"{source}: matches many datasets: write a separate asset file for {name}",)
                )
            )
            continue
        import_result = import_remote_changes(
            facet_fields(plan.facet), remote_fields, vocabulary, plan.remote_diff.owners if plan.remote_diff else {}
        )
        problems = [f"{name}: {problem}" for problem in import_result.problems]
        edits.append(plan_file_edit(exact_assets[0], plan.facet, import_result.changes, problems))
    return edits


def plan_file_edit(
    edited_asset: LoadedAsset, facet: Mapping[str, Any], imported_fields: FieldValues, problems: Sequence[str]
) -> FileEdit:
    """Plan the edit that adds the imported fields, and all fields imported earlier, to the file of an asset."""
    asset_fields = facet_fields(asset_content(facet))
    changes, file_problems = _changes_for_file(
        edited_asset, asset_fields, changed_fields(asset_fields, {**facet_fields(facet), **imported_fields})
    )
    all_problems = (*problems, *file_problems)
    try:
        load_asset(Path(edited_asset.source))
        content = Path(edited_asset.source).read_bytes().decode()
        return FileEdit(edited_asset.source, content, _edit_text(content, changes), all_problems)
    except ConfigError as error:  # someone may be editing the file
        return FileEdit(edited_asset.source, "", "", (*all_problems, *str(error).splitlines()))
    except (OSError, YAMLError, UnicodeDecodeError) as error:
        return FileEdit(
            edited_asset.source, "", "", (*all_problems, f"{edited_asset.source}: cannot be edited: {error}")
        )


def _changes_for_file(
    edited_asset: LoadedAsset, asset_fields: FieldValues, changes: FieldValues
) -> tuple[dict[FieldPath, FieldValue], list[str]]:
    """Return the changes to write into a file, and a problem for each removed element that other files still set."""
    fields_in_file = facet_fields(combine_assets([edited_asset.asset])[GOVERNANCE])
    file_changes: dict[FieldPath, FieldValue] = {}
    problems = []
    for path, value in changes.items():
        previous_elements = as_set(asset_fields.get(path))
        desired_elements = as_set(value)
        elements_in_file = as_set(fields_in_file.get(path))
        is_set = isinstance(asset_fields.get(path), frozenset) or isinstance(value, frozenset)
        added_elements = desired_elements - previous_elements
        removed_elements = previous_elements - desired_elements
        new_value: FieldValue = (elements_in_file - removed_elements) | added_elements if is_set else value
        elements_set_elsewhere = removed_elements - elements_in_file if is_set or value is None else frozenset()
        if elements_set_elsewhere:
            elements = f"{'.'.join(path)}: {', '.join(sorted(elements_set_elsewhere))}"
            problems.append(
                f"{edited_asset.source}: {elements} was removed in OpenMetadata, but is set by other asset files"
            )
        if path in fields_in_file or new_value not in (None, frozenset()):
            file_changes[path] = new_value
    return file_changes, problems


def _edit_text(text: str, changes: FieldValues) -> str:
    """Apply changes to the text of a file without changing its line endings."""
    if "\r\n" not in text:
        return edit_asset_text(text, changes)
    return edit_asset_text(text.replace("\r\n", "\n"), changes).replace("\n", "\r\n")


def write_file(edit: FileEdit) -> str | None:
    """Write the edited file atomically. Return the error message, if any."""
    file = Path(edit.source).resolve()
    temporary = file.with_name(f".{os.getpid()}.new")
    try:
        temporary.write_bytes(edit.after.encode())
        shutil.copymode(file, temporary)
        temporary.replace(file)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        return f"{edit.source}: cannot be written: {error.strerror}"
    return None
