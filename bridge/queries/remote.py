"""Runs queries on a lineage-bridge service."""

import msgspec

from bridge.errors import InvalidParameter, NotFound, StateConflict
from bridge.queries.query import A, Query
from bridge.queries.routes import to_request
from connectors.errors import ConfigError, Unreachable
from connectors.http import HttpResponse
from connectors.openlineage.http import API_KEY_HINT, BridgeClient

#: What a service calls the refusal of a name that it does not know, rather than of a route.
UNKNOWN_NAME = "Unknown name"
#: What a service calls the refusal of what is there.
CONFLICT = "Conflict"


class _Problem(msgspec.Struct):
    title: str = ""
    detail: str = ""
    field: str = ""
    conflicts: list[dict[str, str | None]] = []


class RemoteQueryService:
    """Answers what a service answers."""

    def __init__(self, client: BridgeClient) -> None:
        self._client = client

    def run(self, question: Query[A]) -> A:
        """Ask the service; raises what a store would raise, and Unreachable when there is no answer."""
        path, parameters = to_request(question)
        kind: type[A] = question.result_type
        return decode_response(self._client.url, path, self._client.get(path, parameters), kind)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def decode_response(url: str, path: str, answer: HttpResponse, kind: type[A]) -> A:
    """Read what a service answers; raises what a store would raise, and Unreachable for what passes."""
    status, _, body = answer
    try:
        if status == 200:
            found: A = msgspec.json.decode(body, type=kind)
            return found
        problem = msgspec.json.decode(body, type=_Problem)
    except msgspec.DecodeError as error:
        raise ConfigError(
            f"{url} answers {path} with {status} and what this lineage-bridge does not understand "
            f"({error}): is it a lineage-bridge, and of the same version?"
        ) from error
    if status == 404 and problem.title == UNKNOWN_NAME:
        raise NotFound(problem.detail)
    if status == 409:
        raise StateConflict(problem.detail, problem.conflicts)
    if status == 400:
        raise InvalidParameter(problem.detail.removeprefix(f"{problem.field}: "), problem.field)
    said = f"{url}: {problem.title}: {problem.detail}"
    if status in {401, 403}:
        raise ConfigError(f"{said} {API_KEY_HINT}")
    raise Unreachable(said)
