"""Looks up entities by fully qualified name, one by one or by listing a parent."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from bridge.sync.sync_item import RemoteReference
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.openmetadata.fqn import fqn, split_fqn

#: From how many names within one place on a list costs less than asking for each.
_FEW = 20
#: How many others may be listed for each name that is sought: the server lists so many while it looks for one.
_WORTH = 15
#: How long a list of what lies in our own service is believed: others have no business there.
_KEPT_SECONDS = 60
#: By which of those above entities are listed: the parameter, and how many names lead to it.
LIST_PARENT = {
    "tables": ("database", 2),
    "containers": ("service", 1),
    "topics": ("service", 1),
    "mlmodels": ("service", 1),
    "pipelines": ("service", 1),
    "apiEndpoints": ("apiCollection", 2),
}
#: The type of an entity in references, by its collection.
TYPES = {
    "tables": "table",
    "containers": "container",
    "topics": "topic",
    "mlmodels": "mlmodel",
    "pipelines": "pipeline",
    "apiEndpoints": "apiEndpoint",
}
#: The collection of an entity, by its type.
COLLECTIONS = {type_: collection for collection, type_ in TYPES.items()}


class _Listing(NamedTuple):
    """What a place held, and until when that is believed, in microseconds."""

    ids: dict[str, str]
    until: int


class EntityLookup:
    """Finds entities; calls run in the threads of a pool. Not for several threads at once."""

    def __init__(
        self, client: OpenMetadataClient, pool: Executor, own_service: str, clock: Callable[[], int]
    ) -> None:
        self._client = client
        self._pool = pool
        self._own = own_service
        self._clock = clock
        self._lists: dict[tuple[str, str], _Listing] = {}

    def find(self, collection: str, names: Collection[str], *, anew: bool = False) -> dict[str, RemoteReference]:
        """Find the entities of these fully qualified names that there are, case and all."""
        places: dict[str, list[str]] = {}
        for name in sorted(set(names)):
            places.setdefault(parent_of(collection, name), []).append(name)
        found: dict[str, str] = {}
        alone: list[str] = []
        for place, within in places.items():
            if self.is_listed(collection, place, len(within), anew=anew):
                ids = self._list(collection, place, anew=anew)
                found.update((name, ids[name]) for name in within if name in ids)
            else:
                alone += within
        found |= self._ask(collection, alone)
        return {name: RemoteReference(TYPES[collection], id_, name) for name, id_ in found.items()}

    def is_listed(self, collection: str, place: str, sought: int, *, anew: bool = False) -> bool:
        """Tell whether a list costs less than asking for each: not where few are sought, or among very many."""
        if sought <= _FEW:
            return False
        if not anew and self._kept(collection, place) is not None:
            return True
        return self._client.count(collection, **{LIST_PARENT[collection][0]: place}) <= sought * _WORTH

    def _kept(self, collection: str, place: str) -> dict[str, str] | None:
        """Give a list that is still believed."""
        kept = self._lists.get((collection, place))
        return kept.ids if kept is not None and self._clock() < kept.until else None

    def _ask(self, collection: str, names: Sequence[str]) -> dict[str, str]:
        """Ask for entities one by one; the first alone: where the server is away, it is not asked for the others."""

        def ask(name: str) -> tuple[str, JsonObject | None]:
            return name, self._client.get(collection, name)

        found = [*map(ask, names[:1]), *self._pool.map(ask, names[1:])]
        return {name: str(one["id"]) for name, one in found if one}

    def find_ignoring_case(self, collection: str, name: str) -> list[RemoteReference]:
        """Find the entities whose names differ in their case only."""
        sought = name.casefold()
        found: list[RemoteReference] = []
        for place in self._places_alike(collection, name):
            ids = self._list(collection, place)
            alike = sorted(known for known in ids if known.casefold() == sought)
            found += [RemoteReference(TYPES[collection], ids[known], known) for known in alike]
        return found

    def _places_alike(self, collection: str, name: str) -> list[str]:
        """Find the places that it could lie in: a service is named in the settings, so its case is known."""
        service, *rest = split_fqn(name)
        if LIST_PARENT[collection][1] == 1:
            return [fqn(service)]
        place = fqn(service, rest[0]).casefold()
        above = {"tables": "databases", "apiEndpoints": "apiCollections"}[collection]
        pages = self._client.pages(above, service=fqn(service))
        known = [str(one["fullyQualifiedName"]) for page in pages for one in page]
        return [one for one in known if one.casefold() == place]

    def _list(self, collection: str, place: str, *, anew: bool = False) -> dict[str, str]:
        kept = self._kept(collection, place)
        if kept is not None and not anew:
            return kept
        pages = self._client.pages(collection, **{LIST_PARENT[collection][0]: place})
        ids = {str(one["fullyQualifiedName"]): str(one["id"]) for page in pages for one in page}
        believed = _KEPT_SECONDS * 1_000_000 if split_fqn(place)[0] == self._own else 0
        self._lists[collection, place] = _Listing(ids, self._clock() + believed)
        return ids

    def clear_cache(self) -> None:
        """Believe no list any more."""
        self._lists.clear()


def parent_of(collection: str, name: str) -> str:
    """Name the place by which what lies in it is listed."""
    return fqn(*split_fqn(name)[: LIST_PARENT[collection][1]])


def column_paths(entity: dict[str, Any]) -> list[tuple[str, ...]]:
    """Give the paths of all columns of an entity, whatever kind it is."""
    return list(_paths(columns_of(entity), ()))


def columns_of(entity: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the columns of an entity, whatever kind it is."""
    within = entity.get("dataModel") or {}
    message = entity.get("messageSchema") or {}
    return entity.get("columns") or within.get("columns") or message.get("schemaFields") or []


def _paths(columns: list[dict[str, Any]], above: tuple[str, ...]) -> Any:
    for column in columns:
        path = (*above, column["name"])
        yield path
        yield from _paths(column.get("children") or [], path)
