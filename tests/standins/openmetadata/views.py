"""JSON of entities; the properties depend on the request."""

from collections.abc import Collection
from dataclasses import dataclass

from tests.standins.openmetadata.kinds import RELATIONS, Kind
from tests.standins.openmetadata.state import Data, Entity

REFERENCES = ("owners", "domains", "dataProducts")
_NO_VOTES: Data = {"upVotes": 0, "downVotes": 0, "upVoters": [], "downVoters": []}
_EMPTY = {"owners": [], "tags": [], "followers": [], "domains": [], "dataProducts": [], "votes": _NO_VOTES}
ALL_RELATIONS = tuple(_EMPTY)
_EMPTY |= {"reviewers": [], "experts": []}
_PEOPLE = ("reviewers", "experts")
_HEAD = ("name", "displayName", "fullyQualifiedName", "description", "version", "updatedAt", "updatedBy")
_TRAILING = ("changeDescription", "incrementalChangeDescription", "deleted")


@dataclass(frozen=True)
class View:
    """Selection of properties."""

    #: Relations that are shown even if empty.
    shows: Collection[str] = ()
    #: Relations that are shown unless empty.
    if_set: Collection[str] = ()
    #: On-demand properties to include.
    with_own: Collection[str] = ()
    href: bool = True
    reference_href: bool = True
    column_labels: bool = True


CREATED = View(if_set=RELATIONS)
REPLACED = View(if_set=("owners", "domains", "dataProducts", "extension", "certification"))
PATCHED = View(shows=(*ALL_RELATIONS, *_PEOPLE), if_set=("extension", "certification"))
DELETED = View(shows=(*ALL_RELATIONS, *_PEOPLE), if_set=("extension", "certification"), href=False)
VERSION = View(
    shows=(*ALL_RELATIONS[:3], *ALL_RELATIONS[4:]), if_set=("extension",), href=False, reference_href=False
)


def render(base: str, entity: Entity, view: View, data: Data | None = None, all_own: bool = True) -> Data:
    """Render an entity, or `data` instead of its current data."""
    data = entity.data if data is None else data
    out: Data = {"id": entity.id}
    for name in _HEAD:
        if data.get(name) is not None:
            out[name] = data[name]
    kind = entity.kind
    if view.href:
        out["href"] = f"{base}/api/v1/{kind.path}/{entity.id}"
    for name in kind.own:
        if name in data and (all_own or name not in kind.on_demand or name in view.with_own):
            out[name] = data[name]
    if not view.column_labels and "columns" in out:
        out["columns"] = without_labels(out["columns"])
    _add_parents(out, base if view.reference_href else None, entity, data)
    _add_relations(out, base if view.reference_href else None, view, data, kind.always_shown)
    _add_references(out, base if view.reference_href else None, kind, view, data, all_own)
    for name in _TRAILING:
        if name in data and (name != "deleted" or kind.soft):
            out[name] = data[name]
    if kind.status is not None:
        out["entityStatus"] = kind.status
    return out


def _add_parents(out: Data, base: str | None, entity: Entity, data: Data) -> None:
    top = entity
    for ancestor in entity.ancestors():
        name = (
            "service"
            if ancestor.kind.is_service
            else "parent"
            if ancestor.kind is entity.kind
            else ancestor.kind.name
        )
        if name != "parent" or ancestor is entity.parent:
            out[name] = ancestor.reference(base)
        top = ancestor
    if top.kind.is_service:
        out["serviceType"] = (data if top is entity else top.data)["serviceType"]


def _add_references(out: Data, base: str | None, kind: Kind, view: View, data: Data, include_all: bool) -> None:
    for name in kind.references:
        if data.get(name) and (include_all or name in view.with_own):
            out[name] = [entity.reference(base) for entity in data[name]]
        elif name in view.with_own:
            out[name] = []


def _add_relations(out: Data, base: str | None, view: View, data: Data, always_shown: Collection[str]) -> None:
    for name in view.shows:
        if name in always_shown:
            out[name] = _EMPTY[name]
    for name in RELATIONS:
        value = data.get(name)
        if value and (name in view.shows or name in view.if_set):
            out[name] = [entity.reference(base) for entity in value] if name in REFERENCES else value


def without_labels(columns: list[Data]) -> list[Data]:
    """Remove the labels of columns, as a read without `fields=tags` does."""
    if not any(column["tags"] or column["children"] for column in columns):
        return columns
    return [{**column, "tags": [], "children": without_labels(column["children"])} for column in columns]
