"""Asks a running service what would else be asked of a store."""

import msgspec

from bridge.catalogue.question import A, Question
from bridge.catalogue.routes import asked
from connectors.http import HttpAnswer
from connectors.openlineage.http import KEY_REMEDY, EventClient
from mappers.errors import BadQuestion, ConfigError, Conflict, UnknownName, Unreachable

#: What a service calls the refusal of a name that it does not know, rather than of a route.
UNKNOWN_NAME = "Unknown name"
#: What a service calls the refusal of what is there.
CONFLICT = "Conflict"


class _Problem(msgspec.Struct):
    title: str = ""
    detail: str = ""
    field: str = ""
    conflicts: list[dict[str, str | None]] = []


class ServiceCatalogue:
    """Answers what a service answers."""

    def __init__(self, client: EventClient) -> None:
        self._client = client

    def ask(self, question: Question[A]) -> A:
        """Ask the service; raises what a store would raise, and Unreachable when there is no answer."""
        path, parameters = asked(question)
        kind: type[A] = question.answer
        return read_answer(self._client.url, path, self._client.get(path, parameters), kind)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def read_answer(url: str, path: str, answer: HttpAnswer, kind: type[A]) -> A:
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
        raise UnknownName(problem.detail)
    if status == 409:
        raise Conflict(problem.detail, problem.conflicts)
    if status == 400:
        raise BadQuestion(problem.detail.removeprefix(f"{problem.field}: "), problem.field)
    said = f"{url}: {problem.title}: {problem.detail}"
    if status in {401, 403}:
        raise ConfigError(f"{said} {KEY_REMEDY}")
    raise Unreachable(said)
