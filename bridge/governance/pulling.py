"""Takes over what was changed in OpenMetadata: into the asset files that say otherwise."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path as File
from typing import NamedTuple

from bridge.governance.combined import facets_of
from bridge.governance.editing import edited
from bridge.governance.steward import Seen
from bridge.store.said import GOVERNANCE
from mappers.governance.facet import fields_of
from mappers.governance.merge import Path, Value
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
        if one.look is None or not one.look.told.theirs:
            continue
        own = [loaded for loaded in one.loaded if not loaded.asset.is_pattern]
        name = " ".join(one.name)
        if not own:
            source = one.loaded[0].source if one.loaded else ""
            pulled.append(
                Pulled(source, "", "", (f"{source}: is about many datasets: {name} is to be written down alone",))
            )
            continue
        fields = fields_of(facets_of([own[0].asset])[GOVERNANCE])
        adopted = adopt(fields, one.look.told.theirs, words, one.look.owners)
        pulled.append(edit(own[0].source, adopted.changes, [f"{name}: {said}" for said in adopted.problems]))
    return pulled


def edit(source: str, changes: Mapping[Path, Value], problems: Sequence[str]) -> Pulled:
    """Say how a file reads with changes; one that is not there any more cannot be changed."""
    if not File(source).is_file():
        return Pulled(source, "", "", (*problems, f"{source}: is not there"))
    text = File(source).read_text(encoding="utf-8")
    return Pulled(source, text, edited(text, changes), tuple(problems))
