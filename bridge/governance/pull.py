"""Writes changes made in OpenMetadata back into asset files."""

import difflib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path as File
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
    """A file as it shall be, and what of the changes no file can say."""

    source: str
    before: str
    after: str
    problems: tuple[str, ...]

    @property
    def patch(self) -> str:
        """Write the change as a patch."""
        lines = (self.before.splitlines(keepends=True), self.after.splitlines(keepends=True))
        name = self.source.lstrip("/")
        return "".join(difflib.unified_diff(*lines, f"a/{name}", f"b/{name}"))


def plan_file_edits(seen: Sequence[DatasetPlan], words: TagVocabulary) -> list[FileEdit]:
    """Say how the files read with what was changed over there; one that is about many datasets is left alone."""
    pulled = []
    for one in seen:
        theirs = one.look.remote.fields if one.look else {}
        if not theirs and not one.kept:
            continue
        own = [loaded for loaded in one.loaded if not loaded.asset.is_pattern]
        name = " ".join(one.name)
        if not own:
            source = one.loaded[0].source if one.loaded else ""
            pulled.append(
                FileEdit(source, "", "", (f"{source}: is about many datasets: {name} is to be written down alone",))
            )
            continue
        adopted = import_remote_changes(facet_fields(one.facet), theirs, words, one.look.owners if one.look else {})
        problems = [f"{name}: {said}" for said in adopted.problems]
        pulled.append(edit_file(own[0], one.facet, adopted.changes, problems))
    return pulled


def edit_file(own: LoadedAsset, facet: Mapping[str, Any], adopted: FieldValues, problems: Sequence[str]) -> FileEdit:
    """Say how a file reads with all that is said of its dataset otherwise than it says, now or since it was taken."""
    said = facet_fields(asset_content(facet))
    changes, undone = _changes_for_file(own, said, changed_fields(said, {**facet_fields(facet), **adopted}))
    problems = (*problems, *undone)
    try:
        load_asset(File(own.source))
        text = File(own.source).read_bytes().decode()
        return FileEdit(own.source, text, _edited(text, changes), problems)
    except ConfigError as error:  # perhaps somebody is at work on it
        return FileEdit(own.source, "", "", (*problems, *str(error).splitlines()))
    except (OSError, YAMLError, UnicodeDecodeError) as error:
        return FileEdit(own.source, "", "", (*problems, f"{own.source}: cannot be changed: {error}"))


def _changes_for_file(
    own: LoadedAsset, said: FieldValues, changes: FieldValues
) -> tuple[dict[FieldPath, FieldValue], list[str]]:
    """Say what of changes is to be written into a file, and what not: that is said by other assets as well."""
    mine = facet_fields(combine_assets([own.asset])[GOVERNANCE])
    of_own: dict[FieldPath, FieldValue] = {}
    problems = []
    for path, value in changes.items():
        before, now, here = as_set(said.get(path)), as_set(value), as_set(mine.get(path))
        several = any(isinstance(one, frozenset) for one in (said.get(path), value))
        new: FieldValue = (here - (before - now)) | (now - before) if several else value
        gone = before - now if several or value is None else frozenset()
        if elsewhere := gone - here:
            what = f"{'.'.join(path)}: {', '.join(sorted(elsewhere))}"
            problems.append(f"{own.source}: {what} is gone in OpenMetadata, and is said by other asset files")
        if path in mine or new not in (None, frozenset()):
            of_own[path] = new
    return of_own, problems


def _edited(text: str, changes: FieldValues) -> str:
    """Change a text with the ends that its lines have."""
    if "\r\n" not in text:
        return edit_asset_text(text, changes)
    return edit_asset_text(text.replace("\r\n", "\n"), changes).replace("\n", "\r\n")


def write_file(pulled: FileEdit) -> str | None:
    """Write a file as it shall be, whole or not at all; gives why it could not be."""
    file = File(pulled.source).resolve()
    new = file.with_name(f".{os.getpid()}.new")
    try:
        new.write_bytes(pulled.after.encode())
        shutil.copymode(file, new)
        new.replace(file)
    except OSError as error:
        new.unlink(missing_ok=True)
        return f"{pulled.source}: cannot be written: {error.strerror}"
    return None
