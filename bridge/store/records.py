"""What is found, as JSON records: the same on the command line and over HTTP, described in docs/cli.md."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from bridge.store.column_walk import Column, ColumnWalk
from bridge.store.columns import ColumnLine
from bridge.store.graph import Edge, Graph, Named
from bridge.store.impact import Impact, Reached
from bridge.store.walk import Walk
from mappers.canonical.identity import NOBODY

Record = dict[str, Any]


def walk_record(graph: Graph, walk: Walk, columns: Iterable[ColumnLine]) -> Record:
    """Give a walk, with the columns along it."""
    return {
        "start": _dataset(graph, walk.start),
        "edges": [_edge(graph, edge) for edge in walk.edges],
        "columns": [_column(graph, line) for line in sorted(columns)],
        "cut": walk.cut,
    }


def column_walk_record(graph: Graph, walk: ColumnWalk) -> Record:
    """Give a walk from column to column."""
    return {
        "start": _at(graph, walk.start),
        "hops": [
            {
                "source": _at(graph, hop.source),
                "target": _at(graph, hop.target),
                "type": hop.kind,
                "subtype": hop.subtype or None,
                "masking": hop.masking,
                "job": _named(hop.job, graph.job(hop.job)) if hop.job != NOBODY else None,
            }
            for hop in walk.hops
        ],
        "cut": walk.cut,
    }


def impact_record(found: Impact) -> Record:
    """Give what a change reaches."""
    return {
        "datasets": [_reached(one) for one in found.datasets],
        "jobs": [_reached(one) for one in found.jobs],
        "owners": found.owners,
        "cut": found.cut,
    }


def _edge(graph: Graph, edge: Edge) -> Record:
    return {
        "source": _dataset(graph, edge.source) if edge.source else None,
        "target": _dataset(graph, edge.target),
        "job": _named(edge.job, graph.job(edge.job)) if edge.job else None,
        "step": edge.step or None,
        "evidence": edge.evidence,
        "run_id": edge.run_uuid,
    }


def _column(graph: Graph, line: ColumnLine) -> Record:
    return {
        "source": _at(graph, (line.source, line.source_field)),
        "target": _at(graph, (line.target, line.target_field)),
        "type": line.kind,
        "subtype": line.subtype or None,
        "masking": line.masking,
    }


def _at(graph: Graph, column: Column) -> Record:
    return _dataset(graph, column[0]) | {"column": column[1] or None}


def _reached(one: Reached) -> Record:
    return _named(one.id, one.name) | {"distance": one.distance, "owners": list(one.owners)}


def _dataset(graph: Graph, dataset: bytes) -> Record:
    return _named(dataset, graph.dataset(dataset))


def _named(id_: bytes, named: Named) -> Record:
    return {"id": str(UUID(bytes=bytes(id_))), **named._asdict()}
