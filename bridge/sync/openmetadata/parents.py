"""Creates missing services, databases, schemas and collections; existing ones are never changed."""

from collections.abc import Sequence
from typing import Literal

from bridge.sync.context import RequestPool
from bridge.sync.openmetadata.entity_lookup import FoundEntity
from connectors.openmetadata.client import OpenMetadataClient
from mappers.errors import LineageBridgeError
from mappers.openmetadata.entity_requests import EntityRequest

#: What the bridge may create.
CreatePolicy = Literal["all", "entities", "nothing"]
#: Collection and fully qualified name.
EntityKey = tuple[str, str]


class ParentEntities:
    """Ensures that the parents of entities exist. Not thread-safe."""

    def __init__(self, client: OpenMetadataClient, create: CreatePolicy, own_service: str) -> None:
        self._client = client
        self._create = create
        self._own_service = own_service
        self._existing: set[EntityKey] = set()
        #: Parents that were missing (None) or soft-deleted when the current batch looked them up.
        self._absent: dict[EntityKey, FoundEntity | None] = {}

    def start_batch(self) -> None:
        """Look up missing and soft-deleted parents again."""
        self._absent.clear()

    def create_missing(
        self, chains: Sequence[Sequence[EntityRequest]], requests: RequestPool
    ) -> dict[EntityKey, LineageBridgeError]:
        """Create missing parents, outermost first; return the errors of parents that could not be created."""
        errors: dict[EntityKey, LineageBridgeError] = {}
        for level in range(max(map(len, chains), default=0)):
            missing: dict[EntityKey, EntityRequest] = {}
            for chain in chains:
                if level >= len(chain) or any(key_of(outer) in errors for outer in chain[:level]):
                    continue
                key = key_of(chain[level])
                if key not in self._existing:
                    missing[key] = chain[level]
            for request, error in requests.map(self._ensure, list(missing.values()), _creation_failed):
                if error is None:
                    self._existing.add(key_of(request))
                else:
                    errors[key_of(request)] = error
        return errors

    def _ensure(self, request: EntityRequest) -> tuple[EntityRequest, LineageBridgeError | None]:
        key = key_of(request)
        found = self._absent[key] if key in self._absent else self._fetch(key)
        if found is None:
            self._client.put(request.collection, request.body)
        elif found.deleted:
            self._client.restore(request.collection, found.id)
        return request, None

    def find_missing(self, chains: Sequence[Sequence[EntityRequest]]) -> list[EntityRequest]:
        """Return parents that do not exist."""
        distinct = {key_of(request): request for chain in chains for request in chain}
        return [request for request in distinct.values() if not self._exists(request)]

    def creation_blocked_by(self, requests: Sequence[EntityRequest], own: str) -> str | None:
        """Return the reason why an entity must not be created; None if it may be created."""
        if self._create == "nothing":
            return f"{own} is not in OpenMetadata, and openmetadata.create is nothing"
        service = requests[0]
        if self._create == "entities" and not self._exists(service):
            return f"the service {service.fqn} is not in OpenMetadata, and openmetadata.create is entities"
        if service.fqn != self._own_service:
            for parent in requests:
                if (deleted := self._find_deleted(parent)) is not None:
                    return deleted.describe_deletion(parent.fqn)
        return None

    def _exists(self, request: EntityRequest) -> bool:
        self._find_deleted(request)  # caches whether the parent exists
        return key_of(request) in self._existing

    def _find_deleted(self, request: EntityRequest) -> FoundEntity | None:
        """Look up a parent, and return it only if it is soft-deleted."""
        key = key_of(request)
        if key in self._existing:
            return None
        if key not in self._absent:
            found = self._fetch(key)
            if found is not None and not found.deleted:
                self._existing.add(key)
                return None
            self._absent[key] = found
        return self._absent[key]

    def _fetch(self, key: EntityKey) -> FoundEntity | None:
        entity = self._client.get(*key, deleted=True)
        return FoundEntity.of(entity) if entity else None

    def clear_cache(self) -> None:
        self._existing.clear()
        self._absent.clear()


def key_of(request: EntityRequest) -> EntityKey:
    return request.collection, request.fqn


def _creation_failed(
    request: EntityRequest, error: LineageBridgeError
) -> tuple[EntityRequest, LineageBridgeError | None]:
    return request, error
