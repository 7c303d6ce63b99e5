"""Routes of the server."""

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
    job_version_handlers,
    jobs,
    namespaces,
    runs,
    sources,
    tags,
)
from tests.standins.marquez.errors import standard_error
from tests.standins.marquez.exchange import ApiResponse, Call

Handler = Callable[[Call], ApiResponse]
_BASE = "/api/v1"
_DATASET = "/namespaces/{namespace}/datasets/{dataset}"
_JOB = "/namespaces/{namespace}/jobs/{job}"


@dataclass(frozen=True)
class Route:
    """A path and its handlers by method."""

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
    _route("/events/lineage", GET=event_log.list_events),
    _route("/namespaces", GET=namespaces.list_namespaces),
    _route("/namespaces/{namespace}", GET=namespaces.get, PUT=namespaces.put, DELETE=namespaces.delete),
    _route("/namespaces/{namespace}/datasets", GET=datasets.list_datasets),
    _route(_DATASET, GET=datasets.get, PUT=dataset_puts.put, DELETE=datasets.delete),
    _route(_DATASET + "/versions", GET=dataset_versions.list_versions),
    _route(_DATASET + "/versions/{version}", GET=dataset_versions.get),
    _route(_DATASET + "/tags/{tag}", POST=tags.tag_dataset, DELETE=tags.untag_dataset),
    _route(_DATASET + "/fields/{field}/tags/{tag}", POST=tags.tag_field, DELETE=tags.untag_field),
    _route("/jobs", GET=jobs.list_all_jobs),
    _route("/jobs/runs/{run}", GET=runs.get),
    _route("/jobs/runs/{run}/facets", GET=runs.facets),
    _route("/jobs/runs/{run}/{action}", POST=job_puts.change_state),
    _route("/namespaces/{namespace}/jobs", GET=jobs.list_jobs),
    _route(_JOB, GET=jobs.get, PUT=job_puts.put, DELETE=jobs.delete),
    _route(_JOB + "/versions", GET=job_version_handlers.list_versions),
    _route(_JOB + "/versions/{version}", GET=job_version_handlers.get),
    _route(_JOB + "/runs", GET=runs.list_runs, POST=job_puts.post_run),
    _route(_JOB + "/tags/{tag}", POST=tags.tag_job, DELETE=tags.untag_job),
    _route("/sources", GET=sources.list_sources),
    _route("/sources/{source}", GET=sources.get, PUT=sources.put),
    _route("/tags", GET=tags.list_tags),
    _route("/tags/{tag}", PUT=tags.put),
)


def find(path: str) -> tuple[Route, dict[str, str]]:
    """Find the route and arguments of a path; text after a semicolon is ignored."""
    parts = [unquote(part.partition(";")[0]) for part in path.removesuffix("/").split("/")]
    for route in ROUTES:
        if len(route.parts) == len(parts) and all(
            expected == actual or (expected.startswith("{") and actual)
            for expected, actual in zip(route.parts, parts, strict=True)
        ):
            pairs = zip(route.parts, parts, strict=True)
            return route, {expected[1:-1]: actual for expected, actual in pairs if expected.startswith("{")}
    raise standard_error(404)
