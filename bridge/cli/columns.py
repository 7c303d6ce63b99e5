"""The columns behind a walk: beneath each dataset that was made, where its columns come from."""

from collections.abc import Iterator

from bridge.cli.cut import tell_cut
from bridge.cli.escape import escape
from bridge.store.column_walk import ColumnWalk
from bridge.store.columns import ColumnLine
from bridge.store.graph import Graph
from bridge.store.walk import Walk
from mappers.canonical.identity import NOBODY

_WHOLE = "(whole dataset)"


def draw_columns(graph: Graph, walk: Walk, lines: list[ColumnLine]) -> Iterator[str]:
    """Give a section for each target, in the order of the walk, its columns sorted by name."""
    if not lines:
        yield "no column lineage is known between these datasets"
    for target in dict.fromkeys(edge.target for edge in walk.edges):
        section = sorted(
            (
                line.target_field,
                _column(graph, line.source, line.source_field),
                _how(line.kind, line.subtype, line.masking),
            )
            for line in lines
            if line.target == target
        )
        if section:
            named = graph.dataset(target)
            yield ""
            yield escape(f"columns of {named.namespace} {named.name}")
            yield from (escape(f"  {column or _WHOLE}  <- {source}  {how}") for column, source, how in section)


def draw_hops(graph: Graph, walk: ColumnWalk) -> Iterator[str]:
    """Give a line for each hop, level by level, with the job that does it."""
    if not walk.hops:
        yield "no column lineage is known from here"
    for hop in walk.hops:
        job = f"   [{' '.join(graph.job(hop.job))}]" if hop.job != NOBODY else ""
        how = _how(hop.kind, hop.subtype, hop.masking)
        yield escape(f"{_column(graph, *hop.target)}  <- {_column(graph, *hop.source)}  {how}{job}")
    yield from tell_cut(walk.cut)


def _column(graph: Graph, dataset: bytes, field: str) -> str:
    named = graph.dataset(dataset)
    return f"{named.namespace} {named.name}" + (f".{field}" if field else f" {_WHOLE}")


def _how(kind: str, subtype: str, masking: bool) -> str:
    done = "/".join(part for part in (kind, subtype) if part)
    return f"{done} [masked]" if masking else done
