"""Services, databases, schemas and collections: made where they are missing, and never touched where they are not."""

from collections.abc import Sequence
from typing import Literal

from bridge.sync.request_pool import RequestPool
from connectors.openmetadata.client import OpenMetadataClient
from mappers.errors import LineageBridgeError
from mappers.openmetadata.entity_requests import EntityRequest

#: What may be made that is not there.
CreatePolicy = Literal["all", "entities", "nothing"]
#: What names an entity of any kind: its collection, and its fully qualified name.
EntityKey = tuple[str, str]


class ParentEntities:
    """Sees to it that what entities lie in is there. Not for several threads at once."""

    def __init__(self, client: OpenMetadataClient, create: CreatePolicy) -> None:
        self._client = client
        self._create = create
        self._there: set[EntityKey] = set()

    def create_missing(
        self, chains: Sequence[Sequence[EntityRequest]], workers: RequestPool
    ) -> dict[EntityKey, LineageBridgeError]:
        """Make what is missing, those first that others lie in; gives what could not be made, and why."""
        failed: dict[EntityKey, LineageBridgeError] = {}
        for level in range(max(map(len, chains), default=0)):
            missing = {
                key_of(chain[level]): chain[level]
                for chain in chains
                if level < len(chain)
                and key_of(chain[level]) not in self._there
                and not any(key_of(above) in failed for above in chain[:level])
            }
            for request, error in workers.map(self._made, list(missing.values()), _not_made):
                if error is None:
                    self._there.add(key_of(request))
                else:
                    failed[key_of(request)] = error
        return failed

    def _made(self, request: EntityRequest) -> tuple[EntityRequest, LineageBridgeError | None]:
        if self._client.get(request.collection, request.fqn) is None:
            self._client.put(request.collection, request.body)
        return request, None

    def missing(self, chains: Sequence[Sequence[EntityRequest]]) -> list[EntityRequest]:
        """Say what of these is not there."""
        distinct = {key_of(one): one for chain in chains for one in chain}
        return [one for one in distinct.values() if not self._is_there(one)]

    def creation_blocked_by(self, requests: Sequence[EntityRequest], own: str) -> str | None:
        """Say why an entity may not be made in these, if it may not."""
        if self._create == "nothing":
            return f"{own} is not in OpenMetadata, and openmetadata.create is nothing"
        service = requests[0]
        if self._create == "entities" and not self._is_there(service):
            return f"the service {service.fqn} is not in OpenMetadata, and openmetadata.create is entities"
        return None

    def _is_there(self, request: EntityRequest) -> bool:
        key = key_of(request)
        if key not in self._there and self._client.get(*key) is not None:
            self._there.add(key)
        return key in self._there

    def clear_cache(self) -> None:
        """Look for everything anew."""
        self._there.clear()


def key_of(request: EntityRequest) -> EntityKey:
    """Name what a request makes."""
    return request.collection, request.fqn


def _not_made(request: EntityRequest, error: LineageBridgeError) -> tuple[EntityRequest, LineageBridgeError | None]:
    return request, error
