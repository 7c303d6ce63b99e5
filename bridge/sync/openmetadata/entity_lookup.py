"""Looks up entities by fully qualified name, one by one or by listing a parent."""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from bridge.sync.sync_item import RemoteReference
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.openmetadata.fqn import fqn, split_fqn
from mappers.openmetadata.quality import CASES
from mappers.timestamps import format_timestamp

#: Up to this many names per parent are looked up one by one.
_MAX_SINGLE_LOOKUPS = 20
#: Listing pays off up to this many listed entities per name; the server lists that many in the time of a lookup.
_LIST_FACTOR = 15
#: Lifetime of cached lists of the bridge's own service, to which nobody else writes.
_CACHE_SECONDS = 60


class _ListParent(NamedTuple):
    """How entities of a parent are listed: the query parameter, and how many parts the name of the parent has."""

    parameter: str
    name_parts: int


LIST_PARENT = {
    "tables": _ListParent("database", 2),
    "containers": _ListParent("service", 1),
    "topics": _ListParent("service", 1),
    "mlmodels": _ListParent("service", 1),
    "pipelines": _ListParent("service", 1),
    "apiEndpoints": _ListParent("apiCollection", 2),
}
#: Entity type by collection.
TYPES = {
    "tables": "table",
    "containers": "container",
    "topics": "topic",
    "mlmodels": "mlmodel",
    "pipelines": "pipeline",
    "apiEndpoints": "apiEndpoint",
    CASES: "testCase",
}
#: Collection by entity type.
COLLECTIONS = {type_: collection for collection, type_ in TYPES.items()}


class FoundEntity(NamedTuple):
    """An entity found by name; a soft-deleted entity still occupies its name."""

    id: str
    deleted: bool = False
    #: User and time (milliseconds) of the last change.
    changed_by: str = ""
    changed_at: int = 0

    @classmethod
    def of(cls, entity: JsonObject) -> "FoundEntity":
        changed_at = int(entity.get("updatedAt") or 0)
        return cls(str(entity["id"]), bool(entity.get("deleted")), str(entity.get("updatedBy") or ""), changed_at)

    def remote(self, collection: str, name: str) -> RemoteReference:
        return RemoteReference(TYPES[collection], self.id, name)

    def describe_deletion(self, name: str) -> str:
        """Return a message for the operator: who deleted the entity, and when."""
        at = format_timestamp(self.changed_at * 1_000)
        return f"{name} was deleted by {self.changed_by or 'an unknown user'} on {at}: restore it in OpenMetadata"


class _Listing(NamedTuple):
    """A parent's entities by name, and the time in microseconds at which the cached list expires."""

    entities: dict[str, FoundEntity]
    expires_at: int


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
        """Return entities by fully qualified name (case-sensitive), without soft-deleted ones."""
        found = self.find_all(collection, names, refresh=refresh)
        return {name: entity.remote(collection, name) for name, entity in found.items() if not entity.deleted}

    def find_all(self, collection: str, names: Collection[str], *, refresh: bool = False) -> dict[str, FoundEntity]:
        """Return entities by fully qualified name (case-sensitive), including soft-deleted ones."""
        if collection not in LIST_PARENT:
            return self._look_up(collection, sorted(set(names)))
        names_by_parent: dict[str, list[str]] = {}
        for name in sorted(set(names)):
            names_by_parent.setdefault(parent_of(collection, name), []).append(name)
        found: dict[str, FoundEntity] = {}
        single_lookups: list[str] = []
        for parent, parent_names in names_by_parent.items():
            if self.is_listing_cheaper(collection, parent, len(parent_names), refresh=refresh):
                entities = self._list(collection, parent, refresh=refresh)
                found.update((name, entities[name]) for name in parent_names if name in entities)
            else:
                single_lookups += parent_names
        return found | self._look_up(collection, single_lookups)

    def is_listing_cheaper(self, collection: str, parent: str, count: int, *, refresh: bool = False) -> bool:
        """True if listing the entities of a parent costs less than single lookups."""
        if count <= _MAX_SINGLE_LOOKUPS:
            return False
        if not refresh and self._cached(collection, parent) is not None:
            return True
        filters = {LIST_PARENT[collection].parameter: parent, "include": "all"}
        return self._client.count(collection, **filters) <= count * _LIST_FACTOR

    def _cached(self, collection: str, parent: str) -> dict[str, FoundEntity] | None:
        listing = self._lists.get((collection, parent))
        return listing.entities if listing is not None and self._clock() < listing.expires_at else None

    def _look_up(self, collection: str, names: Sequence[str]) -> dict[str, FoundEntity]:
        """Look up each name; the first lookup runs alone, so that no others are sent if the server is down."""

        def look_up(name: str) -> tuple[str, JsonObject | None]:
            return name, self._client.get(collection, name, deleted=True)

        entities = [*map(look_up, names[:1]), *self._pool.map(look_up, names[1:])]
        return {name: FoundEntity.of(entity) for name, entity in entities if entity}

    def find_ignoring_case(self, collection: str, name: str) -> list[RemoteReference]:
        """Return existing entities with names that match if case is ignored."""
        folded_name = name.casefold()
        matches: list[RemoteReference] = []
        for parent in self._parents_ignoring_case(collection, name):
            entities = self._list(collection, parent)
            matches += [
                entity.remote(collection, listed)
                for listed, entity in sorted(entities.items())
                if listed.casefold() == folded_name and not entity.deleted
            ]
        return matches

    def _parents_ignoring_case(self, collection: str, name: str) -> list[str]:
        """Return possible parents; only the service name, which comes from the settings, must match exactly."""
        service, *rest = split_fqn(name)
        if LIST_PARENT[collection].name_parts == 1:
            return [fqn(service)]
        folded_parent = fqn(service, rest[0]).casefold()
        parent_collection = {"tables": "databases", "apiEndpoints": "apiCollections"}[collection]
        pages = self._client.pages(parent_collection, service=fqn(service))
        names = [str(entity["fullyQualifiedName"]) for page in pages for entity in page]
        return [parent for parent in names if parent.casefold() == folded_parent]

    def _list(self, collection: str, parent: str, *, refresh: bool = False) -> dict[str, FoundEntity]:
        cached = self._cached(collection, parent)
        if cached is not None and not refresh:
            return cached
        pages = self._client.pages(collection, **{LIST_PARENT[collection].parameter: parent, "include": "all"})
        entities = {str(entity["fullyQualifiedName"]): FoundEntity.of(entity) for page in pages for entity in page}
        lifetime = _CACHE_SECONDS * 1_000_000 if split_fqn(parent)[0] == self._own_service else 0
        self._lists[collection, parent] = _Listing(entities, self._clock() + lifetime)
        return entities

    def clear_cache(self) -> None:
        self._lists.clear()


def parent_of(collection: str, name: str) -> str:
    """Return the name of the parent under which an entity is listed."""
    return fqn(*split_fqn(name)[: LIST_PARENT[collection].name_parts])


def column_paths(entity: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return paths of all columns of an entity of any type."""
    return list(_column_paths(columns_of(entity), ()))


def columns_of(entity: dict[str, Any]) -> list[dict[str, Any]]:
    """Return top-level columns of an entity of any type."""
    data_model = entity.get("dataModel") or {}
    message = entity.get("messageSchema") or {}
    return entity.get("columns") or data_model.get("columns") or message.get("schemaFields") or []


def _column_paths(columns: list[dict[str, Any]], parent_path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for column in columns:
        path = (*parent_path, column["name"])
        yield path
        yield from _column_paths(column.get("children") or [], path)
