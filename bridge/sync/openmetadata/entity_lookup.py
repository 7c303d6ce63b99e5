"""Looks up entities by fully qualified name, one by one or by listing a parent."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from bridge.sync.sync_item import RemoteReference
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.openmetadata.fqn import fqn, split_fqn

#: Up to this many names per parent are looked up one by one.
_MAX_SINGLE_LOOKUPS = 20
#: A list pays off up to this many listed entities per name: the server lists that many in the time of one lookup.
_LIST_FACTOR = 15
#: Lifetime of cached lists of the bridge's own service, which nobody else writes.
_CACHE_SECONDS = 60
#: Parent by which entities are listed: query parameter, and number of its name parts.
LIST_PARENT = {
    "tables": ("database", 2),
    "containers": ("service", 1),
    "topics": ("service", 1),
    "mlmodels": ("service", 1),
    "pipelines": ("service", 1),
    "apiEndpoints": ("apiCollection", 2),
}
#: Entity type by collection.
TYPES = {
    "tables": "table",
    "containers": "container",
    "topics": "topic",
    "mlmodels": "mlmodel",
    "pipelines": "pipeline",
    "apiEndpoints": "apiEndpoint",
}
#: Collection by entity type.
COLLECTIONS = {type_: collection for collection, type_ in TYPES.items()}


class _Listing(NamedTuple):
    """Ids of a parent's entities by name, and the end of their cache lifetime in microseconds."""

    ids: dict[str, str]
    until: int


class EntityLookup:
    """Finds entities by name; requests run in a thread pool. Not thread-safe."""

    def __init__(
        self, client: OpenMetadataClient, pool: Executor, own_service: str, clock: Callable[[], int]
    ) -> None:
        self._client = client
        self._pool = pool
        self._own_service = own_service
        self._clock = clock
        self._lists: dict[tuple[str, str], _Listing] = {}

    def find(self, collection: str, names: Collection[str], *, refresh: bool = False) -> dict[str, RemoteReference]:
        """Existing entities by fully qualified name (case-sensitive)."""
        names_by_parent: dict[str, list[str]] = {}
        for name in sorted(set(names)):
            names_by_parent.setdefault(parent_of(collection, name), []).append(name)
        ids_by_name: dict[str, str] = {}
        single: list[str] = []
        for parent, parent_names in names_by_parent.items():
            if self.is_listed(collection, parent, len(parent_names), refresh=refresh):
                ids = self._list(collection, parent, refresh=refresh)
                ids_by_name.update((name, ids[name]) for name in parent_names if name in ids)
            else:
                single += parent_names
        ids_by_name |= self._look_up(collection, single)
        return {name: RemoteReference(TYPES[collection], id_, name) for name, id_ in ids_by_name.items()}

    def is_listed(self, collection: str, parent: str, count: int, *, refresh: bool = False) -> bool:
        """Whether listing the parent costs less than single lookups."""
        if count <= _MAX_SINGLE_LOOKUPS:
            return False
        if not refresh and self._cached(collection, parent) is not None:
            return True
        return self._client.count(collection, **{LIST_PARENT[collection][0]: parent}) <= count * _LIST_FACTOR

    def _cached(self, collection: str, parent: str) -> dict[str, str] | None:
        listing = self._lists.get((collection, parent))
        return listing.ids if listing is not None and self._clock() < listing.until else None

    def _look_up(self, collection: str, names: Sequence[str]) -> dict[str, str]:
        """The first lookup runs alone: if the server is down, the rest is not sent."""

        def look_up(name: str) -> tuple[str, JsonObject | None]:
            return name, self._client.get(collection, name)

        entities = [*map(look_up, names[:1]), *self._pool.map(look_up, names[1:])]
        return {name: str(entity["id"]) for name, entity in entities if entity}

    def find_ignoring_case(self, collection: str, name: str) -> list[RemoteReference]:
        """Entities with names that differ in case only."""
        folded_name = name.casefold()
        matches: list[RemoteReference] = []
        for parent in self._parents_ignoring_case(collection, name):
            ids = self._list(collection, parent)
            names = sorted(other for other in ids if other.casefold() == folded_name)
            matches += [RemoteReference(TYPES[collection], ids[other], other) for other in names]
        return matches

    def _parents_ignoring_case(self, collection: str, name: str) -> list[str]:
        """Possible parents. Service names come from the settings, so their case is known."""
        service, *rest = split_fqn(name)
        if LIST_PARENT[collection][1] == 1:
            return [fqn(service)]
        folded_parent = fqn(service, rest[0]).casefold()
        parent_collection = {"tables": "databases", "apiEndpoints": "apiCollections"}[collection]
        pages = self._client.pages(parent_collection, service=fqn(service))
        names = [str(entity["fullyQualifiedName"]) for page in pages for entity in page]
        return [parent for parent in names if parent.casefold() == folded_parent]

    def _list(self, collection: str, parent: str, *, refresh: bool = False) -> dict[str, str]:
        cached = self._cached(collection, parent)
        if cached is not None and not refresh:
            return cached
        pages = self._client.pages(collection, **{LIST_PARENT[collection][0]: parent})
        ids = {str(entity["fullyQualifiedName"]): str(entity["id"]) for page in pages for entity in page}
        lifetime = _CACHE_SECONDS * 1_000_000 if split_fqn(parent)[0] == self._own_service else 0
        self._lists[collection, parent] = _Listing(ids, self._clock() + lifetime)
        return ids

    def clear_cache(self) -> None:
        self._lists.clear()


def parent_of(collection: str, name: str) -> str:
    """Name of the parent by which an entity is listed."""
    return fqn(*split_fqn(name)[: LIST_PARENT[collection][1]])


def column_paths(entity: dict[str, Any]) -> list[tuple[str, ...]]:
    """Paths of all columns of an entity of any type."""
    return list(_paths(columns_of(entity), ()))


def columns_of(entity: dict[str, Any]) -> list[dict[str, Any]]:
    """Top-level columns of an entity of any type."""
    data_model = entity.get("dataModel") or {}
    message = entity.get("messageSchema") or {}
    return entity.get("columns") or data_model.get("columns") or message.get("schemaFields") or []


def _paths(columns: list[dict[str, Any]], parent_path: tuple[str, ...]) -> Any:
    for column in columns:
        path = (*parent_path, column["name"])
        yield path
        yield from _paths(column.get("children") or [], path)
