"""Calls of a Marquez server, each as the server really takes and answers it."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from connectors.caller import Caller
from connectors.http import HttpAnswer
from connectors.marquez.refusal import refusal
from connectors.tries import tries
from mappers.errors import LineageBridgeError, TargetBusy, TargetLocked

Entity = dict[str, Any]

#: Writing an event with thousands of columns takes seconds, and a graph of a large server takes longer.
_READ_SECONDS = 60.0
_NOT_FOUND, _FAILED = 404, 500
#: How many things are listed in one answer.
_PAGE = 100


class Marquez:
    """One server. Several threads may share it."""

    def __init__(self, caller: Caller, *, attempts: int = 1, sleep: Callable[[float], None] = time.sleep) -> None:
        self.url = caller.url
        self._caller = caller
        self._tries = tries(attempts, sleep)

    @property
    def source(self) -> str:
        """Name what events are from that are taken from the log of this server."""
        return f"marquez:{self.url}"

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()

    def probe(self) -> None:
        """Ask once whether the server answers; raises what is wrong."""
        found = self._decoded(self._once("probe", "GET", "/namespaces/default"))
        if found.get("name") != "default":
            raise TargetLocked(f"{self.url} knows no namespace `default`: is it Marquez?")

    def send(self, event: Entity) -> None:
        """Tell the server of an event: it keeps each that it is sent, again and again.

        Once more only where another one may have stood in its way: who comes first of several makes what they share.
        """
        try:
            self._once("send", "POST", "/lineage", body=event)
        except TargetBusy as error:
            if error.status != _FAILED:
                raise
            self._once("send", "POST", "/lineage", body=event)

    def logged(self, after: str, before: str, limit: int) -> list[Entity]:
        """List events of runs of a time, whose end is not part of it; nothing orders those of one moment."""
        asked = {"after": after, "before": before, "sortDirection": "asc", "limit": str(limit)}
        found = self._decoded(self._ask("log", "GET", "/events/lineage", asked=asked)).get("events")
        return list(found or ())

    def run(self, run_id: str) -> Entity | None:
        """Give a run."""
        return self._found("run", f"/jobs/runs/{_quoted(run_id)}")

    def job(self, namespace: str, name: str) -> Entity | None:
        """Give a job, by the name that Marquez has for it."""
        return self._found("job", f"/namespaces/{_quoted(namespace)}/jobs/{_quoted(name)}")

    def dataset(self, namespace: str, name: str) -> Entity | None:
        """Give a dataset with its facets and tags."""
        return self._found("dataset", _dataset(namespace, name))

    def is_of_run(self, namespace: str, name: str) -> bool:
        """Tell whether a run made the newest version of a dataset."""
        answer = self._ask(
            "dataset", "GET", f"{_dataset(namespace, name)}/versions", asked={"limit": "1"}, absent=True
        )
        versions = self._decoded(answer).get("versions") or ()
        return any(one.get("createdByRun") for one in versions)

    def tag(self, namespace: str, name: str, tag: str) -> None:
        """Give a dataset a tag; an unknown one is made."""
        self._ask("tag", "POST", f"{_dataset(namespace, name)}/tags/{_quoted(tag)}")

    def untag(self, namespace: str, name: str, tag: str) -> None:
        """Take a tag off a dataset."""
        self._ask("tag", "DELETE", f"{_dataset(namespace, name)}/tags/{_quoted(tag)}", absent=True)

    def tag_field(self, namespace: str, name: str, field: str, tag: str) -> None:
        """Give a column a tag."""
        self._ask("tag", "POST", f"{_dataset(namespace, name)}/fields/{_quoted(field)}/tags/{_quoted(tag)}")

    def untag_field(self, namespace: str, name: str, field: str, tag: str) -> None:
        """Take a tag off a column."""
        path = f"{_dataset(namespace, name)}/fields/{_quoted(field)}/tags/{_quoted(tag)}"
        self._ask("tag", "DELETE", path, absent=True)

    def namespaces(self) -> Iterator[Entity]:
        """List all namespaces."""
        return self._pages("namespaces", "/namespaces", "namespaces")

    def datasets(self, namespace: str) -> Iterator[Entity]:
        """List the datasets of a namespace with their facets."""
        return self._pages("datasets", f"/namespaces/{_quoted(namespace)}/datasets", "datasets")

    def jobs(self, namespace: str) -> Iterator[Entity]:
        """List the jobs of a namespace with their facets."""
        return self._pages("jobs", f"/namespaces/{_quoted(namespace)}/jobs", "jobs")

    def _pages(self, kind: str, path: str, key: str) -> Iterator[Entity]:
        """Read page by page until one is short: what the server counts is not what it lists."""
        offset = 0
        while True:
            asked = {"limit": str(_PAGE), "offset": str(offset)}
            found = self._decoded(self._ask(kind, "GET", path, asked=asked, absent=True)).get(key) or []
            yield from found
            offset += len(found)
            if len(found) < _PAGE:
                return

    def _found(self, kind: str, path: str) -> Entity | None:
        answer = self._ask(kind, "GET", path, absent=True)
        return None if answer.status == _NOT_FOUND else self._decoded(answer)

    def _ask(
        self, kind: str, method: str, path: str, *, asked: Mapping[str, str] | None = None, absent: bool = False
    ) -> HttpAnswer:
        """Ask until the server does it, says that it will not, or was asked often enough."""
        return self._tries(lambda: self._once(kind, method, path, asked=asked, absent=absent))

    def _once(
        self,
        kind: str,
        method: str,
        path: str,
        *,
        body: Entity | None = None,
        asked: Mapping[str, str] | None = None,
        absent: bool = False,
    ) -> HttpAnswer:
        def judge(answer: HttpAnswer) -> LineageBridgeError | None:
            if answer.success and answer.body.lstrip()[:1] == b"<":
                return self._strange(answer)  # it comes from something in between, however good its status is
            if answer.success or (absent and answer.status == _NOT_FOUND and answer.body[:1] == b"{"):
                return None
            return refusal(answer, f"{self.url}: {method} /{path.split('/')[3]}")

        path = f"/api/v1{path}"
        return self._caller.ask(kind, method, path, judge, body=body, asked=asked, read_seconds=_READ_SECONDS)

    def _decoded(self, answer: HttpAnswer) -> Entity:
        try:
            return msgspec.json.decode(answer.body, type=Entity) if answer.body else {}
        except msgspec.DecodeError as error:
            raise self._strange(answer) from error

    def _strange(self, answer: HttpAnswer) -> TargetLocked:
        said = " ".join(answer.text.split())[:100]
        return TargetLocked(f"{self.url} answers {said!r} where JSON was expected: is it Marquez?")


def _dataset(namespace: str, name: str) -> str:
    return f"/namespaces/{_quoted(namespace)}/datasets/{_quoted(name)}"


def _quoted(name: str) -> str:
    return quote(name, safe="")
