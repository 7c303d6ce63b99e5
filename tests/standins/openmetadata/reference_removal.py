"""What becomes of the mentions of something that governs entities when it is deleted."""

from collections.abc import Iterator

from tests.standins.openmetadata.columns import every
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.governance_kinds import TAG, TERM
from tests.standins.openmetadata.state import Store

_SOURCES = {TAG.name: "Classification", TERM.name: "Glossary"}


def withdraw(store: Store, gone: Entity, hard: bool) -> None:
    """Take away the labels of a tag or term that is deleted, and references to what is gone for good.

    No version is made of what it was on. The labels of a tag that comes back come back with it.
    """
    if gone.kind.asset:
        return
    source = _SOURCES.get(gone.kind.name)
    for entity in store.by_id.values():
        if source is not None:
            for holder, label in _labels(entity, source, gone.fqn):
                holder["tags"] = [one for one in holder["tags"] if one is not label]
                if not hard:
                    store.withdrawn.setdefault(gone.id, []).append((entity, holder["fullyQualifiedName"], label))
        if hard:
            _drop_references(entity, gone)
    if hard:
        store.withdrawn.pop(gone.id, None)


def bring_back(store: Store, tag: Entity) -> None:
    """Give entities back the labels that they had of a tag that is restored."""
    for entity, name, label in store.withdrawn.pop(tag.id, []):
        for holder in _holders(entity):
            there = holder.get("tags") or []
            if holder["fullyQualifiedName"] == name and all(one["tagFQN"] != label["tagFQN"] for one in there):
                holder["tags"] = sorted([*there, label], key=lambda one: str(one["tagFQN"]))


def _holders(entity: Entity) -> Iterator[Data]:
    """Give what of an entity may have labels: itself, and its columns."""
    yield entity.data
    yield from every(entity.data.get("columns", []))


def _labels(entity: Entity, source: str, fqn: str) -> Iterator[tuple[Data, Data]]:
    """Give the labels of a name on an entity and its columns, each with what it is on."""
    for holder in _holders(entity):
        for label in holder.get("tags") or ():
            if label["tagFQN"] == fqn and label.get("source", "Classification") == source:
                yield holder, label


def _drop_references(entity: Entity, gone: Entity) -> None:
    for name in ("owners", "domains", "dataProducts", *entity.kind.references):
        there = entity.data.get(name)
        if there and gone in there:
            entity.data = {**entity.data, name: [one for one in there if one is not gone]}
