"""Validates accepted bodies with a second check: the models generated from the schemas of OpenMetadata."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import EVERY, TYPE, USER

#: Takes collection and body; returns the reason if the body is invalid.
Check = Callable[[str, Any], str | None]

_PREFIX = "/api/v1/"
#: The bridge creates no users, and only adds custom properties to types.
_UNCHECKED = (TYPE, USER)
_COLLECTIONS = {path: path for path in (*(kind.path for kind in EVERY if kind not in _UNCHECKED), "lineage")}
_COLLECTIONS |= {path: path for path in ("dataQuality/testDefinitions", "dataQuality/testCases")}
_COLLECTIONS |= {
    "pipelines/{fqn}/status": "pipelineStatus",
    "dataQuality/testCases/testCaseResults/{fqn}": "testCaseResult",
    "tables/{id}/tableProfile": "tableProfile",
}


class InvalidBody(NamedTuple):
    """An accepted body that is invalid."""

    collection: str
    reason: str
    body: Any


def find_invalid_bodies(
    check: Check, method: str, template: str, call: Call, response: ApiResponse
) -> Iterator[InvalidBody]:
    """Check the accepted bodies of a request."""
    if method not in ("PUT", "POST") or response.status >= 300:
        return
    path = template.removeprefix(_PREFIX)
    bulk = path.endswith("/bulk")
    collection = _COLLECTIONS.get(path.removesuffix("/bulk"))
    if collection is None:
        return
    failed = [row.get("request") for row in response.body.get("failedRequest", ())] if bulk and response.body else []
    names = {request["name"] for request in failed if request}
    for body in call.json() if bulk else [call.json()]:
        if body is not None and body.get("name") not in names and (reason := check(collection, body)):
            yield InvalidBody(collection, reason, body)
