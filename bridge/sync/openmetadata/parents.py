"""Creates missing services, databases, schemas and collections; existing ones are never changed."""

from collections.abc import Sequence
from typing import Literal

from bridge.sync.openmetadata.entity_lookup import FoundEntity
from bridge.sync.request_pool import RequestPool
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
        #: Parents that were missing at the start of the current batch.
        self._missing: set[EntityKey] = set()

    def create_missing(
        self, chains: Sequence[Sequence[EntityRequest]], requests: RequestPool
    ) -> dict[EntityKey, LineageBridgeError]:
        """Create missing parents, outermost first; returns the errors of parents that could not be created."""
        failed: dict[EntityKey, LineageBridgeError] = {}
        for level in range(max(map(len, chains), default=0)):
            missing = {
                key_of(chain[level]): chain[level]
                for chain in chains
                if level < len(chain)
                and key_of(chain[level]) not in self._existing
                and not any(key_of(parent) in failed for parent in chain[:level])
            }
            for request, error in requests.map(self._ensure, list(missing.values()), _creation_failed):
                if error is None:
                    self._existing.add(key_of(request))
                else:
                    failed[key_of(request)] = error
        self._missing.clear()
        return failed

    def _ensure(self, request: EntityRequest) -> tuple[EntityRequest, LineageBridgeError | None]:
        key = key_of(request)
        entity = None if key in self._missing else self._client.get(*key, deleted=True)
        if entity is None:
            self._client.put(request.collection, request.body)
        elif entity.get("deleted"):
            self._client.restore(request.collection, str(entity["id"]))
        return request, None

    def missing(self, chains: Sequence[Sequence[EntityRequest]]) -> list[EntityRequest]:
        """Parents that do not exist."""
        distinct = {key_of(request): request for chain in chains for request in chain}
        return [request for request in distinct.values() if not self._exists(request)]

    def creation_blocked_by(self, requests: Sequence[EntityRequest], own: str) -> str | None:
        """Reason why an entity must not be created; None if creating the entity is allowed."""
        if self._create == "nothing":
            return f"{own} is not in OpenMetadata, and openmetadata.create is nothing"
        service = requests[0]
        if self._create == "entities" and not self._exists(service):
            return f"the service {service.fqn} is not in OpenMetadata, and openmetadata.create is entities"
        if service.fqn != self._own_service:
            for parent in requests:
                if (deleted := self._look_up(parent)) is not None:
                    return deleted.describe_deletion(parent.fqn)
        return None

    def _exists(self, request: EntityRequest) -> bool:
        self._look_up(request)
        return key_of(request) in self._existing

    def _look_up(self, request: EntityRequest) -> FoundEntity | None:
        """Look up a parent and cache whether it exists; returns the parent only if it is soft-deleted."""
        key = key_of(request)
        if key in self._existing or key in self._missing:
            return None
        entity = self._client.get(*key, deleted=True)
        if entity is None:
            self._missing.add(key)
        elif entity.get("deleted"):
            return FoundEntity.of(entity)
        else:
            self._existing.add(key)
        return None

    def clear_cache(self) -> None:
        self._existing.clear()
        self._missing.clear()


def key_of(request: EntityRequest) -> EntityKey:
    return request.collection, request.fqn


def _creation_failed(
    request: EntityRequest, error: LineageBridgeError
) -> tuple[EntityRequest, LineageBridgeError | None]:
    return request, error
