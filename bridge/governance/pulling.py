"""Takes over what was changed in OpenMetadata: into the asset files that say otherwise."""

import difflib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path as File
from typing import Any, NamedTuple

from ruamel.yaml.error import YAMLError

from bridge.governance.combined import facets_of
from bridge.governance.editing import edited
from bridge.governance.files import read_asset
from bridge.governance.remembered import Loaded
from bridge.governance.steward import Seen
from bridge.store.said import GOVERNANCE
from mappers.errors import ConfigError
from mappers.governance.facet import fields_of, file_of
from mappers.governance.merge import Fields, Path, Value, changed, elements
from mappers.openmetadata.adoption import adopt
from mappers.openmetadata.governance import Vocabulary


class Pulled(NamedTuple):
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


def pull(seen: Sequence[Seen], words: Vocabulary) -> list[Pulled]:
    """Say how the files read with what was changed over there; one that is about many datasets is left alone."""
    pulled = []
    for one in seen:
        theirs = one.look.told.theirs if one.look else {}
        if not theirs and not one.kept:
            continue
        own = [loaded for loaded in one.loaded if not loaded.asset.is_pattern]
        name = " ".join(one.name)
        if not own:
            source = one.loaded[0].source if one.loaded else ""
            pulled.append(
                Pulled(source, "", "", (f"{source}: is about many datasets: {name} is to be written down alone",))
            )
            continue
        adopted = adopt(fields_of(one.facet), theirs, words, one.look.owners if one.look else {})
        problems = [f"{name}: {said}" for said in adopted.problems]
        pulled.append(edit(own[0], one.facet, adopted.changes, problems))
    return pulled


def edit(own: Loaded, facet: Mapping[str, Any], adopted: Fields, problems: Sequence[str]) -> Pulled:
    """Say how a file reads with all that is said of its dataset otherwise than it says, now or since it was taken."""
    said = fields_of(file_of(facet))
    changes, undone = _of_own(own, said, changed(said, {**fields_of(facet), **adopted}))
    problems = (*problems, *undone)
    try:
        read_asset(File(own.source))
        text = File(own.source).read_bytes().decode()
        return Pulled(own.source, text, _edited(text, changes), problems)
    except ConfigError as error:  # perhaps somebody is at work on it
        return Pulled(own.source, "", "", (*problems, *str(error).splitlines()))
    except (OSError, YAMLError, UnicodeDecodeError) as error:
        return Pulled(own.source, "", "", (*problems, f"{own.source}: cannot be changed: {error}"))


def _of_own(own: Loaded, said: Fields, changes: Fields) -> tuple[dict[Path, Value], list[str]]:
    """Say what of changes is to be written into a file, and what not: that is said by other assets as well."""
    mine = fields_of(facets_of([own.asset])[GOVERNANCE])
    of_own: dict[Path, Value] = {}
    problems = []
    for path, value in changes.items():
        before, now, here = elements(said.get(path)), elements(value), elements(mine.get(path))
        several = any(isinstance(one, frozenset) for one in (said.get(path), value))
        new: Value = (here - (before - now)) | (now - before) if several else value
        gone = before - now if several or value is None else frozenset()
        if elsewhere := gone - here:
            what = f"{'.'.join(path)}: {', '.join(sorted(elsewhere))}"
            problems.append(f"{own.source}: {what} is gone in OpenMetadata, and is said by other asset files")
        if path in mine or new not in (None, frozenset()):
            of_own[path] = new
    return of_own, problems


def _edited(text: str, changes: Fields) -> str:
    """Change a text with the ends that its lines have."""
    if "\r\n" not in text:
        return edited(text, changes)
    return edited(text.replace("\r\n", "\n"), changes).replace("\n", "\r\n")


def write(pulled: Pulled) -> str | None:
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
