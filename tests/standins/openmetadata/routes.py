"""Routes of the server."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import unquote

from tests.standins.openmetadata import (
    assets,
    bulk,
    cases,
    contracts,
    definitions,
    edges,
    event_pages,
    lists,
    profiles,
    reads,
    results,
    runs,
    system,
    types,
    writes,
)
from tests.standins.openmetadata.errors import ApiError, no_route
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import DOMAIN, GOVERNED, PRODUCT, TYPE
from tests.standins.openmetadata.kinds import KINDS

Handler = Callable[[Call], ApiResponse]


@dataclass
class Route:
    """A path and its handlers by method."""

    template: str
    segments: list[str]
    handlers: dict[str, Handler] = field(default_factory=dict)
    open: bool = False

    def match(self, segments: list[str]) -> dict[str, str] | None:
        """Arguments of a matching path, otherwise None."""
        args = {}
        for segment, value in zip(self.segments, segments, strict=True):
            if segment.startswith("{"):
                args[segment[1:-1]] = value
            elif segment != value:
                return None
        return args


_RESULTS = "dataQuality/testCases/testCaseResults"
_QUALITY: dict[str, dict[str, Handler]] = {
    "dataQuality/testDefinitions": {"PUT": definitions.put},
    "dataQuality/testDefinitions/name/{fqn}": {"GET": definitions.read},
    "dataQuality/testCases": {"PUT": cases.put, "POST": cases.create, "GET": cases.list_cases},
    "dataQuality/testCases/name/{fqn}": {"GET": cases.read},
    "dataQuality/testCases/{id}": {"DELETE": cases.delete},
    f"{_RESULTS}/{{fqn}}": {"POST": results.post, "GET": results.read},
    f"{_RESULTS}/{{fqn}}/{{timestamp}}": {"DELETE": results.delete},
    "tables/{id}/tableProfile": {"PUT": profiles.put},
    "dataContracts": {"PUT": contracts.put},
    "dataContracts/entity": {"GET": contracts.read_of_entity},
    "dataContracts/{id}": {"DELETE": contracts.delete},
    "tables/{id}/pipelineObservability": {"GET": profiles.read_last_runs},
    "tables/{id}/pipelineObservability/{fqn}": {"PUT": profiles.put_last_run},
    "tables/{fqn}/tableProfile": {"GET": profiles.read_table},
    "tables/{fqn}/tableProfile/latest": {"GET": profiles.latest},
    "tables/{fqn}/columnProfile": {"GET": profiles.read_column},
    "tables/{fqn}/systemProfile": {"GET": profiles.read_system},
    "tables/{fqn}/table/{timestamp}/profile": {"DELETE": profiles.delete},
    "tables/{fqn}/system/{timestamp}/profile": {"DELETE": profiles.delete_system},
}


def _table() -> dict[str, dict[str, Handler]]:
    routes: dict[str, dict[str, Handler]] = {
        "system/version": {"GET": system.version},
        "system/status": {"GET": system.status},
        "users/loggedInUser": {"GET": system.logged_in},
        "users/login": {"POST": system.login},
        "permissions": {"GET": system.permissions},
        "permissions/{resource}": {"GET": system.permission},
        "lineage": {"PUT": edges.put},
        "lineage/getLineageEdge/{from}/{to}": {"GET": edges.read},
        "lineage/getLineageEdge/{fromType}/name/{fromFqn}/{toType}/name/{toFqn}": {"GET": edges.read_by_name},
        "lineage/{type}/{id}/type/{source}": {"DELETE": edges.delete_by_source},
        "lineage/{type}/name/{fqn}": {"GET": edges.read_graph},
        "lineage/{type}/{id}": {"GET": edges.read_graph},
        "lineage/{fromType}/{from}/{toType}/{to}": {"PATCH": edges.patch, "DELETE": edges.delete},
        "lineage/{fromType}/name/{fromFqn}/{toType}/name/{toFqn}": {
            "PUT": edges.put_by_name,
            "PATCH": edges.patch_by_name,
            "DELETE": edges.delete_by_name,
        },
        "pipelines/{fqn}/status": {"PUT": runs.put, "GET": runs.read},
        "pipelines/{fqn}/status/bulk": {"PUT": runs.put_bulk},
        "pipelines/{fqn}/status/{timestamp}": {"DELETE": runs.delete},
        "events": {"GET": event_pages.read},
        "metadata/types": {"GET": partial(lists.entities, kind=TYPE)},
        "metadata/types/name/{fqn}": {"GET": partial(reads.read, kind=TYPE)},
        "metadata/types/{id}": {"GET": partial(reads.read, kind=TYPE), "PUT": types.define},
        **_QUALITY,
    }
    for kind in (DOMAIN, PRODUCT):
        for action, handler in (("add", assets.add), ("remove", assets.remove)):
            routes[f"{kind.path}/{{fqn}}/assets/{action}"] = {"PUT": partial(handler, kind=kind)}
        routes[f"{kind.path}/name/{{fqn}}/assets"] = {"GET": partial(assets.read, kind=kind)}
    for kind in (*KINDS, *GOVERNED):
        item = {"GET": reads.read, "PATCH": writes.change, "DELETE": writes.delete}
        kind_routes = {
            kind.path: {"GET": lists.entities, "POST": writes.create, "PUT": writes.replace},
            f"{kind.path}/restore": {"PUT": writes.restore},
            f"{kind.path}/name/{{fqn}}": item,
            f"{kind.path}/{{id}}": item,
            f"{kind.path}/{{id}}/versions": {"GET": reads.versions},
            f"{kind.path}/{{id}}/versions/{{version}}": {"GET": reads.version},
        }
        if kind.bulk:
            kind_routes[f"{kind.path}/bulk"] = {"PUT": bulk.replace}
        for path, handlers in kind_routes.items():
            routes[path] = {method: partial(handler, kind=kind) for method, handler in handlers.items()}
    return routes


_OPEN = ("system/version", "users/login")
ROUTES: dict[int, list[Route]] = {}
for _path, _handlers in _table().items():
    _route = Route(f"/api/v1/{_path}", _path.split("/"), _handlers, _path in _OPEN)
    ROUTES.setdefault(len(_route.segments), []).append(_route)
for _same_length in ROUTES.values():
    _same_length.sort(key=lambda route: [segment.startswith("{") for segment in route.segments])


def find(raw_path: str, method: str) -> tuple[Route, dict[str, str]]:
    """Find the route and arguments of a raw path; escaped slashes do not separate segments, `;` starts a parameter."""
    if not raw_path.startswith("/api/v1/"):
        raise no_route()
    segments = [unquote(part.partition(";")[0]) for part in raw_path.removesuffix("/").split("/")[3:]]
    found = [(route, args) for route in ROUTES.get(len(segments), ()) if (args := route.match(segments)) is not None]
    for route, args in found:
        if method in route.handlers:
            return route, args
    if not found:
        raise no_route()
    raise WrongMethod({method for route, _ in found for method in route.handlers})


class WrongMethod(ApiError):
    """A known path with an unsupported method."""

    def __init__(self, methods: set[str]) -> None:
        super().__init__(405, "HTTP 405 Method Not Allowed")
        self.allow = ",".join(sorted(methods | {"OPTIONS"}))
