"""Takes over what others changed in OpenMetadata: into the store, and as patches of asset files; or only says it."""

import re
from pathlib import Path
from typing import Literal, NamedTuple

import structlog

from bridge.governance.applying import Stewardship
from bridge.governance.matching import Name
from bridge.governance.pulling import Pulled, edit
from bridge.sync.item import Item
from bridge.sync.items import Items
from bridge.sync.openmetadata.governance import OWNERS
from bridge.sync.openmetadata.governance_look import say_theirs
from mappers.governance.agreement import Told
from mappers.governance.facet import FILE, facet_of, fields_of, file_of
from mappers.governance.merge import changed
from mappers.openmetadata.adoption import adopt
from mappers.openmetadata.governance import Vocabulary

_log = structlog.get_logger()
_NO_NAME = re.compile(r"[^\w.-]+")

#: Another daemon may settle things a little later, or by a clock that goes behind ours.
_OVERLAP = 60_000_000

Mode = Literal["apply", "report"]


class Adoption(NamedTuple):
    """What was changed of a dataset over there, and the file as it would read then."""

    name: Name
    said: list[str]
    pulled: Pulled | None


class Adopting:
    """Looks for what others changed since it looked last. Not for several threads at once."""

    def __init__(
        self, stewardship: Stewardship, items: Items, words: Vocabulary, mode: Mode, patches: Path | None
    ) -> None:
        self._stewardship = stewardship
        self._items = items
        self._words = words
        self._mode = mode
        self._patches = patches
        self._looked_to = 0
        #: What was settled within the overlap, and when.
        self._known: dict[bytes, int | None] = {}

    def look(self) -> list[Adoption]:
        """Take over what was changed, or say it."""
        since = max(0, self._looked_to - _OVERLAP)
        found = {item.key: item for item in self._items.settled_since("governance", since)}
        items = [item for item in found.values() if self._known.get(item.key) != item.settled_at]
        self._looked_to = max([self._looked_to, *(item.settled_at or 0 for item in items)])
        self._known = {
            key: item.settled_at
            for key, item in found.items()
            if (item.settled_at or 0) >= self._looked_to - _OVERLAP
        }
        changed = {item.key: item for item in items if Told.read(item.detail).theirs}
        names = self._stewardship.names(changed)
        return [self._one(names[key], item) for key, item in sorted(changed.items()) if key in names]

    def _one(self, name: Name, item: Item) -> Adoption:
        theirs = Told.read(item.detail).theirs
        said = say_theirs(theirs)
        facet = self._stewardship.said([name]).get(name, {})
        adopted = adopt(fields_of(facet), theirs, self._words, item.detail.get(OWNERS, {}))
        of = " ".join(name)
        for one in (*said, *adopted.problems):
            _log.warning("changed in OpenMetadata", dataset=of, what=one, kept=self._mode == "apply")
        own = self._stewardship.own(item.key, item.remote.name if item.remote else "")
        pulled = edit(own, facet, adopted.changes, adopted.problems) if own else None
        for problem in pulled.problems[len(adopted.problems) :] if pulled else ():
            _log.warning("an asset file cannot say what was changed", reason=problem)
        if pulled and self._patches and pulled.patch:
            self._write(self._patches, pulled)
        if self._mode == "apply" and changed(fields_of(facet), {**fields_of(facet), **adopted.changes}):
            fields = {
                path: value for path, value in (fields_of(facet) | adopted.changes).items() if value is not None
            }
            self._stewardship.adopt(name, facet_of(fields, facet) | {FILE: file_of(facet)})
        return Adoption(name, said, pulled)

    def _write(self, place: Path, pulled: Pulled) -> None:
        """Write the patch of a file; the newest one counts, for it holds all that is to be taken over."""
        file = place / f"{_NO_NAME.sub('_', pulled.source).strip('_')}.patch"
        try:
            place.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pulled.patch.encode())
        except OSError as error:
            _log.warning("a patch of an asset file cannot be written", file=str(file), reason=str(error))
            return
        _log.info("a patch of an asset file", file=str(file))
