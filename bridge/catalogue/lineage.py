"""Where a dataset or a column comes from, and where it goes."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from bridge.catalogue.question import View
from bridge.catalogue.things import AboutDataset, ColumnOf, Thing, require_column, thing
from bridge.store.column_walk import Column, Columns, ColumnWalk, Hop
from bridge.store.edges import EVER, Evidence
from bridge.store.graph import Edge, Graph, Named
from bridge.store.limits import MOST_EDGES
from bridge.store.run_versions import RunVersions
from bridge.store.walk import Cut, Direction, Walk, walk
from mappers.canonical.identity import NOBODY
from mappers.folding import Granularity

Depth = Annotated[int, msgspec.Meta(ge=1, le=10_000, description="How many datasets far.")]
Most = Annotated[int, msgspec.Meta(ge=1, le=100_000, description="How many edges at most, in each direction.")]
AsOf = Annotated[
    datetime | None,
    msgspec.Meta(
        description="Only what runs said that had begun by then; UTC without a time zone.",
        extra_json_schema={"format": "date-time"},
    ),
]
Ways = Literal["upstream", "downstream", "both"]
_WAYS: dict[Ways, tuple[Direction, ...]] = {
    "upstream": ("upstream",),
    "downstream": ("downstream",),
    "both": ("upstream", "downstream"),
}


class EdgeAnswer(msgspec.Struct, frozen=True):
    """Data went from source to target in a job; null where nobody knows them."""

    source: Thing | None
    target: Thing
    job: Thing | None
    step: str | None
    evidence: Evidence
    #: With granularity run: the run, and which version it read and wrote, as far as they are known.
    run_id: str | None = None
    source_version: str | None = None
    target_version: str | None = None
    #: Whether it is gone: its job ran often enough since, and showed it no more.
    retired: bool = False


class HopAnswer(msgspec.Struct, frozen=True):
    """What a job makes of a column."""

    source: ColumnOf
    target: ColumnOf
    type: str
    subtype: str | None
    masking: bool
    job: Thing | None


class LineageAnswer(msgspec.Struct, frozen=True):
    """What a walk found, and what kept it from finding more, if anything did."""

    start: Thing
    edges: list[EdgeAnswer]
    columns: list[HopAnswer]
    cut: Cut | None


class ColumnLineageAnswer(msgspec.Struct, frozen=True):
    """The hops from a column, and what kept the walk from finding more, if anything did."""

    start: ColumnOf
    hops: list[HopAnswer]
    cut: Cut | None


class Lineage(AboutDataset[LineageAnswer], frozen=True, kw_only=True):
    """Where a dataset comes from, and where it goes."""

    path = "/lineage"
    answer = LineageAnswer
    direction: Ways = "upstream"
    depth: Depth = 5
    granularity: Annotated[
        Granularity, msgspec.Meta(description="What counts as a job: a run, a step, a job, the root of all.")
    ] = "job"
    as_of: AsOf = None
    columns: Annotated[bool, msgspec.Meta(description="Also which column is made of which.")] = False
    retired: Annotated[
        bool, msgspec.Meta(description="Also edges that the last complete runs of their jobs no longer showed.")
    ] = False
    most: Most = MOST_EDGES

    def answered(self, view: View) -> LineageAnswer:
        """Walk."""
        start = self.dataset(view)
        until = _micros(self.as_of)
        graph = view.graph(self.granularity, until, retired=self.retired)
        walks = [walk(graph, start, way, self.depth, self.most) for way in _WAYS[self.direction]]
        edges = list(dict.fromkeys(edge for found in walks for edge in found.edges))
        pairs = {(edge.source, edge.target) for edge in edges if edge.source}
        hops = Columns(view.db, view.org, until).between(pairs) if self.columns else []
        told = _edges(graph, edges, RunVersions(view.db, view.org, edges if self.granularity == "run" else []))
        return LineageAnswer(thing(start, graph.dataset(start)), told, tell_hops(graph, hops), _cut(walks))


class ColumnLineage(AboutDataset[ColumnLineageAnswer], frozen=True, kw_only=True):
    """Where a column comes from, and where it goes, with what is done on each hop; as the newest runs show it."""

    path = "/columns/{field}/lineage"
    answer = ColumnLineageAnswer
    field: Annotated[str, msgspec.Meta(min_length=1, description="The column.")]
    direction: Ways = "upstream"
    depth: Depth = 5
    as_of: AsOf = None
    most: Most = MOST_EDGES

    def answered(self, view: View) -> ColumnLineageAnswer:
        """Walk."""
        graph = view.graph()
        start = (self.dataset(view), self.field)
        require_column(view, *start)
        columns = Columns(view.db, view.org, _micros(self.as_of))
        walks = [columns.walk(start, way, self.depth, self.most) for way in _WAYS[self.direction]]
        hops = dict.fromkeys(hop for found in walks for hop in found.hops)
        return ColumnLineageAnswer(_column(graph, start), tell_hops(graph, hops), _cut(walks))


def _cut(walks: Iterable[Walk | ColumnWalk]) -> Cut | None:
    cuts = {found.cut for found in walks}
    return "size" if "size" in cuts else "depth" if "depth" in cuts else None


def _micros(moment: datetime | None) -> int:
    if moment is None:
        return EVER
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(zoned.timestamp()) * 1_000_000 + zoned.microsecond


def _edges(graph: Graph, edges: Sequence[Edge], versions: RunVersions) -> list[EdgeAnswer]:
    graph.datasets(end for edge in edges for end in (edge.source, edge.target) if end)
    graph.jobs(edge.job for edge in edges if edge.job)
    return [
        EdgeAnswer(
            thing(edge.source, graph.dataset(edge.source)) if edge.source else None,
            thing(edge.target, graph.dataset(edge.target)),
            thing(edge.job, graph.job(edge.job)) if edge.job else None,
            edge.step or None,
            edge.evidence,
            edge.run_uuid,
            versions.read(edge),
            versions.written(edge),
            edge.retired,
        )
        for edge in edges
    ]


def tell_hops(graph: Graph, hops: Iterable[Hop]) -> list[HopAnswer]:
    """Give hops with the names of their ends."""
    told = list(hops)
    graph.datasets({end for hop in told for end in (hop.source[0], hop.target[0])})
    graph.jobs({hop.job for hop in told if hop.job != NOBODY})
    return [
        HopAnswer(
            _column(graph, hop.source),
            _column(graph, hop.target),
            hop.kind,
            hop.subtype or None,
            hop.masking,
            thing(hop.job, graph.job(hop.job)) if hop.job != NOBODY else None,
        )
        for hop in told
    ]


def _column(graph: Graph, column: Column) -> ColumnOf:
    named: Named = graph.dataset(column[0])
    known = thing(column[0], named)
    return ColumnOf(known.id, known.namespace, known.name, column[1] or None)
