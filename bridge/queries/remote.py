"""Runs queries on a lineage-bridge service."""

import msgspec

from bridge.errors import AmbiguousName, InvalidParameter, NotFound, StateConflict
from bridge.queries.query import A, Query
from bridge.queries.routes import to_request
from connectors.errors import ConfigError, Unreachable
from connectors.http import HttpResponse
from connectors.openlineage.http import API_KEY_HINT, BridgeClient

#: Title of the problem "unknown name", as opposed to an unknown route.
UNKNOWN_NAME_TITLE = "Unknown name"
#: Title of the problem "conflict with existing data".
CONFLICT_TITLE = "Conflict"


class _Problem(msgspec.Struct):
    """The body of an error response."""

    title: str = ""
    detail: str = ""
    field: str = ""
    conflicts: list[dict[str, str | None]] = []
    similar: list[str] = []
    candidates: list[dict[str, str]] = []


class RemoteQueryService:
    """Runs queries on a service."""

    def __init__(self, client: BridgeClient) -> None:
        self._client = client

    def run(self, query: Query[A]) -> A:
        """Run a query. Raises the same errors as a local store, and Unreachable if the service does not respond."""
        path, parameters = to_request(query)
        result_type: type[A] = query.result_type
        return decode_response(self._client.url, path, self._client.get(path, parameters), result_type)

    def close(self) -> None:
        self._client.close()


def decode_response(url: str, path: str, response: HttpResponse, result_type: type[A]) -> A:
    """Decode a response. Raises the same errors as a local store, and Unreachable for temporary failures."""
    status, _, body = response
    try:
        if status == 200:
            result: A = msgspec.json.decode(body, type=result_type)
            return result
        problem = msgspec.json.decode(body, type=_Problem)
    except msgspec.DecodeError as error:
        raise ConfigError(
            f"{url} returned an invalid response to {path} (status {status}: {error}): "
            "check that it is a lineage-bridge of the same version"
        ) from error
    if status == 404 and problem.title == UNKNOWN_NAME_TITLE:
        reason, _, _ = problem.detail.partition("; similar: ") if problem.similar else (problem.detail, "", "")
        raise NotFound(reason, problem.similar)
    if status == 409:
        raise StateConflict(problem.detail, problem.conflicts)
    if status == 400 and problem.candidates:
        raise AmbiguousName(problem.candidates)
    if status == 400:
        raise InvalidParameter(problem.detail.removeprefix(f"{problem.field}: "), problem.field)
    message = f"{url}: {problem.title}: {problem.detail}"
    if status in {401, 403}:
        raise ConfigError(f"{message} {API_KEY_HINT}")
    raise Unreachable(message)
