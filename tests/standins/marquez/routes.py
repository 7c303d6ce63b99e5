"""The paths that the server has, and who answers them."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from tests.standins.marquez import (
    column_graph,
    dataset_puts,
    dataset_versions,
    datasets,
    event_log,
    graph,
    intake,
    job_puts,
    job_version_calls,
    jobs,
    namespaces,
    runs,
    sources,
    tags,
)
from tests.standins.marquez.errors import plain
from tests.standins.marquez.exchange import Answer, Call

Handler = Callable[[Call], Answer]
_BASE = "/api/v1"
_DATASET = "/namespaces/{namespace}/datasets/{dataset}"
_JOB = "/namespaces/{namespace}/jobs/{job}"


@dataclass(frozen=True)
class Route:
    """A path, with the handlers of its methods."""

    template: str
    handlers: dict[str, Handler]

    @property
    def parts(self) -> list[str]:
        return self.template.split("/")


def _route(template: str, **handlers: Handler) -> Route:
    return Route(_BASE + template, handlers)


ROUTES = (
    _route("/lineage", POST=intake.post, GET=graph.lineage),
    _route("/column-lineage", GET=column_graph.lineage),
    _route("/events/lineage", GET=event_log.listed),
    _route("/namespaces", GET=namespaces.listed),
    _route("/namespaces/{namespace}", GET=namespaces.get, PUT=namespaces.put, DELETE=namespaces.delete),
    _route("/namespaces/{namespace}/datasets", GET=datasets.listed),
    _route(_DATASET, GET=datasets.get, PUT=dataset_puts.put, DELETE=datasets.delete),
    _route(_DATASET + "/versions", GET=dataset_versions.listed),
    _route(_DATASET + "/versions/{version}", GET=dataset_versions.get),
    _route(_DATASET + "/tags/{tag}", POST=tags.tag_dataset, DELETE=tags.untag_dataset),
    _route(_DATASET + "/fields/{field}/tags/{tag}", POST=tags.tag_field, DELETE=tags.untag_field),
    _route("/jobs", GET=jobs.listed_all),
    _route("/jobs/runs/{run}", GET=runs.get),
    _route("/jobs/runs/{run}/facets", GET=runs.facets),
    _route("/jobs/runs/{run}/{move}", POST=job_puts.move),
    _route("/namespaces/{namespace}/jobs", GET=jobs.listed),
    _route(_JOB, GET=jobs.get, PUT=job_puts.put, DELETE=jobs.delete),
    _route(_JOB + "/versions", GET=job_version_calls.listed),
    _route(_JOB + "/versions/{version}", GET=job_version_calls.get),
    _route(_JOB + "/runs", GET=runs.listed, POST=job_puts.post_run),
    _route(_JOB + "/tags/{tag}", POST=tags.tag_job, DELETE=tags.untag_job),
    _route("/sources", GET=sources.listed),
    _route("/sources/{source}", GET=sources.get, PUT=sources.put),
    _route("/tags", GET=tags.listed),
    _route("/tags/{tag}", PUT=tags.put),
)


def find(path: str) -> tuple[Route, dict[str, str]]:
    """Find the route of a path, with the names in it; what follows a semicolon is not part of a name."""
    parts = [unquote(part.partition(";")[0]) for part in path.removesuffix("/").split("/")]
    for route in ROUTES:
        if len(route.parts) == len(parts) and all(
            want == have or (want.startswith("{") and have) for want, have in zip(route.parts, parts, strict=True)
        ):
            pairs = zip(route.parts, parts, strict=True)
            return route, {want[1:-1]: have for want, have in pairs if want.startswith("{")}
    raise plain(404)
