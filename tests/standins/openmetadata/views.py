"""Entities as answers show them; which properties appear depends on the request."""

from collections.abc import Collection
from dataclasses import dataclass

from tests.standins.openmetadata.kinds import RELATIONS, Kind
from tests.standins.openmetadata.state import Data, Entity

REFERENCES = ("owners", "domains", "dataProducts")
_NO_VOTES: Data = {"upVotes": 0, "downVotes": 0, "upVoters": [], "downVoters": []}
_EMPTY = {"owners": [], "tags": [], "followers": [], "domains": [], "dataProducts": [], "votes": _NO_VOTES}
WHOLE = tuple(_EMPTY)
_EMPTY |= {"reviewers": [], "experts": []}
_MORE = ("reviewers", "experts")
_HEAD = ("name", "displayName", "fullyQualifiedName", "description", "version", "updatedAt", "updatedBy")
_NOTES = ("changeDescription", "incrementalChangeDescription", "deleted")


@dataclass(frozen=True)
class View:
    """How to show an entity."""

    #: Relations that are shown even when they are empty.
    shows: Collection[str] = ()
    #: Relations that are shown when they are not empty.
    if_set: Collection[str] = ()
    #: Own properties that are otherwise left out.
    with_own: Collection[str] = ()
    href: bool = True
    reference_href: bool = True
    column_labels: bool = True


CREATED = View(if_set=RELATIONS)
REPLACED = View(if_set=("owners", "domains", "dataProducts", "extension", "certification"))
PATCHED = View(shows=(*WHOLE, *_MORE), if_set=("extension", "certification"))
DELETED = View(shows=(*WHOLE, *_MORE), if_set=("extension", "certification"), href=False)
VERSION = View(shows=(*WHOLE[:3], *WHOLE[4:]), if_set=("extension",), href=False, reference_href=False)


def render(base: str, entity: Entity, view: View, data: Data | None = None, every_own: bool = True) -> Data:
    """Show an entity, or `data` in its place."""
    data = entity.data if data is None else data
    out: Data = {"id": entity.id}
    for name in _HEAD:
        if data.get(name) is not None:
            out[name] = data[name]
    kind = entity.kind
    if view.href:
        out["href"] = f"{base}/api/v1/{kind.path}/{entity.id}"
    for name in kind.own:
        if name in data and (every_own or name not in kind.on_demand or name in view.with_own):
            out[name] = data[name]
    if not view.column_labels and "columns" in out:
        out["columns"] = without_labels(out["columns"])
    _add_places(out, base if view.reference_href else None, entity, data)
    _add_relations(out, base if view.reference_href else None, view, data, kind.whole)
    _add_references(out, base if view.reference_href else None, kind, view, data, every_own)
    for name in _NOTES:
        if name in data and (name != "deleted" or kind.soft):
            out[name] = data[name]
    if kind.status is not None:
        out["entityStatus"] = kind.status
    return out


def _add_places(out: Data, base: str | None, entity: Entity, data: Data) -> None:
    top = entity
    for above in entity.ancestors():
        name = "service" if above.kind.is_service else "parent" if above.kind is entity.kind else above.kind.name
        if name != "parent" or above is entity.parent:
            out[name] = above.reference(base)
        top = above
    if top.kind.is_service:
        out["serviceType"] = (data if top is entity else top.data)["serviceType"]


def _add_references(out: Data, base: str | None, kind: Kind, view: View, data: Data, every: bool) -> None:
    for name in kind.references:
        if data.get(name) and (every or name in view.with_own):
            out[name] = [thing.reference(base) for thing in data[name]]
        elif name in view.with_own:
            out[name] = []


def _add_relations(out: Data, base: str | None, view: View, data: Data, whole: Collection[str]) -> None:
    for name in view.shows:
        if name in whole:
            out[name] = _EMPTY[name]
    for name in RELATIONS:
        value = data.get(name)
        if value and (name in view.shows or name in view.if_set):
            out[name] = [thing.reference(base) for thing in value] if name in REFERENCES else value


def without_labels(columns: list[Data]) -> list[Data]:
    """Hide the labels of columns, as a read without `fields=tags` does."""
    if not any(column["tags"] or column["children"] for column in columns):
        return columns
    return [{**column, "tags": [], "children": without_labels(column["children"])} for column in columns]
