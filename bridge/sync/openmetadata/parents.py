"""Services, databases, schemas and collections: made where they are missing, and never touched where they are not."""

from collections.abc import Sequence
from typing import Literal

from connectors.openmetadata.client import OpenMetadata
from mappers.errors import LineageBridgeError
from mappers.openmetadata.requests import Request

#: What may be made that is not there.
Create = Literal["all", "entities", "nothing"]


class Parents:
    """Sees to it that what entities lie in is there. Not for several threads at once."""

    def __init__(self, client: OpenMetadata, create: Create) -> None:
        self._client = client
        self._create = create
        self._there: set[tuple[str, str]] = set()
        self._failed: dict[tuple[str, str], LineageBridgeError] = {}

    def begin(self) -> None:
        """Begin a batch: what failed in the one before may be tried again."""
        self._failed.clear()

    def ensure(self, requests: Sequence[Request]) -> None:
        """Make what is missing of these, in this order; what failed is not asked for again in a batch."""
        for request in requests:
            key = (request.collection, request.fqn)
            if key in self._failed:
                raise self._failed[key]
            try:
                if not self._is_there(request):
                    self._client.put(request.collection, request.body)
                    self._there.add(key)
            except LineageBridgeError as error:
                self._failed[key] = error
                raise

    def refused(self, requests: Sequence[Request], own: str) -> str | None:
        """Say why an entity may not be made in these, if it may not."""
        if self._create == "nothing":
            return f"{own} is not in OpenMetadata, and openmetadata.create is nothing"
        service = requests[0]
        if self._create == "entities" and not self._is_there(service):
            return f"the service {service.fqn} is not in OpenMetadata, and openmetadata.create is entities"
        return None

    def _is_there(self, request: Request) -> bool:
        key = (request.collection, request.fqn)
        if key not in self._there and self._client.get(*key) is not None:
            self._there.add(key)
        return key in self._there

    def forget(self) -> None:
        """Look for everything anew."""
        self._there.clear()
