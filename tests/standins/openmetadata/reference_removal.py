"""Removes references to deleted governance entities, and restores labels."""

from collections.abc import Iterator

from tests.standins.openmetadata.columns import walk
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.governance_kinds import TAG, TERM
from tests.standins.openmetadata.state import Store

_SOURCES = {TAG.name: "Classification", TERM.name: "Glossary"}


def remove_references(store: Store, deleted: Entity, hard: bool) -> None:
    """Remove labels of a deleted tag or term, and on hard delete all references.

    This creates no versions of the referring entities. Labels of a soft-deleted tag can be restored.
    """
    if deleted.kind.asset:
        return
    source = _SOURCES.get(deleted.kind.name)
    for entity in store.by_id.values():
        if source is not None:
            for holder, label in _labels(entity, source, deleted.fqn):
                holder["tags"] = [other for other in holder["tags"] if other is not label]
                if not hard:
                    store.removed_labels.setdefault(deleted.id, []).append(
                        (entity, holder["fullyQualifiedName"], label)
                    )
        if hard:
            _drop_references(entity, deleted)
    if hard:
        store.removed_labels.pop(deleted.id, None)


def restore_labels(store: Store, tag: Entity) -> None:
    """Restore the labels of a restored tag."""
    for entity, name, label in store.removed_labels.pop(tag.id, []):
        for holder in _labelled_parts(entity):
            labels = holder.get("tags") or []
            if holder["fullyQualifiedName"] == name and all(
                existing["tagFQN"] != label["tagFQN"] for existing in labels
            ):
                holder["tags"] = sorted([*labels, label], key=lambda item: str(item["tagFQN"]))


def _labelled_parts(entity: Entity) -> Iterator[Data]:
    """An entity and its columns, all of which may have labels."""
    yield entity.data
    yield from walk(entity.data.get("columns", []))


def _labels(entity: Entity, source: str, fqn: str) -> Iterator[tuple[Data, Data]]:
    """Labels of a tag on an entity and its columns, each with its holder."""
    for holder in _labelled_parts(entity):
        for label in holder.get("tags") or ():
            if label["tagFQN"] == fqn and label.get("source", "Classification") == source:
                yield holder, label


def _drop_references(entity: Entity, deleted: Entity) -> None:
    for name in ("owners", "domains", "dataProducts", *entity.kind.references):
        references = entity.data.get(name)
        if references and deleted in references:
            entity.data = {**entity.data, name: [reference for reference in references if reference is not deleted]}
