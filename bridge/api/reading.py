"""The routes that answer questions about the store, on connections and threads of their own."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridge.api.problem import failed, problem
from bridge.catalogue.question import Catalogue, Question
from bridge.catalogue.questions import QUESTIONS
from bridge.catalogue.routes import routes_of
from mappers.errors import BadQuestion, LineageBridgeError

#: How many questions are answered at once: each has a connection, and takes time from the intake.
READERS = 4


class Reading:
    """Answers questions in threads, each with a connection that is opened when it is first needed."""

    def __init__(self, open_catalogue: Callable[[], Catalogue]) -> None:
        self._open = open_catalogue
        self._mine = threading.local()
        self._opened: list[Catalogue] = []
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="reading")

    async def answer(self, question: Question[Any]) -> Response:
        """Answer a question, or say as a problem why not."""
        try:
            body = await asyncio.get_running_loop().run_in_executor(self._threads, self._encoded, question)
        except LineageBridgeError as error:
            return failed(error, "Not readable")
        return Response(body, media_type="application/json")

    def _encoded(self, question: Question[Any]) -> bytes:
        catalogue: Catalogue | None = getattr(self._mine, "catalogue", None)
        if catalogue is None:
            catalogue = self._mine.catalogue = self._open()
            self._opened.append(catalogue)
        return msgspec.json.encode(catalogue.ask(question))

    def close(self) -> None:
        """End the threads, then close their connections."""
        self._threads.shutdown()
        for catalogue in self._opened:
            catalogue.close()


#: Every route that answers a question.
READING_ROUTES: dict[str, type[Question[Any]]] = {path: kind for kind in QUESTIONS for path in routes_of(kind)}
#: Says why a request may not pass a route, if it may not.
Refusal = Callable[[Request, str], Response | None]


def reading_routes(running: Callable[[], Reading | None], refusal: Refusal) -> list[Route]:
    """Make the routes of all questions."""
    return [
        Route(path.replace("{field}", "{field:path}"), _handler(path, kind, running, refusal), methods=["GET"])
        for path, kind in READING_ROUTES.items()
    ]


def _handler(
    path: str, kind: type[Question[Any]], running: Callable[[], Reading | None], refusal: Refusal
) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        refused = refusal(request, path)
        if refused is not None:
            return refused
        reading = running()
        if reading is None:
            return problem(503, "Starting", "the service is starting")
        try:
            question = read_question(path, kind, request)
        except BadQuestion as error:
            return problem(400, "Bad parameter", str(error), field=error.parameter)
        return await reading.answer(question)

    return handle


def read_question(path: str, kind: type[Question[Any]], request: Request) -> Question[Any]:
    """Read a question from path and parameters; raises BadQuestion naming the parameter."""
    given: dict[str, str] = dict(request.path_params)
    allowed = {field.name for field in msgspec.structs.fields(kind)} - elsewhere(path, kind)
    for name, value in request.query_params.multi_items():
        if name in given:
            raise BadQuestion("given twice", name)
        if name not in allowed:
            raise BadQuestion(f"unknown; known are {', '.join(sorted(allowed - given.keys())) or 'none'}", name[:64])
        given[name] = value
    try:
        question: Question[Any] = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise BadQuestion(reason, place.rstrip("`") or _missing(reason)) from error
    return question


def elsewhere(path: str, kind: type[Question[Any]]) -> frozenset[str]:
    """Name the parameters of a question that one of its routes does not take, because another does."""
    if kind.about is None:
        return frozenset()
    return frozenset({"namespace", "name"} if "{id}" in path else {"id"})


def _missing(reason: str) -> str:
    """Name the parameter that is not given."""
    return reason.partition("field `")[2].rstrip("`")
