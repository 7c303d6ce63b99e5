"""What a steward does with asset files: looks what they would change, lets them be true, and takes changes over."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from bridge.governance.applying import Applied, Stewardship
from bridge.governance.matching import Name
from bridge.governance.remembered import Loaded
from bridge.store.said import GOVERNANCE
from bridge.sync.item import Item, Outcome, new_item
from bridge.sync.items import Items
from bridge.sync.openmetadata.governance_look import Look, say_conflict
from bridge.sync.openmetadata.target import OpenMetadataTarget
from bridge.sync.reconciler import Reconciler
from mappers.governance.facet import fields_of, file_of
from mappers.governance.merge import Path, Policy, Value, changed

_KINDS = ("dataset", "governance", "access")
_PATIENCE_SECONDS, _LOOK_SECONDS = 60.0, 0.25
#: It is looked whether all is done once in so many rounds, and when there is nothing to do.
_ROUNDS = 20


class Server(NamedTuple):
    """OpenMetadata, where it is enabled: what looks at it, and what keeps it."""

    target: OpenMetadataTarget
    reconciler: Reconciler
    items: Items


class Seen(NamedTuple):
    """A dataset that assets are about: what would be new in the store, and how it was found in OpenMetadata."""

    name: Name
    loaded: list[Loaded]
    #: What the store would say, field by field.
    new: dict[Path, Value]
    #: The other facets that would be new: contract, checks, promises.
    facets: tuple[str, ...]
    look: Look | None
    #: All that the store would say of what governs it.
    facet: dict[str, Any]

    @property
    def kept(self) -> dict[Path, Value]:
        """Give what was taken over from OpenMetadata, and is in no file yet."""
        return changed(fields_of(file_of(self.facet)), fields_of(self.facet))

    @property
    def differs(self) -> bool:
        """Tell whether the files, the store and OpenMetadata do not all say the same."""
        look = self.look
        there = look and (look.changes or look.told.theirs or look.told.conflicts or look.problems)
        return bool(self.new or self.facets or there or self.kept)


class Result(NamedTuple):
    """What became of a dataset in OpenMetadata."""

    name: Name
    outcome: str
    reason: str | None
    changed: bool


class Steward:
    """Brings asset files, the store and OpenMetadata together. Not for several threads at once."""

    def __init__(self, stewardship: Stewardship, server: Server | None) -> None:
        self._stewardship = stewardship
        self._server = server

    def look(self, loaded: Sequence[Loaded], *, prune: bool = False) -> tuple[Applied, list[Seen]]:
        """Say what would be changed, and what was changed over there; changes nothing."""
        applied = self._stewardship.preview(loaded, prune=prune)
        new = {change.name: change for change in applied.changes}
        names = _about(applied, loaded)
        facets = {
            name: change.facets[GOVERNANCE] or {} for name, change in new.items() if GOVERNANCE in change.facets
        }
        looks = self._looks(names, facets)
        known = self._stewardship.said(names)
        seen = []
        for name in sorted(names):
            change = new.get(name)
            fields = changed(fields_of(known.get(name, {})), fields_of(facets[name])) if name in facets else {}
            others = tuple(sorted(set(change.facets) - {GOVERNANCE})) if change else ()
            facet = facets.get(name, known.get(name, {}))
            seen.append(Seen(name, applied.datasets.get(name, []), fields, others, looks.get(name), facet))
        return applied, seen

    def decide(
        self, loaded: Sequence[Loaded], ask: Callable[[str], Policy | None]
    ) -> dict[tuple[bytes, Path], Policy]:
        """Ask who wins of all that both sides changed."""
        decisions: dict[tuple[bytes, Path], Policy] = {}
        for look in (seen.look for seen in self.look(loaded)[1] if seen.look):
            for conflict in look.told.conflicts:
                if answer := ask(f"{look.name}: {say_conflict(conflict)}"):
                    decisions[look.key, conflict.path] = answer
        return decisions

    def push(
        self,
        loaded: Sequence[Loaded],
        decisions: Mapping[tuple[bytes, Path], Policy],
        *,
        prune: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> tuple[Applied, list[Result]]:
        """Let the store say what the files say, and OpenMetadata what the store says, as it was decided."""
        if self._server is not None:
            self._server.reconciler.enable()  # marks are made from now on
        applied = self._stewardship.apply(loaded, prune=prune)
        names = _about(applied, loaded)
        new = {change.name for change in applied.changes}
        if self._server is None:
            return applied, [Result(name, "stored", None, name in new) for name in sorted(names)]
        keys = self._stewardship.classes(names)
        self._let_be(set(keys.values()), sleep)
        if decisions:
            self._server.target.governance.decisions.update(decisions)
            self._server.reconciler.push_now("governance", {key for key, _ in decisions})
        items = self._server.items.of("governance", list(keys.values()))
        away = self._server.reconciler.breaker.reason
        pending = {item.key for item in self._server.items.pending("governance")}
        return applied, [
            _result(name, items.get(keys[name]), away, new=name in new, pending=keys[name] in pending)
            for name in sorted(names)
        ]

    def _let_be(self, keys: set[bytes], sleep: Callable[[float], None]) -> None:
        """Push until these are settled, or it is waited too long for what failed."""
        assert self._server is not None  # noqa: S101 - looked at by the caller
        patience = _PATIENCE_SECONDS
        for rounds in count(1):
            done = self._server.reconciler.round(only=_KINDS)
            if self._server.reconciler.breaker.open or patience <= 0:
                return
            if not done.idle and rounds % _ROUNDS:
                continue  # to list all that waits takes long where that is much
            if not any(item.key in keys for item in self._server.items.pending("governance")):
                return
            if done.idle:
                sleep(_LOOK_SECONDS)
                patience -= _LOOK_SECONDS

    def _looks(self, names: Iterable[Name], facets: dict[Name, dict[str, Any]]) -> dict[Name, Look]:
        if self._server is None:
            return {}
        keys = self._stewardship.classes(names)
        items = self._server.items.of("governance", list(keys.values()))
        asked = [items.get(key) or new_item("governance", key) for key in sorted(set(keys.values()))]
        said = {keys[name]: facet for name, facet in facets.items()}
        found = {look.key: look for look in self._server.target.governance.look(asked, said)}
        return {name: found[key] for name, key in keys.items() if key in found}


def _about(applied: Applied, loaded: Iterable[Loaded]) -> set[Name]:
    """Find the datasets that some assets are about, and those of which anything changes."""
    asked = {(one.asset.namespace, one.asset.name) for one in loaded}
    named = {
        name
        for name, of in applied.datasets.items()
        if any((one.asset.namespace, one.asset.name) in asked for one in of)
    }
    return named | {change.name for change in applied.changes}


def _result(name: Name, item: Item | None, away: str | None, *, new: bool, pending: bool) -> Result:
    if item is None:
        return Result(name, "pending" if away else Outcome.WAITING, away or "its dataset is not there", new)
    if pending:
        return Result(name, "pending", away or item.reason, new)
    return Result(name, item.outcome or "pending", item.reason, new)
